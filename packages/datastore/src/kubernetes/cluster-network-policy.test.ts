import assert from "node:assert/strict";
import { test } from "node:test";
import type { GlobalNetworkPolicySpec, RuleSpec } from "@bulrush/model";
import { convertClusterNetworkPolicy } from "./cluster-network-policy.ts";

const PODS = "projectcalico.org/orchestrator == 'k8s'";

function convert(spec: object): { spec: GlobalNetworkPolicySpec | undefined; fields: readonly string[] } {
  const { resource, issues } = convertClusterNetworkPolicy({
    apiVersion: "policy.networking.k8s.io/v1alpha2",
    kind: "ClusterNetworkPolicy",
    metadata: { name: "cnp" },
    spec: { tier: "Admin", priority: 10, subject: { namespaces: {} }, ...spec },
  });
  return { spec: resource?.spec, fields: issues.map((issue) => issue.field) };
}

function ingressOf(rule: object): { rules: readonly RuleSpec[]; fields: readonly string[] } {
  const { spec, fields } = convert({ ingress: [{ from: [{ namespaces: {} }], ...rule }] });
  assert.ok(spec);
  return { rules: spec.ingress ?? [], fields };
}

test("convertClusterNetworkPolicy() maps tier, priority and subject", () => {
  assert.deepEqual(convert({ subject: { namespaces: { matchLabels: { a: "b" } } } }).spec, {
    tier: "kube-admin",
    order: 10,
    namespaceSelector: "a == 'b'",
    selector: PODS,
    types: [],
    ingress: [],
    egress: [],
  });
  const subject = { pods: { namespaceSelector: {}, podSelector: { matchLabels: { a: "b" } } } };
  const { spec } = convert({ tier: "Baseline", subject });
  assert.deepEqual(
    [spec?.tier, spec?.namespaceSelector, spec?.selector],
    ["kube-baseline", "all()", `${PODS} && a == 'b'`],
  );
});

test("convertClusterNetworkPolicy() makes no policy of an unknown tier or without a subject", () => {
  assert.deepEqual(convert({ tier: "bogus" }), { spec: undefined, fields: ["spec.tier"] });
  assert.deepEqual(convert({ subject: {} }), { spec: undefined, fields: ["spec.subject"] });
});

test("convertClusterNetworkPolicy() takes a namespaces peer as the pods in them", () => {
  const { rules } = ingressOf({ action: "Accept", name: "r" });
  const source = { selector: PODS, namespaceSelector: "all()" };
  assert.deepEqual(rules, [{ action: "Allow", source, metadata: { annotations: { name: "r" } } }]);
});

test("convertClusterNetworkPolicy() merges ports by protocol, named ones of any protocol", () => {
  const protocols = [
    { tcp: { destinationPort: { number: 2 } } },
    { tcp: { destinationPort: { range: { start: 3, end: 5 } } } },
    { destinationNamedPort: "http" },
    { udp: {} },
  ];
  const { rules } = ingressOf({ action: "Pass", protocols });
  assert.deepEqual(
    rules.map((rule) => [rule.action, rule.protocol, rule.destination?.ports]),
    [
      ["Pass", undefined, ["http"]],
      ["Pass", "TCP", ["2:5"]],
      ["Pass", "UDP", undefined],
    ],
  );
});

test("convertClusterNetworkPolicy() takes networks on egress", () => {
  const { spec, fields } = convert({ egress: [{ action: "Accept", to: [{ networks: ["0.0.0.0/0"] }] }] });
  assert.deepEqual(fields, []);
  assert.deepEqual(spec?.egress, [{ action: "Allow", destination: { nets: ["0.0.0.0/0"] } }]);
  assert.deepEqual(spec?.types, ["Egress"]);
});

test("convertClusterNetworkPolicy() drops a rule whose action would only log or let through", () => {
  for (const action of ["Log", "Allow"]) {
    const { rules, fields } = ingressOf({ action });
    assert.deepEqual([rules, fields], [[], ["spec.ingress[0].action"]]);
  }
});

test("convertClusterNetworkPolicy() denies what a rule without a readable action matches", () => {
  const protocols = [{ tcp: { destinationPort: { number: 80 } } }];
  const source = { selector: PODS, namespaceSelector: "all()" };
  for (const action of [undefined, null, 7, "deny", "constructor"]) {
    const { rules, fields } = ingressOf({ action, protocols });
    assert.deepEqual(rules, [{ action: "Deny", protocol: "TCP", source, destination: { ports: [80] } }]);
    assert.deepEqual(fields, ["spec.ingress[0].action"]);
  }
  assert.deepEqual(convert({ ingress: [null] }).spec?.ingress, [{ action: "Deny" }]);
});

test("convertClusterNetworkPolicy() denies both directions where it does not know a field", () => {
  const { spec, fields } = convert({ ingres: [], ingress: [{ action: "Accept", from: [{ namespaces: {} }] }] });
  assert.deepEqual(fields, ["spec.ingres"]);
  assert.deepEqual(
    [spec?.types, spec?.ingress, spec?.egress],
    [["Ingress", "Egress"], [{ action: "Deny" }], [{ action: "Deny" }]],
  );
});

test("convertClusterNetworkPolicy() does not take an empty list of networks for every network", () => {
  const egressOf = (action: string, to: readonly object[]) => convert({ egress: [{ action, to }] });
  const accept = egressOf("Accept", [{ networks: [] }]);
  assert.deepEqual([accept.spec?.egress, accept.fields], [[], ["spec.egress[0].to[0].networks"]]);
  assert.deepEqual(egressOf("Deny", [{ networks: [] }]).spec?.egress, [{ action: "Deny", destination: {} }]);
});

test("convertClusterNetworkPolicy() denies everything where a Deny or Pass has bad ports", () => {
  const protocols = [{ tcp: { destinationPort: { range: { start: 40, end: 20 } } } }];
  for (const action of ["Deny", "Pass"]) {
    const { rules, fields } = ingressOf({ action, protocols });
    assert.deepEqual(rules, [{ action: "Deny" }]);
    assert.equal(fields.length, 1);
  }
  assert.deepEqual(ingressOf({ action: "Accept", protocols }).rules, []);
});

test("convertClusterNetworkPolicy() closes a rule with a peer of an unknown kind", () => {
  const from = [{ pods: { namespaceSelector: {}, podSelector: {} } }, { nodes: {} }];
  const protocols = [{ tcp: { destinationPort: { number: 80 } } }];
  assert.deepEqual(ingressOf({ action: "Accept", from, protocols }).rules, []);
  const closed = [{ action: "Deny", protocol: "TCP", source: {}, destination: { ports: [80] } }];
  assert.deepEqual(ingressOf({ action: "Deny", from, protocols }).rules, closed);
  assert.deepEqual(ingressOf({ action: "Pass", from, protocols }).rules, closed);
  assert.deepEqual(ingressOf({ action: "Pass", from, protocols }).fields, ["spec.ingress[0].from[1].nodes"]);
});

test("convertClusterNetworkPolicy() closes what names domains, on its ports where it has some", () => {
  const to = [{ domainNames: ["example.org"] }, { networks: ["10.0.0.0/8"] }];
  const protocols = [{ destinationNamedPort: "https" }];
  const { spec, fields } = convert({
    egress: [
      { action: "Accept", to },
      { action: "Deny", to, protocols },
    ],
  });
  assert.deepEqual(spec?.egress, [{ action: "Deny", destination: { ports: ["https"] } }]);
  assert.deepEqual(fields, ["spec.egress[0].to[0].domainNames", "spec.egress[1].to[0].domainNames"]);
});

test("convertClusterNetworkPolicy() closes a policy whose subject cannot be read", () => {
  const { spec, fields } = convert({
    subject: { namespaces: { matchExpressions: [{ key: "a", operator: "Is" }] } },
    ingress: [
      { action: "Accept", from: [{ namespaces: {} }] },
      { action: "Pass", from: [{ namespaces: {} }] },
    ],
  });
  assert.equal(fields.length, 1);
  assert.equal(spec?.namespaceSelector, "all()");
  assert.deepEqual(
    spec?.ingress?.map((rule) => rule.action),
    ["Deny"],
  );
});
