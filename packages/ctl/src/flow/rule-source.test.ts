import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources } from "@bulrush/datastore";
import { CALICO_V3, type JsonObject, type Policy, type Resource } from "@bulrush/model";
import { sourcedRules } from "./rule-source.ts";

function kubernetes(spec: JsonObject): Resource {
  const metadata = { name: "p", namespace: "shop" };
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata, spec: { podSelector: {}, ...spec } };
}

function cluster(spec: JsonObject): Resource {
  const apiVersion = "policy.networking.k8s.io/v1alpha2";
  const whole = { tier: "Admin", priority: 5, subject: { namespaces: {} }, ...spec };
  return { apiVersion, kind: "ClusterNetworkPolicy", metadata: { name: "p" }, spec: whole };
}

function calico(kind: string, spec: JsonObject): Resource {
  return { apiVersion: CALICO_V3, kind, metadata: { name: "p", namespace: "shop" }, spec };
}

const block = (cidr: string): JsonObject => ({ ipBlock: { cidr } });
const TCP = { protocol: "TCP", port: 80 };
const UDP = { protocol: "UDP", port: 53 };

/** A policy, and the fields that its rules come from: those of ingress, then those of egress. */
const ROWS: readonly (readonly [title: string, policy: Resource, fields: readonly (string | undefined)[]])[] = [
  [
    "a rule of Calico is a rule",
    calico("NetworkPolicy", { ingress: [{ action: "Log" }, { action: "Allow" }], egress: [{ action: "Deny" }] }),
    ["spec.ingress[0]", "spec.ingress[1]", "spec.egress[0]"],
  ],
  [
    "each peer is one",
    kubernetes({ ingress: [{ from: [block("10.0.0.0/8")] }, { from: [block("10.1.0.0/16"), block("10.2.0.0/16")] }] }),
    ["spec.ingress[0].from[0]", "spec.ingress[1].from[0]", "spec.ingress[1].from[1]"],
  ],
  [
    "each protocol has all peers",
    kubernetes({ egress: [{ to: [block("10.1.0.0/16"), block("10.2.0.0/16")], ports: [UDP, TCP] }] }),
    ["spec.egress[0].to[0]", "spec.egress[0].to[1]", "spec.egress[0].to[0]", "spec.egress[0].to[1]"],
  ],
  [
    "a rule without peers is one for each protocol",
    kubernetes({ ingress: [{ ports: [TCP, { ...TCP, port: 81 }] }, { ports: [TCP, UDP] }, {}] }),
    ["spec.ingress[0]", "spec.ingress[1]", "spec.ingress[1]", "spec.ingress[2]"],
  ],
  [
    "a cluster policy likewise",
    cluster({
      ingress: [
        { action: "Pass", from: [{ namespaces: {} }, { pods: { podSelector: {} } }] },
        { action: "Deny", from: [{ namespaces: {} }] },
      ],
    }),
    ["spec.ingress[0].from[0]", "spec.ingress[0].from[1]", "spec.ingress[1].from[0]"],
  ],
  [
    "a staged policy of Kubernetes too",
    calico("StagedKubernetesNetworkPolicy", { podSelector: {}, ingress: [{ from: [block("10.0.0.0/8")] }] }),
    ["spec.ingress[0].from[0]"],
  ],
  [
    "a rule that cannot be read is left out",
    kubernetes({ ingress: [{ from: [block("10.0.0.0/80")] }, { from: [block("10.0.0.0/8")] }] }),
    ["spec.ingress[1].from[0]"],
  ],
  ["one that lets nothing in has none", kubernetes({ ingress: [] }), []],
  ["what is no policy has none", calico("NetworkSet", { nets: [] }), []],
];

for (const [title, policy, fields] of ROWS) {
  test(`sourcedRules() says where rules come from: ${title}`, () => {
    const source = { file: "p.yaml", document: 1, line: 7 };
    const found = sourcedRules({ resource: policy, source });
    assert.deepEqual(
      found.map((rule) => rule.source?.field),
      fields,
    );
    for (const rule of found) assert.deepEqual([rule.source?.file, rule.source?.line], ["p.yaml", 7]);
  });
}

test("sourcedRules() gives every rule that an agent gets its number, in either direction", () => {
  for (const [title, policy] of ROWS) {
    const update = convertResources([policy]).updates.find(({ key }) => key.type === "Policy");
    const { inbound_rules: inbound = [], outbound_rules: outbound = [] } = (update?.value ?? {}) as Partial<Policy>;
    assert.deepEqual(
      sourcedRules({ resource: policy }).map(({ direction, rule }) => `${direction} ${rule}`),
      [...inbound.map((_, i) => `ingress ${i}`), ...outbound.map((_, i) => `egress ${i}`)],
      title,
    );
  }
});

test("sourcedRules() knows the rules that are left of a policy that is closed", () => {
  const accept = { action: "Accept", from: [{ namespaces: {} }] };
  const closed = sourcedRules({
    resource: cluster({ priority: -1, ingress: [accept, { action: "Deny", from: [{ namespaces: {} }] }] }),
  });
  assert.deepEqual(
    closed.map(({ action, source }) => [action, source]),
    [["deny", { field: "spec.ingress[1].from[0]" }]],
  );
});

test("sourcedRules() has action and protocol as agents have them", () => {
  const resource = calico("NetworkPolicy", { ingress: [{ action: "Pass", protocol: "TCP" }] });
  assert.deepEqual(sourcedRules({ resource }), [
    { direction: "ingress", rule: 0, action: "pass", protocol: "tcp", source: { field: "spec.ingress[0]" } },
  ]);
});
