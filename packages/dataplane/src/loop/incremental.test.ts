import assert from "node:assert/strict";
import { it } from "node:test";
import type { DataplaneRule, TierInfo, ToDataplane } from "@bulrush/proto";
import fc from "fast-check";
import { FakeHost } from "../testing/fake-host.ts";
import {
  hostEndpoint,
  IN_SYNC,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
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

const step: fc.Arbitrary<ToDataplane> = fc.oneof(
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
    .tuple(fc.constantFrom(...PODS), tiers, fc.constantFrom("cali1", "cali2", "cali3"))
    .map(([name, list, iface]) =>
      workload(name, { name: iface, tiers: list, profile_ids: ["prof"], ipv4_nets: ["10.65.0.7/32"] }),
    ),
  fc.constantFrom(...PODS).map((name) => workloadRemove(name)),
  fc.tuple(fc.constantFrom("eth0", "*"), tiers).map(([name, list]) => hostEndpoint("hep", { name, tiers: list })),
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
      const dataplane = host.start();
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
      assert.equal(host.missing(messages), "");
    }),
    { numRuns: 60 },
  );
});
