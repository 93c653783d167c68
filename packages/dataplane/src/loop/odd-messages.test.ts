import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToDataplane } from "@bulrush/proto";
import fc from "fast-check";
import {
  clusterRoute,
  encapsulation,
  hostEndpoint,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
  tunnelEnd,
  workload,
} from "../testing/messages.ts";
import { smallHost, WORLD } from "../testing/small-world.ts";

const SETTINGS = {
  FelixHostname: "oak",
  EndpointStatusPathPrefix: "/run/x",
  FloatingIPs: "Enabled",
  LocalSubnetL2Reachability: "PodsAndLoadBalancers",
  NFTablesFlowTableOffload: "All",
  ProgramClusterRoutes: "Enabled",
  WireguardEnabled: "true",
  WireguardEnabledV6: "true",
  WorkloadSourceSpoofing: "Any",
};

const P = policyId("gnp/odd");
const RULES = [
  rule("allow", {
    protocol: { name: "tcp" },
    src_net: ["10.0.0.0/8"],
    not_src_net: ["10.2.0.0/16"],
    dst_ports: [{ first: 80, last: 81 }],
    not_protocol: { number: 3 },
    dst_ip_set_ids: ["s:odd"],
  }),
  rule("deny", { dst_net: ["10.1.0.0/16"], not_dst_ports: [{ first: 5, last: 6 }], protocol: { number: 17 } }),
  rule("log", { icmp: { type: 8, code: 0 }, not_icmp: { type: 3 }, metadata: { annotations: new Map([["a", "b"]]) } }),
];

/** One of nearly every kind, in order of reference. The pod of `WORLD` has nothing to do with any of them. */
const OTHERS: readonly ToDataplane[] = [
  ipSet("s:odd", "IP", "10.3.0.1", "fd00::3"),
  ipSet("n:odd", "IP_AND_PORT", "10.3.0.1,tcp:80"),
  policy(P, RULES, RULES),
  profile("odd", RULES, RULES),
  ipSetDelta("s:odd", ["10.3.0.2"], ["10.3.0.1"]),
  workload("b", {
    mac: "aa:bb:cc:dd:ee:02",
    ipv4_nets: ["10.65.9.8/32"],
    ipv6_nets: ["fd65:9::8/128"],
    profile_ids: ["odd"],
    tiers: [tier("default", [P], [P])],
    ipv4_nat: [{ ext_ip: "172.16.0.1", int_ip: "10.65.9.8" }],
    allow_spoofed_source_prefixes: ["10.9.0.0/16"],
    qos_controls: { ingressBandwidth: 1e6, ingressPacketRate: 5, egressPacketBurst: 5, egressMaxConnections: 5 },
    qos_policies: [{ destination: "", dscp: 10 }],
    local_bgp_peer: { bgp_peer_name: "p" },
    live_migration_role: "none",
  }),
  hostEndpoint("h", {
    name: "eth0",
    profile_ids: ["odd"],
    tiers: [tier("default", [P], [P])],
    forward_tiers: [tier("default", [P])],
    expected_ipv4_addrs: ["192.168.0.1"],
    qos_policies: [{ destination: "", dscp: 3 }],
  }),
  clusterRoute("10.70.0.0/26", { dst_node_name: "elm", dst_node_ip: "192.168.0.2", nat_outgoing: true }),
  clusterRoute("fd70::/122", { dst_node_name: "elm", dst_node_ip: "fd00::2", ip_pool_type: "NO_ENCAP" }),
  tunnelEnd("elm", "10.70.0.0, 66:00:00:00:00:02, 192.168.0.2", "fd70::, 66:00:00:00:00:03, fd00::2"),
  tunnelEnd("oak", "10.65.1.0, 66:00:00:00:00:04, 192.168.0.1"),
  encapsulation({ vxlan_enabled: true, vxlan_enabled_v6: true, ipip_enabled: true }),
  {
    msg: "HostMetadataUpdate",
    hostname: "elm",
    ipv4_addr: "192.168.0.2/24",
    ipv6_addr: "fd00::2/64",
    asnumber: "",
    labels: new Map(),
  },
  {
    msg: "IPAMPoolUpdate",
    id: "10.70.0.0-16",
    pool: { cidr: "10.70.0.0/16", masquerade: true, ipip_mode: "", vxlan_mode: "always", allowed_uses: ["Workload"] },
  },
  {
    msg: "WireguardEndpointUpdate",
    hostname: "elm",
    public_key: "YGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGA=",
    interface_ipv4_addr: "10.70.0.9",
  },
  {
    msg: "GlobalBGPConfigUpdate",
    service_cluster_cidrs: ["10.96.0.0/12"],
    service_external_cidrs: ["1.2.3.0/24"],
    service_loadbalancer_cidrs: ["fd96::/112"],
    local_workload_peering_ip_v4: "10.0.0.9",
    local_workload_peering_ip_v6: "fd00::9",
  },
];

const TEXTS = ["", " ", "x".repeat(16), "x".repeat(70_000), "cali/x", "a\0b", "\ud800", "é".repeat(8), "10.66.0.1/33"];
const ADDRESSES = ["10.66.0.1", "10.66.0.1/32", "0.0.0.0/0", "::/0", "fd66::1/128", "::ffff:10.66.0.1", "fe80::1/64"];
const WORDS = [
  "nonsense",
  "-1",
  "*",
  "eth0",
  "lo",
  "..",
  "__proto__",
  "oak",
  "ff:ff:ff:ff:ff:ff",
  "10.3.0.1,udp:99999",
];
const NUMBERS = [0, -1, 0.5, 64, 255, 256, 65_536, 2 ** 32, 2 ** 53, 1e308, NaN, Infinity];

const oddText = fc.constantFrom(...TEXTS, ...ADDRESSES, ...WORDS);
const oddNumber = fc.constantFrom(...NUMBERS);

/** What is referred to, the sender has sent: names of policies, profiles and sets stay; so does what makes a layer. */
const KEPT = new Set(["msg", "profile_ids", "tiers", "forward_tiers", "src_ip_set_ids", "dst_ip_set_ids"]);
const LAYER = new Set(["untracked", "pre_dnat"]);

/** The same value with odd ones in place of some of its parts, of the same types. */
function odd(value: unknown): fc.Arbitrary<unknown> {
  const sometimes = (other: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ arbitrary: fc.constant(value), weight: 4 }, { arbitrary: other, weight: 1 });
  if (typeof value === "string") return sometimes(oddText);
  if (typeof value === "number") return sometimes(oddNumber);
  if (typeof value === "boolean") return sometimes(fc.constant(!value));
  if (Array.isArray(value)) {
    const same = fc.tuple(...value.map(odd));
    return fc.oneof(
      same,
      fc.constant([]),
      fc.tuple(same, same).map((lists) => lists.flat()),
    );
  }
  if (value instanceof Map || typeof value !== "object" || value === null) return fc.constant(value);
  const isReferredTo = "msg" in value && typeof value.msg === "string" && /^(Active|IPSet)/.test(value.msg);
  const fields = Object.entries(value).map(([key, field]): [string, fc.Arbitrary<unknown>] => [
    key,
    KEPT.has(key) || LAYER.has(key) || (isReferredTo && key === "id") ? fc.constant(field) : odd(field),
  ]);
  return fc.record(Object.fromEntries(fields));
}

describe("createDataplane() and messages of odd contents", () => {
  it("ends at none of them, and all else is in the kernel", async () => {
    const messages = fc.tuple(...OTHERS.map((message) => odd(message) as fc.Arbitrary<ToDataplane>));
    const run = async (sent: readonly ToDataplane[]): Promise<void> => {
      const host = smallHost();
      host.routes.setLink(6, "calib");
      host.routes.addAddress(2, "192.168.0.1/24");
      const dataplane = host.start(SETTINGS);
      await host.send(dataplane, ...sent, ...WORLD);
      await host.advance(500);
      assert.deepEqual(
        host.fatal.map(({ message }) => message),
        [],
      );
      assert.ok(host.messages.some(({ msg }) => msg === "DataplaneInSync"));
      assert.deepEqual(
        ["filter-cali-tw-calia", "filter-cali-fw-calia"].map((name) => host.table()?.chains.has(name)),
        [true, true],
      );
      assert.deepEqual([...(host.table()?.sets.get("cali40s-web")?.elements.keys() ?? [])], ["10.65.0.2"]);
      const routes = host.routes.listing().filter((line) => line.includes(" dev calia "));
      assert.deepEqual(routes, [
        "10.65.0.7/32 dev calia proto 3 metric 1024",
        "fd65::7/128 dev calia proto 3 metric 1024",
      ]);
      await dataplane.stop();
    };
    // The same messages each time, but for the long form.
    const parameters = process.env["BULRUSH_LONG_TESTS"] === "1" ? { numRuns: 2000 } : { numRuns: 60, seed: 1 };
    await fc.assert(fc.asyncProperty(messages, run), parameters);
  });

  it("names what it leaves out", async () => {
    const host = smallHost();
    const dataplane = host.start();
    await host.send(dataplane, policy(P, [rule("deny", { src_net: ["nonsense"] })]), ...WORLD);
    assert.deepEqual(
      host.logs.filter((line) => line.startsWith("error")),
      ["error Leave out what cannot be read"],
    );
    await dataplane.stop();
  });
});
