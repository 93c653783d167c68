import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { DataplaneHandle } from "../handle.ts";
import type { FakeHost } from "../testing/fake-host.ts";
import { clusterRoute, encapsulation, hostEndpoint, IN_SYNC } from "../testing/messages.ts";
import { ELM, ELM_BLOCK, oakHost, ON, OWN, toElm } from "../testing/vxlan-ends.ts";

describe("routes of tunnels", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;

  const start = (settings: Readonly<Record<string, string>> = {}): void => {
    dataplane = host.start({ FelixHostname: "oak", ...settings });
  };
  const device = () => host.routes.link("vxlan.calico");
  const routes = (): readonly string[] => host.routes.listing();

  beforeEach(() => {
    host = oakHost();
  });

  const cases: readonly (readonly [what: string, route: ReturnType<typeof clusterRoute>, expected: string[]])[] = [
    [
      "a block of another host: by its end",
      ELM_BLOCK,
      ["10.65.1.0/26 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1450"],
    ],
    [
      "a borrowed address: by its host's end",
      clusterRoute("10.65.0.9/32", { ...toElm, borrowed: true }),
      ["10.65.0.9/32 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1450"],
    ],
    [
      "the end itself: on the device",
      clusterRoute("10.65.1.0/32", {
        ...toElm,
        types: ["REMOTE_TUNNEL"],
        tunnel_type: { ipip: false, vxlan: true, wireguard: false },
      }),
      ["10.65.1.0/32 dev vxlan.calico proto 80 metric 0 mtu 1450"],
    ],
    [
      "a block of a host in the same subnet: without a tunnel",
      clusterRoute("10.65.1.0/26", { ...toElm, same_subnet: true }),
      ["10.65.1.0/26 dev eth0 proto 80 metric 0 via 192.168.0.2 onlink"],
    ],
    [
      "R18: a block of this host: a blackhole",
      clusterRoute("10.65.0.0/26", { types: ["LOCAL_WORKLOAD"], dst_node_name: "oak" }),
      ["10.65.0.0/26 dev - proto 80 metric 0 blackhole"],
    ],
    [
      "R18: a block of one address: none",
      clusterRoute("10.65.0.0/32", { types: ["LOCAL_WORKLOAD"], dst_node_name: "oak" }),
      [],
    ],
    [
      "a host: none of ours",
      clusterRoute("192.168.0.2/32", { types: ["REMOTE_HOST"], ip_pool_type: "NONE", ...toElm }),
      [],
    ],
    ["a pool: none", clusterRoute("10.65.0.0/16", { types: [] }), []],
    [
      "a block without a tunnel: not ours to write",
      clusterRoute("10.66.1.0/26", { ...toElm, ip_pool_type: "NO_ENCAP" }),
      [],
    ],
    ["a block of IPIP, which is off: none", clusterRoute("10.67.1.0/26", { ...toElm, ip_pool_type: "IPIP" }), []],
  ];
  for (const [what, route, expected] of cases)
    it(what, async () => {
      start();
      await host.send(dataplane, ON, OWN, ELM, route, IN_SYNC);
      await host.advance(1000);
      assert.deepEqual(routes(), expected);
    });

  it("R18: the blackhole goes with the block", async () => {
    start();
    await host.send(dataplane, ON, OWN, clusterRoute("10.65.0.0/26", { types: ["LOCAL_WORKLOAD"] }), IN_SYNC);
    await host.advance(1000);
    await host.send(dataplane, { msg: "RouteRemove", dst: "10.65.0.0/26" });
    await host.advance(1000);
    assert.deepEqual(routes(), []);
  });

  it("routes by an interface come back at once when it has lost its last address and got it back, which nobody tells", async () => {
    start();
    await host.send(dataplane, ON, OWN, ELM, clusterRoute("10.65.1.0/26", { ...toElm, same_subnet: true }), IN_SYNC);
    await host.advance(1000);
    const before = routes();
    assert.match(before.join(), /dev eth0/);
    host.routes.moveAddress("192.168.0.1/24", undefined);
    assert.deepEqual(routes(), []);
    await host.advance(50);
    host.routes.addAddress(2, "192.168.0.1/24");
    await host.advance(500);
    assert.deepEqual(routes(), before);
  });

  it("R19: routes in the same subnet follow the host's address to another interface", async () => {
    start();
    await host.send(dataplane, ON, OWN, ELM, clusterRoute("10.65.1.0/26", { ...toElm, same_subnet: true }), IN_SYNC);
    await host.advance(1000);
    host.routes.setLink(9, "bond0");
    host.routes.moveAddress("192.168.0.1/24", 9);
    await host.advance(1000);
    assert.deepEqual(routes(), ["10.65.1.0/26 dev bond0 proto 80 metric 0 via 192.168.0.2 onlink"]);
    assert.equal(device()?.vxlan?.parent, 9);
  });

  it("R20: same subnet or not, the tunnel takes it while the parent device is not known", async () => {
    start();
    await host.send(dataplane, ON, OWN, ELM, clusterRoute("10.65.1.0/26", { ...toElm, same_subnet: true }), IN_SYNC);
    await host.advance(1000);
    host.routes.moveAddress("192.168.0.1/24", undefined);
    await host.advance(1000);
    assert.deepEqual(routes(), ["10.65.1.0/26 dev vxlan.calico proto 80 metric 0 via 10.65.1.0 onlink mtu 1450"]);
  });

  it("come when the peer's end is known, and go with it", async () => {
    start();
    await host.send(dataplane, ON, OWN, ELM_BLOCK, IN_SYNC);
    await host.advance(1000);
    assert.deepEqual(routes(), []);
    await host.send(dataplane, ELM);
    await host.advance(1000);
    assert.equal(routes().length, 1);
    await host.send(dataplane, { msg: "VXLANTunnelEndpointRemove", node: "elm" });
    await host.advance(1000);
    assert.deepEqual(routes(), []);
  });

  it("without a tunnel and by IPIP, where that is ours to write, with blackholes for own blocks", async () => {
    host.routes.setLink(7, "tunl0");
    start({ ProgramClusterRoutes: "Enabled" });
    const own = { types: ["LOCAL_WORKLOAD"], dst_node_name: "oak" } as const;
    await host.send(
      dataplane,
      encapsulation({ ipip_enabled: true, no_encap_needed: true }),
      clusterRoute("192.168.0.1/32", { types: ["LOCAL_HOST"], ip_pool_type: "NONE", dst_node_ip: "192.168.0.1" }),
      clusterRoute("10.66.1.0/26", { ...toElm, ip_pool_type: "NO_ENCAP" }),
      clusterRoute("10.66.0.0/26", { ...own, ip_pool_type: "NO_ENCAP" }),
      clusterRoute("10.67.1.0/26", { ...toElm, ip_pool_type: "IPIP" }),
      clusterRoute("10.67.2.0/26", { ...toElm, ip_pool_type: "IPIP", same_subnet: true }),
      clusterRoute("10.67.0.0/26", { ...own, ip_pool_type: "IPIP" }),
      IN_SYNC,
    );
    await host.advance(1000);
    assert.deepEqual(routes(), [
      "10.66.0.0/26 dev - proto 80 metric 0 blackhole",
      "10.66.1.0/26 dev eth0 proto 80 metric 0 via 192.168.0.2 onlink",
      "10.67.0.0/26 dev - proto 80 metric 0 blackhole",
      "10.67.1.0/26 dev tunl0 proto 80 metric 0 via 192.168.0.2 onlink mtu 1480",
      "10.67.2.0/26 dev eth0 proto 80 metric 0 via 192.168.0.2 onlink",
    ]);
  });

  it("never lead to this host itself: by an address borrowed from another host's block, or a block of its own inside of one", async () => {
    host.routes.setLink(7, "tunl0");
    start({ ProgramClusterRoutes: "Enabled" });
    const here = {
      types: ["REMOTE_WORKLOAD", "LOCAL_WORKLOAD"],
      dst_node_name: "oak",
      dst_node_ip: "192.168.0.1",
      borrowed: true,
    } as const;
    await host.send(
      dataplane,
      encapsulation({ ipip_enabled: true, vxlan_enabled: true, no_encap_needed: true }),
      OWN,
      ELM,
      clusterRoute("192.168.0.1/32", { types: ["LOCAL_HOST"], ip_pool_type: "NONE", dst_node_ip: "192.168.0.1" }),
      // IPAM says it before the workload is known.
      clusterRoute("10.67.1.1/32", { ...here, ip_pool_type: "IPIP" }),
      clusterRoute("10.67.1.2/32", { ...here, ip_pool_type: "IPIP", local_workload: true }),
      clusterRoute("10.65.1.1/32", { ...here, same_subnet: true, local_workload: true }),
      clusterRoute("10.66.1.1/32", { ...here, ip_pool_type: "NO_ENCAP", local_workload: true }),
      clusterRoute("10.67.1.64/26", { ...here, ip_pool_type: "IPIP" }),
      // Borrowed from this host by another one.
      clusterRoute("10.67.0.9/32", { ...here, ...toElm, ip_pool_type: "IPIP" }),
      IN_SYNC,
    );
    await host.advance(1000);
    assert.deepEqual(routes(), [
      "10.67.0.9/32 dev tunl0 proto 80 metric 0 via 192.168.0.2 onlink mtu 1480",
      "10.67.1.64/26 dev - proto 80 metric 0 blackhole",
    ]);
  });

  it("lead to the end of a tunnel by the pool's way if its host borrowed the address, and else by its block", async () => {
    host.routes.setLink(7, "tunl0");
    start({ ProgramClusterRoutes: "Enabled" });
    const ipip = { vxlan: false, ipip: true, wireguard: false };
    const wireguard = { vxlan: false, ipip: false, wireguard: true };
    const far = { ...toElm, types: ["REMOTE_WORKLOAD", "REMOTE_TUNNEL"], borrowed: true } as const;
    const own = { types: ["REMOTE_WORKLOAD", "LOCAL_TUNNEL"], dst_node_name: "oak", borrowed: true } as const;
    await host.send(
      dataplane,
      encapsulation({ ipip_enabled: true, vxlan_enabled: true, no_encap_needed: true }),
      OWN,
      ELM,
      clusterRoute("192.168.0.1/32", { types: ["LOCAL_HOST"], ip_pool_type: "NONE", dst_node_ip: "192.168.0.1" }),
      clusterRoute("10.67.2.5/32", { ...far, ip_pool_type: "IPIP", tunnel_type: ipip }),
      clusterRoute("10.66.2.5/32", { ...far, ip_pool_type: "NO_ENCAP", tunnel_type: wireguard }),
      clusterRoute("10.67.2.6/32", { ...own, ip_pool_type: "IPIP", tunnel_type: ipip }),
      clusterRoute("10.67.1.0/32", {
        ...toElm,
        types: ["REMOTE_TUNNEL"],
        ip_pool_type: "IPIP",
        tunnel_type: ipip,
      }),
      IN_SYNC,
    );
    await host.advance(1000);
    assert.deepEqual(routes(), [
      "10.66.2.5/32 dev eth0 proto 80 metric 0 via 192.168.0.2 onlink",
      "10.67.2.5/32 dev tunl0 proto 80 metric 0 via 192.168.0.2 onlink mtu 1480",
    ]);
  });

  it("R22: nothing is written where routes are not ours, not even the device", async () => {
    start({ RouteSyncDisabled: "true" });
    await host.send(dataplane, ON, OWN, ELM, ELM_BLOCK, hostEndpoint("eth0", { name: "eth0" }), IN_SYNC);
    await host.advance(20_000);
    assert.deepEqual([host.routes.writes, device()], [[], undefined]);
  });
});
