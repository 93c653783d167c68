import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, workload } from "../testing/messages.ts";

const OWN = "10.65.0.2";
const OTHER = "10.65.0.3";

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  /** The pod's idea of who has the address: with a hardware address once it was answered. */
  const neighbour = (address: string): string => lab.run(`ip -n a neigh show ${address}`);
  const ask = (address: string): void => {
    lab.run("ip -n a neigh flush dev eth0");
    execFileSync("ip", ["netns", "exec", "a", "bash", "-c", `echo x > /dev/udp/${address}/9`]);
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", "10.65.0.9");
    // No routes to workloads, but one to everywhere: the host answers ARP for all addresses.
    lab.run("ip route add default via 192.168.7.2 dev eth0");
    lab.run(`ip -n a route add 10.65.0.0/24 dev eth0`);
    dataplane = startKernelDataplane({ RouteSyncDisabled: "true" });
    const pod = workload("a", { ipv4_nets: [`${OWN}/32`], mac: lab.macOf("a") });
    await dataplane.send(pod, IN_SYNC);
    await until(
      "the host answers ARP for others",
      () => lab.run("cat /proc/sys/net/ipv4/conf/calia/proxy_arp") === "1\n",
    );
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("the host answers ARP for other addresses, and never for the workload's own", async () => {
    ask(OTHER);
    await until("the host answers for another address", () => neighbour(OTHER).includes("lladdr ee:ee:ee:ee:ee:ee"));
    const dropped = (): bigint => {
      const chain = dataplane.kernel.nft.readTable("arp", "calico-arp")?.chains.get("filter-cali-arp-calia");
      return chain?.rules[0]?.counter?.packets ?? 0n;
    };
    ask(OWN);
    await until("an answer for its own address has been dropped", () => dropped() > 0n);
    assert.doesNotMatch(neighbour(OWN), /lladdr/);
  });
});
