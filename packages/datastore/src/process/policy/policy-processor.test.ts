import assert from "node:assert/strict";
import { test } from "node:test";
import { type Policy, type PolicyKind, type Rule, validateV1 } from "@bulrush/model";
import fc from "fast-check";
import type { DatastoreKind } from "../../driver/kind.ts";
import { processSafely } from "../processor.ts";
import { policyProcessor } from "./policy-processor.ts";

interface Outcome {
  readonly policy: Policy | undefined;
  readonly fields: readonly string[];
  readonly isClosedForm: boolean;
}

function run(kind: PolicyKind & DatastoreKind, spec: unknown): Outcome {
  const isGlobal = kind.includes("Global") || kind.includes("Cluster");
  const namespace = isGlobal ? "" : "ns";
  const { outputs, issues, isClosedForm } = processSafely(policyProcessor(kind), {
    item: { kind, namespace, name: "p" },
    value: { apiVersion: "projectcalico.org/v3", kind, metadata: { name: "p", namespace }, spec },
    revision: "1",
  });
  assert.equal(outputs.length, 1);
  const [output] = outputs;
  assert.deepEqual(output?.key, { type: "Policy", kind, namespace, name: "p" });
  if (output.value !== undefined) assert.deepEqual(validateV1(output.key, output.value), []);
  return { policy: output.value as Policy | undefined, fields: issues.map((issue) => issue.field), isClosedForm };
}

const NS = "projectcalico.org/namespace == 'ns'";

// projectcalico/calico#1338, projectcalico/calico#2797
test("policyProcessor() knows actions and types in any case, as they were put past Calico's API", () => {
  const written = run("GlobalNetworkPolicy", {
    types: ["ingress", "EGRESS"],
    ingress: [{ action: "allow", protocol: "tcp" }, { action: "LOG" }, { action: "deny" }],
    egress: [{ action: "pass" }, { action: "Deny" }],
  });
  assert.deepEqual([written.fields, written.isClosedForm], [[], false]);
  assert.deepEqual(written.policy, {
    tier: "default",
    selector: "",
    types: ["ingress", "egress"],
    inbound_rules: [{ action: "allow", protocol: "tcp" }, { action: "log" }, { action: "deny" }],
    outbound_rules: [{ action: "next-tier" }, { action: "deny" }],
  });
  assert.deepEqual(run("GlobalNetworkPolicy", { ingress: [{ action: "alow" }] }).fields, ["spec.ingress[0].action"]);
});

test("policyProcessor() converts a namespaced policy", () => {
  const { policy, fields, isClosedForm } = run("NetworkPolicy", {
    order: 5,
    selector: "a == 'b'",
    types: ["Ingress", "Egress"],
    ingress: [
      {
        action: "Pass",
        ipVersion: 4,
        protocol: "TCP",
        source: { nets: ["1.2.3.4/24", "5.6.7.8"], notNets: ["1.2.3.4"], selector: "x == 'y'", notPorts: ["8:9"] },
        destination: { ports: [80, "90:91", "http", "7"], services: { name: "svc" } },
        metadata: { annotations: { z: "1", a: "2" } },
      },
      { action: "Allow", http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } },
    ],
    egress: [
      { action: "Log", notProtocol: 17 },
      { action: "Allow", protocol: "ICMP", icmp: { type: 8, code: 0 } },
    ],
    performanceHints: ["AssumeNeededOnEveryNode"],
  });
  assert.deepEqual([fields, isClosedForm], [[], false]);
  assert.deepEqual(policy, {
    namespace: "ns",
    tier: "default",
    order: 5,
    selector: `(a == 'b') && ${NS}`,
    types: ["ingress", "egress"],
    inbound_rules: [
      {
        action: "next-tier",
        ip_version: 4,
        protocol: "tcp",
        src_nets: ["1.2.3.0/24", "5.6.7.8/32"],
        "!src_nets": ["1.2.3.4/32"],
        src_selector: `(${NS}) && (x == 'y')`,
        orig_src_selector: "x == 'y'",
        "!src_ports": ["8:9"],
        dst_ports: [80, "90:91", "http", 7],
        dst_service: "svc",
        dst_service_ns: "ns",
        metadata: {
          annotations: new Map([
            ["a", "2"],
            ["z", "1"],
          ]),
        },
      },
      { action: "allow", http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } },
    ],
    outbound_rules: [
      { action: "log", "!protocol": 17 },
      { action: "allow", protocol: "icmp", icmp_type: 8, icmp_code: 0 },
    ],
    performance_hints: ["AssumeNeededOnEveryNode"],
  });
});

test("policyProcessor() converts a global policy with its flags", () => {
  const { policy } = run("GlobalNetworkPolicy", {
    tier: "t",
    namespaceSelector: "a == 'b'",
    doNotTrack: true,
    applyOnForward: true,
    ingress: [{ action: "Deny", source: { notSelector: "has(x)" } }],
  });
  assert.deepEqual(policy, {
    tier: "t",
    selector: 'pcns.a == "b"',
    types: ["ingress"],
    inbound_rules: [{ action: "deny", "!src_selector": "has(x)", orig_not_src_selector: "has(x)" }],
    outbound_rules: [],
    untracked: true,
    apply_on_forward: true,
  });
});

test("policyProcessor() takes the types from the rules where none are named", () => {
  const typesOf = (spec: object): readonly string[] | undefined => run("NetworkPolicy", spec).policy?.types;
  assert.deepEqual(typesOf({}), ["ingress"]);
  assert.deepEqual(typesOf({ egress: [{ action: "Deny" }] }), ["egress"]);
  assert.deepEqual(typesOf({ egress: [{ action: "Deny" }], ingress: [{ action: "Deny" }] }), ["ingress", "egress"]);
  assert.deepEqual(typesOf({ types: ["Egress", "Ingress"] }), ["egress", "ingress"]);
});

test("policyProcessor() keeps a staged action and takes Delete as absent", () => {
  assert.equal(run("StagedNetworkPolicy", { stagedAction: "Learn" }).policy?.staged_action, "Learn");
  assert.equal(run("StagedNetworkPolicy", {}).policy?.staged_action, undefined);
  for (const kind of ["StagedNetworkPolicy", "StagedGlobalNetworkPolicy", "StagedKubernetesNetworkPolicy"] as const)
    assert.equal(run(kind, { stagedAction: "Delete" }).policy, undefined);
});

test("policyProcessor() converts a staged Kubernetes policy", () => {
  const { policy } = run("StagedKubernetesNetworkPolicy", {
    stagedAction: "Set",
    podSelector: {},
    policyTypes: ["Ingress"],
    ingress: [{ ports: [{ port: 80 }] }],
  });
  assert.deepEqual(policy, {
    namespace: "ns",
    tier: "default",
    order: 1000,
    selector: `(projectcalico.org/orchestrator == 'k8s') && ${NS}`,
    types: ["ingress"],
    inbound_rules: [{ action: "allow", protocol: "tcp", dst_ports: [80] }],
    outbound_rules: [],
    staged_action: "Set",
  });
});

test("policyProcessor() deletes what is gone", () => {
  const item = { kind: "NetworkPolicy", namespace: "ns", name: "p" } as const;
  const result = policyProcessor("NetworkPolicy").process({ item, value: undefined, revision: "2" });
  assert.deepEqual([result.outputs[0]?.value, result.isClosedForm], [undefined, false]);
});

const DENY: Rule = { action: "deny" };
const TCP_80 = { protocol: "TCP", destination: { ports: [80] } };
const DENY_TCP_80: Rule = { action: "deny", protocol: "tcp", dst_ports: [80] };

/** An ingress rule that cannot be read in full, the field that is named, and what it becomes. */
const CLOSED_RULES: readonly (readonly [rule: object, field: string, want: readonly Rule[]])[] = [
  [{ action: "Allow", source: { selector: "a ==" } }, "source.selector", []],
  [{ action: "Allow", source: { nets: ["10.2402.0.0/16", "1.2.3.4/24"] } }, "source.nets[0]", []],
  [{ action: "Allow", source: { notNets: ["1.2.3.4/33"] } }, "source.notNets[0]", []],
  [{ action: "Allow", sorce: { nets: ["10.0.0.0/8"] } }, "sorce", []],
  [{ action: "Allow", destination: { prots: [80] } }, "destination.prots", []],
  [{ action: "Allow", protocol: "TPC" }, "protocol", []],
  [{ action: "Log", source: { selector: "a ==" } }, "source.selector", []],
  [{ action: "Deny", source: { selector: "a ==" }, ...TCP_80 }, "source.selector", [DENY_TCP_80]],
  [{ action: "Deny", source: { nets: ["x"] }, ...TCP_80 }, "source.nets[0]", [DENY_TCP_80]],
  [{ action: "Deny", source: { notSelector: "(" }, ...TCP_80 }, "source.notSelector", [DENY_TCP_80]],
  [{ action: "Deny", source: "me", ...TCP_80 }, "source", [DENY_TCP_80]],
  [{ action: "Deny", protocol: "TPC", destination: { ports: [80] } }, "protocol", [DENY]],
  [
    { action: "Deny", protocol: "TCP", destination: { ports: [0] } },
    "destination.ports[0]",
    [{ ...DENY, protocol: "tcp" }],
  ],
  [{ action: "Deny", destination: { ports: [80] } }, "destination.ports", [DENY]],
  [{ action: "Deny", protocol: "ICMP", icmp: { type: 255 } }, "icmp.type", [{ ...DENY, protocol: "icmp" }]],
  [{ action: "Deny", protocol: "ICMP", icmp: { code: 1 } }, "icmp", [{ ...DENY, protocol: "icmp" }]],
  [{ action: "Pass", source: { selector: "a ==" }, ...TCP_80 }, "source.selector", [DENY_TCP_80]],
  [{ action: "Permit", ...TCP_80 }, "action", [DENY_TCP_80]],
  [{ ...TCP_80 }, "action", [DENY_TCP_80]],
  [{ action: "Deny", source: { selector: "global()" } }, "source.selector", [DENY]],
  // Which namespaces are meant is unknown: not only the policy's own.
  [
    { action: "Deny", source: { namespaceSelector: "a ==", selector: "has(b)" } },
    "source.namespaceSelector",
    [{ ...DENY, src_selector: "has(b)", orig_src_selector: "has(b)" }],
  ],
  [{ action: "Deny", source: { serviceAccounts: { names: ["a'b"] } } }, "source.serviceAccounts.names[0]", [DENY]],
  // A service without a name would be no condition at all.
  [{ action: "Allow", source: { services: {} } }, "source.services.name", []],
  [{ action: "Allow", source: { services: { name: "" } } }, "source.services.name", []],
  [{ action: "Deny", source: { services: { name: "A b" } } }, "source.services.name", [DENY]],
  [{ action: "Deny", source: { services: { name: "a", namespace: "x/y" } } }, "source.services.namespace", [DENY]],
  // An exception of everything would leave nothing to deny.
  [{ action: "Deny", source: { notNets: ["0.0.0.0/0"] } }, "source.notNets[0]", [DENY]],
  [{ action: "Allow", source: { notNets: ["::/0"] } }, "source.notNets[0]", []],
  [{ action: "Allow", notICMP: { type: 8 } }, "notICMP", []],
  [{ action: "Deny", protocol: "TCP", icmp: { type: 8 } }, "icmp", [{ ...DENY, protocol: "tcp" }]],
  [{ action: "Allow", http: { paths: [{}] } }, "http.paths[0]", []],
  [{ action: "Pass", http: { methods: ["GET"] }, ...TCP_80 }, "http", [DENY_TCP_80]],
  [{ action: "Allow", protocol: "UDP", http: { methods: ["GET"] } }, "http", []],
];

for (const [rule, field, want] of CLOSED_RULES) {
  test(`policyProcessor() closes the rule ${JSON.stringify(rule)}`, () => {
    const { policy, fields, isClosedForm } = run("NetworkPolicy", { selector: "a == 'b'", ingress: [rule] });
    assert.deepEqual(fields, [`spec.ingress[0].${field}`]);
    assert.ok(isClosedForm);
    assert.deepEqual(policy?.inbound_rules, want);
    assert.equal(policy.selector, `(a == 'b') && ${NS}`);
  });
}

test("policyProcessor() closes the HTTP rule of a direction in which nothing looks into HTTP", () => {
  const { policy, fields } = run("NetworkPolicy", { egress: [{ action: "Allow", http: { methods: ["GET"] } }] });
  assert.deepEqual([fields, policy?.outbound_rules], [["spec.egress[0].http"], []]);
});

test("policyProcessor() closes the rule of a global policy whose service has no namespace", () => {
  const source = { services: { name: "svc" } };
  const { policy, fields } = run("GlobalNetworkPolicy", {
    ingress: [
      { action: "Deny", source },
      { action: "Allow", source },
    ],
  });
  assert.deepEqual(fields, ["spec.ingress[0].source.services.namespace", "spec.ingress[1].source.services.namespace"]);
  assert.deepEqual(policy?.inbound_rules, [DENY]);
});

const ALLOW = { action: "Allow" };
const RULES = { types: ["Ingress"], ingress: [ALLOW, { action: "Pass", ...TCP_80 }, { action: "Deny", ...TCP_80 }] };

test("policyProcessor() widens a policy whose applies-to selector cannot be read, and lets it allow nothing", () => {
  for (const [kind, spec, want] of [
    ["NetworkPolicy", { selector: "a ==" }, NS],
    ["NetworkPolicy", { selector: "global()" }, NS],
    ["NetworkPolicy", { selector: "has(x)", serviceAccountSelector: "(" }, NS],
    ["GlobalNetworkPolicy", { selector: "has(x)", namespaceSelector: "(" }, ""],
    ["GlobalNetworkPolicy", { selector: 7, namespaceSelector: "has(x)" }, ""],
  ] as const) {
    const { policy, isClosedForm } = run(kind, { ...RULES, ...spec });
    assert.ok(isClosedForm);
    assert.equal(policy?.selector, want);
    assert.deepEqual(policy.types, ["ingress"]);
    assert.deepEqual(policy.inbound_rules, [DENY_TCP_80, DENY_TCP_80]);
  }
});

test("closePolicy() puts a policy of an unreadable tier first in the default one, for its endpoints, and ends it", () => {
  const { policy, fields } = run("NetworkPolicy", { ...RULES, selector: "a == 'b'", order: 7, tier: -1 });
  assert.deepEqual(fields, ["spec.tier"]);
  assert.deepEqual([policy?.tier, policy?.selector, policy?.types], ["default", `(a == 'b') && ${NS}`, ["ingress"]]);
  assert.ok((policy?.order ?? 0) < -1e300);
  assert.deepEqual(policy?.inbound_rules, [DENY_TCP_80, DENY_TCP_80, DENY]);
});

test("policyProcessor() puts a policy of unreadable order first", () => {
  const { policy } = run("NetworkPolicy", { ...RULES, order: "ten" });
  assert.ok((policy?.order ?? 0) < -1e300);
  assert.deepEqual(policy?.inbound_rules, [DENY_TCP_80, DENY_TCP_80]);
});

test("policyProcessor() takes unreadable types as both directions", () => {
  const { policy } = run("NetworkPolicy", { ...RULES, types: ["Inbound"] });
  assert.deepEqual(policy?.types, []);
  assert.deepEqual(policy?.inbound_rules, [DENY_TCP_80, DENY_TCP_80]);
});

test("policyProcessor() denies everything where it cannot tell the rules", () => {
  const list = run("NetworkPolicy", { types: ["Ingress"], ingress: { action: "Deny" } });
  assert.deepEqual(list.policy?.inbound_rules, [DENY]);
  const unknown = run("NetworkPolicy", { ingres: [{ action: "Deny" }], selector: "has(x)" });
  assert.deepEqual(unknown.fields, ["spec.ingres"]);
  assert.deepEqual(
    [unknown.policy?.inbound_rules, unknown.policy?.outbound_rules, unknown.policy?.types, unknown.policy?.selector],
    [[DENY], [DENY], [], NS],
  );
  const nothing = run("GlobalNetworkPolicy", "all");
  assert.deepEqual([nothing.policy?.inbound_rules, nothing.policy?.outbound_rules], [[DENY], [DENY]]);
});

test("policyProcessor() leaves out unreadable hints only", () => {
  const { policy, isClosedForm } = run("NetworkPolicy", { ingress: [ALLOW], performanceHints: "fast" });
  assert.ok(isClosedForm);
  assert.deepEqual(policy?.inbound_rules, [{ action: "allow" }]);
});

test("policyProcessor() makes a valid value of anything", () => {
  const words = fc.constantFrom<unknown>(
    "Allow",
    "Deny",
    "Pass",
    "a == 'b'",
    "a ==",
    "10.0.0.0/8",
    "1.2.3.4/33",
    "TCP",
    80,
    -1,
    "80:90",
    null,
    true,
    "Ingress",
  );
  const value = fc.oneof(words, fc.array(words, { maxLength: 2 }), fc.constant({}), fc.constant({ names: ["x y"] }));
  const side = fc.dictionary(
    fc.constantFrom("nets", "notNets", "selector", "notSelector", "namespaceSelector", "ports", "serviceAccounts", "x"),
    value,
    { maxKeys: 4 },
  );
  const rule = fc.record(
    {
      action: fc.constantFrom("Allow", "Deny", "Pass", "Log", "Permit"),
      protocol: value,
      source: fc.oneof(side, value),
      destination: fc.oneof(side, value),
      icmp: value,
      ipVersion: value,
    },
    { requiredKeys: [] },
  );
  const spec = fc.record(
    {
      tier: value,
      order: value,
      selector: value,
      namespaceSelector: value,
      types: value,
      ingress: fc.oneof(fc.array(rule, { maxLength: 3 }), value),
      egress: fc.oneof(fc.array(rule, { maxLength: 3 }), value),
      doNotTrack: value,
      applyOnForward: value,
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(fc.constantFrom("NetworkPolicy" as const, "GlobalNetworkPolicy" as const), spec, (kind, input) => {
      assert.ok(run(kind, input).policy);
    }),
    { numRuns: 500 },
  );
});
