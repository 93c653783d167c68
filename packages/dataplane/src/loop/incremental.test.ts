import assert from "node:assert/strict";
import { it } from "node:test";
import type { DataplaneRule, DataplaneWorkloadEndpoint, TierInfo, ToDataplane } from "@bulrush/proto";
import fc from "fast-check";
import { FakeHost } from "../testing/fake-host.ts";
import {
  clusterRoute,
  encapsulation,
  hostEndpoint,
  IN_SYNC,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
  tunnelEnd,
  workload,
  workloadRemove,
} from "../testing/messages.ts";

/**
 * Whatever the order and the timing of changes: what the loop has written piece by piece is what a rendering of the end
 * state alone says. The model below keeps the sender's promises: nothing refers to what was not sent, nothing is removed
 * while it is referred to.
 */

const SETS = ["s:a", "s:b"];
const POLICIES = ["gnp/p", "np/default/q", "sgnp/r"];
const MEMBERS = ["10.65.0.1/32", "10.65.0.2/32", "10.66.0.0/16", "10.67.0.0/16", "fd65::1/128", "fd66::/64"];
const PODS = ["a", "b", "c"];
const AMBIENT = "all-istio-weps";

const SETTINGS = {
  FelixHostname: "oak",
  FloatingIPs: "Enabled",
  WorkloadSourceSpoofing: "Any",
  NFTablesFlowTableOffload: "All",
} as const;

const members = fc.subarray(MEMBERS);
const setIds = fc.subarray(SETS);

const rules: fc.Arbitrary<DataplaneRule[]> = fc.array(
  fc
    .record({
      action: fc.constantFrom("allow", "deny", "pass", "log"),
      src_ip_set_ids: setIds,
      not_dst_ip_set_ids: setIds,
      src_net: fc.subarray(["10.0.0.0/8", "fd00::/8"]),
    })
    .map(({ action, ...fields }) => rule(action, fields)),
  { maxLength: 3 },
);

const tiers: fc.Arbitrary<TierInfo[]> = fc
  .record({ ingress: fc.subarray(POLICIES), egress: fc.subarray(POLICIES), end: fc.constantFrom("Deny", "Pass") })
  .map(({ ingress, egress, end }) => {
    const ids = (words: string[]) => words.map((word) => policyId(word));
    return ingress.length + egress.length === 0 ? [] : [tier("default", ids(ingress), ids(egress), end)];
  });

/** What a workload may have besides policy. */
const extras: fc.Arbitrary<Partial<DataplaneWorkloadEndpoint>> = fc.record(
  {
    state: fc.constantFrom("active", "inactive"),
    qos_controls: fc.record(
      {
        ingressPacketRate: fc.constantFrom(0, 5, 9),
        egressPacketRate: fc.constant(7),
        egressMaxConnections: fc.constant(3),
      },
      { requiredKeys: [] },
    ),
    qos_policies: fc.constantFrom([], [{ destination: "", dscp: 8 }], [{ destination: "", dscp: 46 }]),
    ipv4_nat: fc.constantFrom([], [{ ext_ip: "198.51.100.1", int_ip: "10.65.0.7" }]),
    ipv6_nets: fc.constantFrom([], ["fd65::7/128"]),
    allow_spoofed_source_prefixes: fc.constantFrom([], ["8.8.8.0/24"]),
  },
  { requiredKeys: [] },
);

/** What the chains that all packets pass follow. */
const surroundings: fc.Arbitrary<ToDataplane> = fc.oneof(
  fc
    .record({ ipip_enabled: fc.boolean(), vxlan_enabled: fc.boolean(), vxlan_enabled_v6: fc.boolean() })
    .map(encapsulation),
  fc.constantFrom<ToDataplane>(
    tunnelEnd("oak", "10.66.0.0, 66:00:00:00:00:0a, 192.168.0.1", "fd66::, 66:00:00:00:00:0a, fd00::1"),
    tunnelEnd("elm", "10.66.1.0, 66:00:00:00:00:0b, 192.168.0.2"),
    { msg: "VXLANTunnelEndpointRemove", node: "oak" },
    clusterRoute("10.66.2.1/32", {
      types: ["LOCAL_TUNNEL"],
      tunnel_type: { ipip: true, vxlan: false, wireguard: false },
    }),
    { msg: "RouteRemove", dst: "10.66.2.1/32" },
    { msg: "IPAMPoolRemove", id: "pool" },
    ipSet(AMBIENT, "IP", "10.65.0.7", "fd65::7"),
    { msg: "IPSetRemove", id: AMBIENT },
  ),
  fc.tuple(fc.constantFrom("10.65.0.0/16", "fd65::/64"), fc.boolean()).map(
    ([cidr, masquerade]): ToDataplane => ({
      msg: "IPAMPoolUpdate",
      id: "pool",
      pool: { cidr, masquerade, ipip_mode: "", vxlan_mode: "", allowed_uses: [] },
    }),
  ),
);

const step: fc.Arbitrary<ToDataplane> = fc.oneof(
  surroundings,
  fc.tuple(fc.constantFrom(...SETS), members).map(([id, list]) => ipSet(id, "NET", ...list)),
  fc.tuple(fc.constantFrom(...SETS), members, members).map(([id, added, removed]) =>
    ipSetDelta(
      id,
      added,
      removed.filter((member) => !added.includes(member)),
    ),
  ),
  fc
    // Policies that share a selector are grouped.
    .tuple(fc.constantFrom(...POLICIES), rules, rules, fc.constantFrom("all()", "has(x)"))
    .map(([word, inbound, outbound, selector]) =>
      policy(policyId(word), inbound, outbound, { original_selector: selector }),
    ),
  rules.map((inbound) => profile("prof", inbound)),
  fc
    .tuple(fc.constantFrom(...PODS), tiers, fc.constantFrom("cali1", "cali2", "cali3"), extras)
    .map(([name, list, iface, more]) =>
      workload(name, { name: iface, tiers: list, profile_ids: ["prof"], ipv4_nets: ["10.65.0.7/32"], ...more }),
    ),
  fc.constantFrom(...PODS).map((name) => workloadRemove(name)),
  fc
    .tuple(fc.constantFrom("eth0", "*"), tiers, tiers, fc.constantFrom([], [{ destination: "", dscp: 10 }]))
    .map(([name, list, forward, policies]) =>
      hostEndpoint("hep", {
        name,
        tiers: list,
        forward_tiers: forward,
        expected_ipv4_addrs: ["192.168.0.1"],
        qos_policies: policies,
      }),
    ),
  fc.constant<ToDataplane>({ msg: "HostEndpointRemove", id: "hep" }),
);

/** What has to be there before anything can refer to it. */
const GROUND: readonly ToDataplane[] = [
  ...SETS.map((id) => ipSet(id, "NET")),
  ...POLICIES.map((word) => policy(policyId(word), [])),
  profile("prof", []),
];

it("createDataplane() writes piece by piece what renderRuleset() gives for the whole", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { maxLength: 25 }), async (steps) => {
      const host = new FakeHost();
      const dataplane = host.start(SETTINGS);
      await host.send(dataplane, ...GROUND, IN_SYNC);
      const messages: ToDataplane[] = [...GROUND];
      for (const [message, applyNow] of steps) {
        messages.push(message);
        await host.send(dataplane, message);
        if (applyNow) await host.clock.advance(100);
      }
      await host.advance(200);
      await dataplane.stop();
      assert.deepEqual(host.fatal, []);
      assert.equal(host.missing(messages, SETTINGS), "");
    }),
    { numRuns: 60 },
  );
});
