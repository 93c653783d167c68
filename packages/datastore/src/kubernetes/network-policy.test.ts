import assert from "node:assert/strict";
import { test } from "node:test";
import type { NetworkPolicySpec, RuleSpec } from "@bulrush/model";
import { namespaceSelectorText, podSelectorText } from "./label-selector.ts";
import { type KubernetesPort, mergePorts } from "./merge-ports.ts";
import { convertKubernetesPolicy } from "./network-policy.ts";

const PODS = "projectcalico.org/orchestrator == 'k8s'";

function convert(spec: unknown): { spec: NetworkPolicySpec; fields: readonly string[] } {
  const { resource, issues } = convertKubernetesPolicy({
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "test.policy", namespace: "shop", annotations: { a: "b" } },
    spec,
  });
  assert.deepEqual(resource.metadata, { name: "test.policy", namespace: "shop" });
  assert.ok(resource.spec);
  return { spec: resource.spec, fields: issues.map((issue) => issue.field) };
}

function ingressOf(rule: unknown): readonly RuleSpec[] {
  const { spec, fields } = convert({ podSelector: {}, ingress: [rule] });
  assert.deepEqual(fields, []);
  return spec.ingress ?? [];
}

test("convertKubernetesPolicy() puts the policy into the tier default, order 1000", () => {
  assert.deepEqual(convert({ podSelector: {}, ingress: [{}] }).spec, {
    tier: "default",
    order: 1000,
    selector: PODS,
    types: ["Ingress"],
    ingress: [{ action: "Allow", source: {}, destination: {} }],
    egress: [],
  });
});

const POD_SELECTORS: readonly (readonly [selector: Parameters<typeof podSelectorText>[0], want: string])[] = [
  [{}, PODS],
  [undefined, PODS],
  [{ matchLabels: { b: "2", a: "1" } }, `${PODS} && a == '1' && b == '2'`],
  [{ matchExpressions: [{ key: "toast", operator: "Exists" }] }, `${PODS} && has(toast)`],
  [{ matchExpressions: [{ key: "toast", operator: "DoesNotExist" }] }, `${PODS} && ! has(toast)`],
  [{ matchExpressions: [{ key: "k", operator: "In", values: ["b", "a"] }] }, `${PODS} && k in { 'b', 'a' }`],
  [{ matchExpressions: [{ key: "k", operator: "NotIn", values: ["b"] }] }, `${PODS} && k not in { 'b' }`],
];

for (const [selector, want] of POD_SELECTORS) {
  test(`podSelectorText() writes ${JSON.stringify(selector)}`, () => assert.equal(podSelectorText(selector), want));
}

test("namespaceSelectorText() tells an empty selector from none", () => {
  assert.equal(namespaceSelectorText({}), "all()");
  assert.equal(namespaceSelectorText(undefined), "");
  assert.equal(
    namespaceSelectorText({ matchLabels: { namespaceRole: "dev", namespaceFoo: "bar" } }),
    "namespaceFoo == 'bar' && namespaceRole == 'dev'",
  );
});

const MERGES: readonly (readonly [ports: readonly KubernetesPort[], want: readonly (string | number)[]])[] = [
  [
    [
      [2, 2],
      [1, 1],
    ],
    ["1:2"],
  ],
  [
    [
      [1, 1],
      [2, 2],
      [4, 4],
    ],
    ["1:2", 4],
  ],
  [
    [[81, 90], [4, 4], [2, 2], "foo", [80, 81], [3, 3], [1, 1], [9090, 9090], "http"],
    ["foo", "http", "1:4", "80:90", 9090],
  ],
];

for (const [ports, want] of MERGES) {
  test(`mergePorts() makes ${JSON.stringify(want)}`, () => assert.deepEqual(mergePorts(ports), want));
}

test("convertKubernetesPolicy() takes a port entry without a number as all ports of TCP", () => {
  const [rule, ...others] = ingressOf({ ports: [{ port: 80 }, {}] });
  assert.deepEqual(rule, { action: "Allow", protocol: "TCP", source: {}, destination: {} });
  assert.deepEqual(others, []);
});

test("convertKubernetesPolicy() makes one rule for each protocol and peer", () => {
  const from = [{ podSelector: { matchLabels: { a: "1" } } }, { namespaceSelector: {} }];
  const ports = [{ port: 53, protocol: "UDP" }, { port: 80, endPort: 90 }, { port: "http" }];
  const selectors = [`${PODS} && a == '1'`, PODS];
  assert.deepEqual(
    ingressOf({ from, ports }).map((rule) => [rule.protocol, rule.source?.selector, rule.destination?.ports]),
    [
      ["TCP", selectors[0], ["http", "80:90"]],
      ["TCP", selectors[1], ["http", "80:90"]],
      ["UDP", selectors[0], [53]],
      ["UDP", selectors[1], [53]],
    ],
  );
});

test("convertKubernetesPolicy() puts egress peers and ports on the destination", () => {
  const { spec } = convert({ egress: [{ to: [{ ipBlock: { cidr: "10.1.2.3/8" } }], ports: [{ port: 1 }] }] });
  assert.deepEqual(spec.types, ["Ingress", "Egress"]);
  const destination = { nets: ["10.0.0.0/8"], ports: [1] };
  assert.deepEqual(spec.egress, [{ action: "Allow", protocol: "TCP", destination }]);
});

test("convertKubernetesPolicy() masks exceptions", () => {
  const [rule] = ingressOf({ from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.1.1/16"] } }] });
  assert.deepEqual(rule?.source, { nets: ["10.0.0.0/8"], notNets: ["10.1.0.0/16"] });
});

test("convertKubernetesPolicy() names the types in one order", () => {
  assert.deepEqual(convert({ policyTypes: ["Egress", "Ingress"] }).spec.types, ["Ingress", "Egress"]);
  assert.deepEqual(convert({}).spec.types, ["Ingress"]);
  const isolated = convert({ policyTypes: ["Ingress"] }).spec;
  assert.deepEqual([isolated.types, isolated.ingress], [["Ingress"], []]);
});

const BAD_RULES: readonly (readonly [what: string, rule: unknown, field: string])[] = [
  ["a port below 1", { ports: [{ port: -50 }] }, "spec.ingress[0].ports[0].port"],
  ["a port of two numbers", { ports: [{ port: "-50:-1" }] }, "spec.ingress[0].ports[0].port"],
  ["a protocol that has no ports", { ports: [{ port: 1, protocol: "ICMP" }] }, "spec.ingress[0].ports[0].protocol"],
  ["an endPort below its port", { ports: [{ port: 9, endPort: 8 }] }, "spec.ingress[0].ports[0].endPort"],
  ["a CIDR that is none", { from: [{ ipBlock: { cidr: "/55" } }] }, "spec.ingress[0].from[0].ipBlock.cidr"],
  [
    "an exception that is none",
    { from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "x"] } }] },
    "spec.ingress[0].from[0].ipBlock.except[1]",
  ],
  [
    "an exception outside of its block",
    { from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16", "11.0.0.0/16"] } }] },
    "spec.ingress[0].from[0].ipBlock.except[1]",
  ],
  [
    "an exception of the other family",
    { from: [{ ipBlock: { cidr: "2001:db8::/32", except: ["10.1.0.0/16"] } }] },
    "spec.ingress[0].from[0].ipBlock.except[0]",
  ],
  [
    "an exception of everything",
    { from: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8"] } }] },
    "spec.ingress[0].from[0].ipBlock.except[0]",
  ],
  ["an endPort after a port name", { ports: [{ port: "http", endPort: 8 }] }, "spec.ingress[0].ports[0].endPort"],
  ["an endPort without a port", { ports: [{ endPort: 8 }] }, "spec.ingress[0].ports[0].endPort"],
  ["a peer that is null", { from: [null] }, "spec.ingress[0].from[0]"],
  ["a rule that is null", null, "spec.ingress[0]"],
  [
    "a block beside a selector",
    { from: [{ podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }] },
    "spec.ingress[0].from[0]",
  ],
  [
    "an operator without values",
    { from: [{ podSelector: { matchExpressions: [{ key: "k", operator: "NotIn", values: [] }] } }] },
    "spec.ingress[0].from[0].podSelector.matchExpressions[0].values",
  ],
  [
    "values that its operator has no use for",
    { from: [{ podSelector: { matchExpressions: [{ key: "k", operator: "Exists", values: ["a"] }] } }] },
    "spec.ingress[0].from[0].podSelector.matchExpressions[0].values",
  ],
  ["an ipBlock without a CIDR", { from: [{ ipBlock: {} }] }, "spec.ingress[0].from[0].ipBlock.cidr"],
  ["an empty peer", { from: [{}] }, "spec.ingress[0].from[0]"],
  ["a misspelt peer", { from: [{ podSelectr: {} }] }, "spec.ingress[0].from[0].podSelectr"],
  ["a misspelt field", { form: [{ podSelector: {} }] }, "spec.ingress[0].form"],
  [
    "an operator that is none",
    { from: [{ podSelector: { matchExpressions: [{ key: "k", operator: "Is" }] } }] },
    "spec.ingress[0].from[0].podSelector.matchExpressions[0].operator",
  ],
  [
    "a value that would break out of its quotes",
    { from: [{ podSelector: { matchLabels: { a: "b' || all() || a == 'c" } } }] },
    "spec.ingress[0].from[0].podSelector.matchLabels.a",
  ],
];

for (const [what, rule, field] of BAD_RULES) {
  test(`convertKubernetesPolicy() drops a rule with ${what} and keeps the others`, () => {
    const { spec, fields } = convert({ ingress: [rule, { ports: [{ port: 80 }] }] });
    assert.ok(fields.includes(field), fields.join(" "));
    assert.deepEqual(
      spec.ingress?.map((kept) => kept.destination?.ports),
      [[80]],
    );
  });
}

test("convertKubernetesPolicy() isolates the namespace when it cannot tell which pods are meant", () => {
  for (const bad of [
    { podSelector: { matchLabels: { a: 1 } }, ingress: [{}] },
    { podSelectr: {}, ingress: [{}] },
    { podSelector: "all", policyTypes: ["Ingress"], ingress: [{}] },
  ]) {
    const { spec, fields } = convert(bad);
    assert.equal(fields.length, 1);
    assert.equal(spec.selector, "");
    assert.deepEqual(spec.ingress, []);
    assert.ok(spec.types?.includes("Ingress"));
  }
});

test("convertKubernetesPolicy() takes unreadable types as both", () => {
  const { spec } = convert({ policyTypes: ["Inbound"], ingress: [{}] });
  assert.deepEqual([spec.types, spec.ingress], [["Ingress", "Egress"], []]);
});

test("convertKubernetesPolicy() takes both directions where it does not know a field", () => {
  const { spec, fields } = convert({ podSelector: {}, policyTypes: ["Ingress"], a: 1 });
  assert.deepEqual(fields, ["spec.a"]);
  assert.deepEqual(spec.types, ["Ingress", "Egress"]);
});
