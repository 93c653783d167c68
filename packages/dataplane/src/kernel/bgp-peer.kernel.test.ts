import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const A6 = "fd65::2";
const PEERING = "10.0.0.9";
const PEERING6 = "fd00::9";
/** RTPROT_BIRD */
const LEARNT = "10.99.0.0/24";

const CONFIG: ToDataplane = {
  msg: "GlobalBGPConfigUpdate",
  service_cluster_cidrs: [],
  service_external_cidrs: [],
  service_loadbalancer_cidrs: [],
  local_workload_peering_ip_v4: PEERING,
  local_workload_peering_ip_v6: PEERING6,
};

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const pod = (isPeer: boolean): ToDataplane =>
    workload("a", {
      ipv4_nets: [`${A}/32`],
      ipv6_nets: [`${A6}/128`],
      mac: lab.macOf("a"),
      ...(isPeer ? { local_bgp_peer: { bgp_peer_name: "p" } } : {}),
    });
  /** "10.0.0.9/32 link" of the host side; the kernel's own link-local one left out. */
  const addresses = (): string[] => {
    const [link] = JSON.parse(lab.run("ip -j addr show dev calia")) as [
      { addr_info: { local: string; prefixlen: number; scope: string; tentative?: boolean }[] },
    ];
    return link.addr_info
      .filter(({ local }) => !local.startsWith("fe80:"))
      .map(({ local, prefixlen, scope, tentative = false }) => `${local}/${prefixlen} ${scope}${tentative ? "?" : ""}`)
      .sort();
  };
  const BOTH = [`${PEERING}/32 link`, `${PEERING6}/128 global`];
  const hasBoth = (): boolean => addresses().join() === BOTH.join();

  before(() => {
    lab = new KernelLab();
    lab.addPod("a", A, A6);
    dataplane = startKernelDataplane();
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("the interface of a BGP peer has the peering addresses at once, and gets them back", async () => {
    await dataplane.send(CONFIG, pod(true), IN_SYNC);
    await until("the peering addresses are there", hasBoth);
    lab.run(`ip addr del ${PEERING}/32 dev calia`);
    await until("what somebody took away is back", hasBoth);
    assert.doesNotMatch(lab.run("ip -6 route show dev calia"), /fd00::9/, "the kernel makes no route of its own");
    lab.run("ip link set calia down");
    await until("IPv6 has gone with the link", () => !addresses().join().includes(PEERING6));
    lab.run("ip link set calia up");
    await until("and comes back with it", hasBoth);
  });

  it("a start for which nobody asks for them any more removes them, and not what others have set", async () => {
    await dataplane.stop();
    lab.run("ip addr add 10.0.0.77/32 dev calia scope link");
    dataplane = startKernelDataplane();
    await dataplane.send(pod(true), IN_SYNC);
    await until("the peering addresses have gone", () => addresses().join() === "10.0.0.77/32 link");
    await dataplane.stop();
    lab.run("ip addr del 10.0.0.77/32 dev calia");
    dataplane = startKernelDataplane();
    await dataplane.send(CONFIG, pod(true), IN_SYNC);
    await until("the peering addresses are there again", hasBoth);
  });

  it("a start that finds them writes nothing of them, and the learnt route stays until the role ends", async () => {
    await dataplane.stop();
    lab.run(`ip route add ${LEARNT} via ${A} dev calia onlink proto 12 metric 32`);
    const monitor = lab.run("ip -o addr show dev calia");
    dataplane = startKernelDataplane();
    await dataplane.send(CONFIG, pod(true), IN_SYNC);
    await until("the dataplane is in sync", () => dataplane.status()?.phase === "in-sync");
    assert.equal(lab.run("ip -o addr show dev calia"), monitor);
    assert.match(lab.run("ip route show dev calia"), /10\.99\.0\.0\/24/);
    await dataplane.send(pod(false));
    await until("the addresses have gone", () => addresses().length === 0);
    await until("the learnt route has gone", () => !lab.run("ip route show dev calia").includes("10.99.0.0/24"));
    // The kernel drops all routes with the last address of an interface, and tells nobody.
    await until(
      "the pod has its route and neighbour",
      () =>
        /10\.65\.0\.2/.test(lab.run("ip route show dev calia")) &&
        /PERMANENT/.test(lab.run(`ip neigh show ${A} dev calia`)),
    );
  });
});
