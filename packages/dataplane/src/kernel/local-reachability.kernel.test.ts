import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, profile, rule, workload } from "../testing/messages.ts";

/** Out of the network that the outside machine is in, as is the address of a service that leads to the pod. */
const POD = "192.168.7.130";
const POD_6 = "fd00:7::82";
const SERVICE = "192.168.7.200";
const NOBODY = "192.168.7.131";

const pool = (cidr: string): ToDataplane => ({
  msg: "IPAMPoolUpdate",
  id: cidr.replace("/", "-"),
  pool: { cidr, masquerade: false, ipip_mode: "", vxlan_mode: "", allowed_uses: [] },
});

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  before(async () => {
    lab = new KernelLab();
    lab.addIpv6("fd00:7::1", "fd00:7::2", "fd65::/64");
    lab.addPod("a", POD, POD_6);
    await lab.serve("a", 80);
    dataplane = startKernelDataplane({
      FelixHostname: "oak",
      LocalSubnetL2Reachability: "PodsAndLoadBalancers",
    });
    // What kube-proxy does for a service.
    lab.nft(
      `table ip services { chain pre { type nat hook prerouting priority -100; ip daddr ${SERVICE} dnat to ${POD}; }; }`,
    );
    await dataplane.send(
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", {
        ipv4_nets: [`${POD}/32`],
        ipv6_nets: [`${POD_6}/128`],
        mac: lab.macOf("a"),
        profile_ids: ["open"],
      }),
      {
        msg: "HostMetadataUpdate",
        hostname: "oak",
        ipv4_addr: "192.168.7.1/24",
        ipv6_addr: "",
        asnumber: "",
        labels: new Map(),
      },
      pool("192.168.7.128/25"),
      pool("fd00:7::80/121"),
      {
        msg: "ServiceUpdate",
        namespace: "default",
        name: "web",
        type: "LoadBalancer",
        cluster_ips: [],
        loadbalancer_ip: "",
        external_ips: [],
        ports: [],
        loadbalancer_ingress_ips: [SERVICE],
      },
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${POD} dev calia`));
  });
  after(async () => {
    lab.close();
    await dataplane.stop();
  });

  /** On a busy machine not with the first try. */
  const connects = async (address: string): Promise<void> => {
    for (let tries = 0; tries < 40; tries++) if ((await lab.connect("ext", address, 80)) === "connected") return;
    assert.fail(`There is no connection to ${address}`);
  };
  const found = (address: string): string =>
    lab
      .run("ip -n ext neigh")
      .split("\n")
      .find((line) => line.startsWith(`${address} `)) ?? "";

  it("a machine of the host's own network reaches pods and services that have addresses of it, and finds nobody else there", async () => {
    await connects(POD);
    await connects(POD_6);
    await connects(SERVICE);
    const mac = /link\/ether ([0-9a-f:]+)/.exec(lab.run("ip link show dev eth0"))?.[1] ?? assert.fail("no MAC");
    for (const address of [POD, POD_6, SERVICE]) assert.ok(found(address).includes(`lladdr ${mac}`), found(address));
    assert.notEqual(await lab.connect("ext", NOBODY, 80), "connected");
    assert.ok(!found(NOBODY).includes("lladdr"), found(NOBODY));
  });
});
