import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseCidr, containsAddress, parseAddress } from "@bulrush/ip";
import { parseSelector } from "@bulrush/selector";
import fc from "fast-check";
import type { PolicyKey } from "../v1/key.ts";
import type { Rule } from "../v1/rule.ts";
import type { Policy } from "../v1/value.ts";
import { closedPolicyForm, closedTierForm } from "./closed-form.ts";
import { validateV1 } from "./validate-v1.ts";

const GLOBAL: PolicyKey = { type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "p" };
const NAMESPACED: PolicyKey = { type: "Policy", kind: "NetworkPolicy", namespace: "shop", name: "p" };
const KUBERNETES: PolicyKey = { type: "Policy", kind: "KubernetesNetworkPolicy", namespace: "shop", name: "p" };
const CLUSTER: PolicyKey = { type: "Policy", kind: "KubernetesClusterNetworkPolicy", namespace: "", name: "p" };

/** The inbound rules of the closed form of a policy with these inbound rules and an otherwise good head. */
function closedRules(rules: unknown, head: object = {}): readonly Rule[] {
  const value = { tier: "t", selector: "has(x)", outbound_rules: [], ...head, inbound_rules: rules };
  return closedPolicyForm(GLOBAL, value).inbound_rules;
}

describe("closedPolicyForm() of rules", () => {
  const rows: readonly (readonly [what: string, rule: unknown, closed: Rule | undefined])[] = [
    ["a good rule stays", { action: "allow", src_nets: ["10.0.0.0/8"] }, { action: "allow", src_nets: ["10.0.0.0/8"] }],
    ["a good pass rule stays", { action: "next-tier" }, { action: "next-tier" }],
    ["a bad allow rule goes", { action: "allow", src_nets: ["10.0.0.0/8", "x"] }, undefined],
    ["a bad rule without action is an allow rule", { src_selector: "(" }, undefined],
    ["a bad log rule goes", { action: "log", src_selector: "(" }, undefined],
    [
      "a bad deny rule matches what its readable fields allow",
      { action: "deny", protocol: "tcp", src_selector: "(", dst_ports: [80] },
      { action: "deny", protocol: "tcp", dst_ports: [80] },
    ],
    [
      "a list with one bad entry is unreadable as a whole",
      { action: "deny", protocol: "tcp", src_nets: ["10.0.0.0/8", "x"] },
      { action: "deny", protocol: "tcp" },
    ],
    ["a negated list too", { action: "deny", "!src_nets": ["x"] }, { action: "deny" }],
    [
      "ports go with their unreadable protocol",
      { action: "deny", protocol: "tpc", dst_ports: [80], src_nets: ["10.0.0.0/8"] },
      { action: "deny", src_nets: ["10.0.0.0/8"] },
    ],
    [
      "ports and a protocol that do not fit go both",
      { action: "deny", protocol: "icmp", dst_ports: [80] },
      { action: "deny" },
    ],
    [
      "a selector goes with the parts that it was made of",
      { action: "deny", src_selector: "all()", orig_src_namespace_selector: "(" },
      { action: "deny" },
    ],
    ["a bad pass rule denies", { action: "next-tier", src_selector: "(" }, { action: "deny" }],
    ["an unreadable action denies", { action: "alow", protocol: "udp" }, { action: "deny", protocol: "udp" }],
    ["an unknown condition is left out", { action: "deny", domains: ["x"] }, { action: "deny" }],
    ["what is no rule denies everything", "allow", { action: "deny" }],
  ];
  for (const [what, rule, closed] of rows)
    it(what, () => assert.deepEqual(closedRules([rule]), closed === undefined ? [] : [closed]));

  it("keeps the order of the others", () => {
    const good: Rule = { action: "deny", src_selector: "a == 'b'" };
    const rules = [good, { action: "allow", src_selector: "(" }, { action: "log" }, { action: "allow" }];
    assert.deepEqual(closedRules(rules), [good, { action: "log" }, { action: "allow" }]);
  });

  it("denies everything for a list that cannot be read", () => {
    assert.deepEqual(closedRules({}), [{ action: "deny" }]);
    assert.deepEqual(closedRules(undefined), []);
  });

  it("lets nothing through when it is not known where the policy applies", () => {
    const rules = [{ action: "deny", protocol: "tcp" }, { action: "allow" }, { action: "log" }, { action: "pass" }];
    const closed = [{ action: "deny", protocol: "tcp" }, { action: "log" }, { action: "deny" }];
    for (const head of [{ selector: "(" }, { tier: "no such name" }, { order: "ten" }])
      assert.deepEqual(closedRules(rules, head), closed, JSON.stringify(head));
  });
});

describe("closedPolicyForm() of the head", () => {
  const good = { inbound_rules: [], outbound_rules: [], tier: "t", order: 5, selector: "has(x)", types: ["ingress"] };
  const rows: readonly (readonly [key: PolicyKey, head: object, closed: Partial<Policy>])[] = [
    [GLOBAL, {}, good],
    [GLOBAL, { selector: "(" }, { ...good, selector: "all()" }],
    [NAMESPACED, { selector: "(" }, { ...good, namespace: "shop", selector: "projectcalico.org/namespace == 'shop'" }],
    [
      KUBERNETES,
      { selector: "(" },
      {
        ...good,
        namespace: "shop",
        selector: "projectcalico.org/orchestrator == 'k8s' && projectcalico.org/namespace == 'shop'",
      },
    ],
    [CLUSTER, { selector: "(" }, { ...good, selector: "projectcalico.org/orchestrator == 'k8s'" }],
    [GLOBAL, { tier: 7 }, { ...good, tier: "default" }],
    [GLOBAL, { order: "x" }, { ...good, order: -Number.MAX_VALUE }],
    [GLOBAL, { untracked: true, pre_dnat: true }, { ...good, apply_on_forward: true }],
    [GLOBAL, { pre_dnat: "yes" }, { ...good, apply_on_forward: true }],
    [GLOBAL, { untracked: true, apply_on_forward: true }, { ...good, untracked: true, apply_on_forward: true }],
    [GLOBAL, { performance_hints: ["x"], annotations: 1 }, good],
  ];
  for (const [key, head, closed] of rows) {
    it(`${key.kind} with ${JSON.stringify(head)}`, () =>
      assert.deepEqual(closedPolicyForm(key, { ...good, ...head }), closed));
  }

  it("unreadable types mean both directions", () => {
    assert.equal(closedPolicyForm(GLOBAL, { ...good, types: ["ingress", "x"] }).types, undefined);
  });

  it("denies everything in its scope for a value that is no policy", () => {
    assert.deepEqual(closedPolicyForm(NAMESPACED, "nonsense"), {
      namespace: "shop",
      tier: "default",
      inbound_rules: [{ action: "deny" }],
      outbound_rules: [{ action: "deny" }],
      selector: "projectcalico.org/namespace == 'shop'",
    });
  });
});

it("closedTierForm() keeps a readable order and denies at the end", () => {
  assert.deepEqual(closedTierForm({ order: 5, defaultAction: "pass" }), { order: 5, defaultAction: "Deny" });
  assert.deepEqual(closedTierForm({ order: "5", defaultAction: "Pass" }), { defaultAction: "Deny" });
  assert.deepEqual(closedTierForm(null), { defaultAction: "Deny" });
});

describe("properties", () => {
  /** A packet as the model below sees it. */
  interface Packet {
    readonly protocol: string;
    readonly port: number;
    readonly source: string;
    readonly labels: ReadonlyMap<string, string>;
  }

  function matches(rule: Rule, packet: Packet): boolean {
    const address = parseAddress(packet.source);
    const inNet = (net: string): boolean => {
      const cidr = parseCidr(net);
      return cidr !== undefined && address !== undefined && containsAddress(cidr, address);
    };
    const selects = (text: string): boolean => parseSelector(text).evaluate(packet.labels);
    const hasPort = (port: unknown): boolean => port === packet.port;
    return (
      (rule.protocol === undefined || rule.protocol === packet.protocol) &&
      (rule["!protocol"] === undefined || rule["!protocol"] !== packet.protocol) &&
      (rule.src_nets === undefined || rule.src_nets.some(inNet)) &&
      (rule["!src_nets"] === undefined || !rule["!src_nets"].some(inNet)) &&
      (rule.src_selector === undefined || selects(rule.src_selector)) &&
      (rule["!src_selector"] === undefined || !selects(rule["!src_selector"])) &&
      (rule.dst_ports === undefined || rule.dst_ports.some(hasPort)) &&
      (rule["!dst_ports"] === undefined || !rule["!dst_ports"].some(hasPort))
    );
  }

  function verdict(rules: readonly Rule[], packet: Packet): "allow" | "deny" | "pass" {
    for (const rule of rules) {
      if (rule.action === "log" || !matches(rule, packet)) continue;
      if (rule.action === "deny") return "deny";
      return rule.action === "next-tier" || rule.action === "pass" ? "pass" : "allow";
    }
    return "deny";
  }

  const nets = fc.constantFrom("10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/16");
  const selectors = fc.constantFrom("has(a)", "a == 'x'", "a != 'x'", "all()");
  const ports = fc.constantFrom(80, 443);
  const condition = fc.oneof(
    ...(["protocol", "!protocol"] as const).map((name) => fc.tuple(fc.constant(name), fc.constantFrom("tcp", "udp"))),
    ...(["src_nets", "!src_nets"] as const).map((name) =>
      fc.tuple(fc.constant(name), fc.array(nets, { minLength: 1, maxLength: 2 })),
    ),
    ...(["src_selector", "!src_selector"] as const).map((name) => fc.tuple(fc.constant(name), selectors)),
    ...(["dst_ports", "!dst_ports"] as const).map((name) =>
      fc.tuple(fc.constant(name), fc.array(ports, { minLength: 1, maxLength: 2 })),
    ),
  );
  const rule = fc
    .tuple(fc.constantFrom("allow", "allow", "deny", "next-tier", "log"), fc.array(condition, { maxLength: 3 }))
    .map(([action, conditions]): Record<string, unknown> => {
      const made: Record<string, unknown> = { action, ...Object.fromEntries(conditions) };
      // Numeric ports need a protocol.
      return made["dst_ports"] === undefined && made["!dst_ports"] === undefined ? made : { protocol: "tcp", ...made };
    });
  const packet: fc.Arbitrary<Packet> = fc.record({
    protocol: fc.constantFrom("tcp", "udp"),
    port: fc.constantFrom(80, 443, 22),
    source: fc.constantFrom("10.1.2.3", "10.2.2.3", "192.168.1.1", "8.8.8.8"),
    labels: fc.constantFrom(new Map(), new Map([["a", "x"]]), new Map([["a", "y"]])),
  });
  const BAD: Readonly<Record<string, readonly unknown[]>> = {
    action: ["deney", 5],
    protocol: ["tpc", 0],
    "!protocol": ["tpc"],
    src_nets: [["10.0.0.0/8", "x"], "10.0.0.0/8"],
    "!src_nets": [["x"]],
    src_selector: ["a = 'x'", 5],
    "!src_selector": ["("],
    dst_ports: [[80, "65:5"], [0]],
    "!dst_ports": [[70_000]],
  };

  it("a closed form lets through nothing that the policy as it was meant would have stopped", () => {
    let allowed = 0;
    fc.assert(
      fc.property(
        fc.array(rule, { minLength: 1, maxLength: 4 }),
        fc.nat(),
        fc.nat(),
        fc.nat(),
        packet,
        (rules, at, which, how, sent) => {
          const index = at % rules.length;
          const meant = rules[index] as Record<string, unknown>;
          const names = Object.keys(meant);
          const name = names[which % names.length] ?? "action";
          const bad = BAD[name] ?? [];
          const spoilt = rules.map((one, i) => (i === index ? { ...one, [name]: bad[how % bad.length] } : one));
          const closed = verdict(closedRules(spoilt), sent);
          const right = verdict(rules as readonly Rule[], sent);
          if (closed === "allow") {
            allowed++;
            assert.equal(right, "allow");
          }
          if (closed === "pass") assert.notEqual(right, "deny");
        },
      ),
      { numRuns: 5000 },
    );
    assert(allowed > 100, `only ${allowed} packets were allowed`);
  });

  it("a closed form has no issue, whatever it was made of", () => {
    const field = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue(),
      ...Object.values(BAD).map((all) => fc.constantFrom(...all)),
    );
    const anyRule = fc.oneof(
      fc.jsonValue(),
      fc.record({ action: fc.oneof(fc.constantFrom("allow", "deny", "pass"), field) }).chain((head) =>
        fc
          .dictionary(fc.constantFrom(...Object.keys(BAD), "http", "icmp_code", "orig_src_selector", "x"), field)
          .map((rest) => ({
            ...rest,
            ...head,
          })),
      ),
    );
    const anyPolicy = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          inbound_rules: fc.oneof(field, fc.array(anyRule, { maxLength: 3 })),
          outbound_rules: fc.oneof(field, fc.array(anyRule, { maxLength: 3 })),
          selector: field,
          tier: field,
          order: field,
          types: field,
          untracked: field,
          pre_dnat: field,
          apply_on_forward: field,
          performance_hints: field,
          annotations: field,
          staged_action: field,
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(fc.constantFrom(GLOBAL, NAMESPACED, KUBERNETES, CLUSTER), anyPolicy, (key, value) => {
        assert.deepEqual(validateV1(key, closedPolicyForm(key, value)), []);
      }),
      { numRuns: 2000 },
    );
  });
});
