import { allow, denyTcp, gnp, knp, np, pod, PODS, SHOP, tier, WEB, web, type LintRow, V3 } from "./manifests.ts";

/** Rules, and the policies and tiers that they stand in. */
export const RULE_ROWS: readonly LintRow[] = [
  ["all rules log", "only-log-rules", [np("p", { ingress: [{ action: "Log" }] })], "spec.ingress"],
  [
    "all egress rules log",
    "only-log-rules",
    [gnp("p", { egress: [{ action: "Log" }, { action: "Log", protocol: "TCP" }] })],
    "spec.egress",
  ],
  ["one more rule decides", "only-log-rules", [np("p", { ingress: [{ action: "Log" }, allow] })], undefined],
  ["there are no rules", "only-log-rules", [np("p", { types: ["Ingress"] })], undefined],

  ["a rule denies and none lets go", "tier-end-denies-rest", [gnp("p", { ingress: [denyTcp] })], "spec.ingress"],
  [
    "another policy lets go, of other pods",
    "tier-end-denies-rest",
    [...PODS, gnp("p", { selector: web, egress: [denyTcp] }), gnp("q", { selector: "app == 'db'", egress: [allow] })],
    "spec.egress",
  ],
  ["an Allow ends it", "tier-end-denies-rest", [gnp("p", { ingress: [denyTcp, allow] })], undefined],
  ["a Pass ends it", "tier-end-denies-rest", [gnp("p", { ingress: [denyTcp, { action: "Pass" }] })], undefined],
  [
    "it denies everything, and says so",
    "tier-end-denies-rest",
    [gnp("p", { ingress: [{ action: "Deny" }] })],
    undefined,
  ],
  ["it has no rules", "tier-end-denies-rest", [gnp("p", { types: ["Ingress", "Egress"] })], undefined],
  [
    "the tier passes at its end",
    "tier-end-denies-rest",
    [tier("t", "Pass"), gnp("t.p", { tier: "t", ingress: [denyTcp] })],
    undefined,
  ],
  [
    "a later policy lets go of the same pods",
    "tier-end-denies-rest",
    [...PODS, gnp("p", { selector: web, order: 1, egress: [denyTcp] }), np("q", { order: 2, egress: [allow] })],
    undefined,
  ],
  [
    "a policy of Kubernetes lets go of the same pods",
    "tier-end-denies-rest",
    [...PODS, gnp("p", { selector: web, ingress: [denyTcp] }), knp({ podSelector: {}, ingress: [{}] })],
    undefined,
  ],

  [
    "the same selector, after one that allows everything",
    "shadowed-policy",
    [
      np("b", { order: 1, selector: web, ingress: [allow] }),
      np("a", { order: 2, selector: web, ingress: [denyTcp, allow] }),
    ],
    "spec.order",
  ],
  [
    "a global one denies everything before it",
    "shadowed-policy",
    [gnp("b", { order: 1, selector: "all()", ingress: [{ action: "Deny" }] }), np("a", { order: 2, ingress: [allow] })],
    "spec.order",
  ],
  [
    "one for all of its pods and more passes everything",
    "shadowed-policy",
    [
      ...PODS,
      np("b", { order: 1, selector: "has(app)", ingress: [{ action: "Pass" }] }),
      np("a", { selector: web, ingress: [allow] }),
    ],
    "spec.order",
  ],
  [
    "a policy of Kubernetes after a global one",
    "shadowed-policy",
    [gnp("b", { order: 1, ingress: [allow] }), knp({ podSelector: {}, ingress: [{}] })],
    "spec",
  ],
  [
    "it comes first",
    "shadowed-policy",
    [np("b", { order: 3, ingress: [allow] }), np("a", { order: 2, ingress: [{ ...allow, protocol: "TCP" }] })],
    undefined,
  ],
  [
    "the one before has conditions",
    "shadowed-policy",
    [np("b", { order: 1, ingress: [{ ...allow, protocol: "TCP" }] }), np("a", { order: 2, ingress: [allow] })],
    undefined,
  ],
  [
    "the one before is about the other direction",
    "shadowed-policy",
    [np("b", { order: 1, egress: [allow] }), np("a", { order: 2, ingress: [allow] })],
    undefined,
  ],
  [
    "one of its directions is still looked at",
    "shadowed-policy",
    [np("b", { order: 1, ingress: [allow] }), np("a", { order: 2, ingress: [allow], egress: [allow] })],
    undefined,
  ],
  [
    "the one before is for some of its pods",
    "shadowed-policy",
    [...PODS, np("b", { order: 1, selector: web, ingress: [allow] }), np("a", { order: 2, ingress: [allow] })],
    undefined,
  ],
  [
    "they are in different tiers",
    "shadowed-policy",
    [
      tier("t", "Pass"),
      gnp("t.b", { tier: "t", order: 1, ingress: [{ action: "Pass" }] }),
      gnp("a", { order: 2, ingress: [allow] }),
    ],
    undefined,
  ],
  [
    "policies of Kubernetes add up",
    "shadowed-policy",
    [knp({ podSelector: {}, ingress: [{}] }, "a"), knp({ podSelector: {}, ingress: [{}] }, "b")],
    undefined,
  ],
  [
    "the one before is staged",
    "shadowed-policy",
    [
      { ...np("b", { order: 1, ingress: [allow] }), kind: "StagedNetworkPolicy" },
      np("a", { order: 2, ingress: [allow] }),
    ],
    undefined,
  ],

  [
    "a rule after one for everything",
    "unreachable-rule",
    [np("p", { ingress: [denyTcp, allow, denyTcp] })],
    "spec.ingress[2]",
  ],
  ["the one for everything is the last", "unreachable-rule", [np("p", { ingress: [denyTcp, allow] })], undefined],
  [
    "the one for everything only logs",
    "unreachable-rule",
    [np("p", { ingress: [{ action: "Log" }, allow] })],
    undefined,
  ],

  [
    "no pod has the name",
    "unknown-port-name",
    [...PODS, np("p", { ingress: [{ ...allow, protocol: "TCP", destination: { ports: [80, "htpp"] } }] })],
    "spec.ingress[0].destination.ports[1]",
  ],
  [
    "the name is of another protocol",
    "unknown-port-name",
    [...PODS, knp({ podSelector: {}, ingress: [{ ports: [{ protocol: "UDP", port: "http" }] }] })],
    "spec.ingress[0].ports[0].port",
  ],
  [
    "only a pod on the host's network has it",
    "unknown-port-name",
    [
      SHOP,
      WEB,
      pod(
        "agent",
        {},
        { hostNetwork: true, containers: [{ name: "c", ports: [{ name: "metrics", containerPort: 1 }] }] },
      ),
      knp({ podSelector: {}, ingress: [{ ports: [{ port: "metrics" }] }] }),
    ],
    "spec.ingress[0].ports[0].port",
  ],
  [
    "a pod has it",
    "unknown-port-name",
    [...PODS, knp({ podSelector: {}, ingress: [{ ports: [{ port: "http" }, { port: 81 }] }] })],
    undefined,
  ],
  [
    "a range is no name",
    "unknown-port-name",
    [...PODS, np("p", { ingress: [{ ...allow, protocol: "TCP", destination: { ports: ["1:5"] } }] })],
    undefined,
  ],
  [
    "there are no pods",
    "unknown-port-name",
    [knp({ podSelector: {}, ingress: [{ ports: [{ port: "htpp" }] }] })],
    undefined,
  ],

  [
    "Egress is a type and has no rules",
    "type-without-rules",
    [np("p", { types: ["Ingress", "Egress"], ingress: [allow] })],
    "spec.types",
  ],
  [
    "the same of a policy of Kubernetes",
    "type-without-rules",
    [knp({ podSelector: {}, policyTypes: ["Ingress", "Egress"], egress: [{}] })],
    "spec.policyTypes",
  ],
  [
    "no rules at all deny everything",
    "type-without-rules",
    [np("p", { types: ["Ingress", "Egress"] }), knp({ podSelector: {}, policyTypes: ["Ingress"] })],
    undefined,
  ],
  [
    "each type has rules",
    "type-without-rules",
    [np("p", { types: ["Ingress", "Egress"], ingress: [allow], egress: [allow] })],
    undefined,
  ],
  ["types are left to the rules", "type-without-rules", [np("p", { ingress: [allow] })], undefined],

  [
    "egress rules, and only Ingress is a type",
    "rules-without-type",
    [np("p", { types: ["Ingress"], ingress: [allow], egress: [allow] })],
    "spec.egress",
  ],
  [
    "the same of a policy of Kubernetes",
    "rules-without-type",
    [knp({ podSelector: {}, policyTypes: ["Egress"], ingress: [{}], egress: [{}] })],
    "spec.ingress",
  ],
  ["rules and types agree", "rules-without-type", [np("p", { types: ["Egress"], egress: [allow] })], undefined],

  [
    "the tier is not there",
    "missing-tier",
    [tier("security", "Deny"), gnp("secruity.p", { tier: "secruity", ingress: [allow] })],
    "spec.tier",
  ],
  [
    "the tier is there",
    "missing-tier",
    [tier("security", "Deny"), gnp("security.p", { tier: "security", ingress: [allow] })],
    undefined,
  ],
  ["tiers are elsewhere", "missing-tier", [gnp("security.p", { tier: "security", ingress: [allow] })], undefined],
  [
    "an action is in lower case",
    "word-in-other-case",
    [np("p", { ingress: [denyTcp, { action: "allow" }] })],
    "spec.ingress[1].action",
  ],
  [
    "a type is in upper case",
    "word-in-other-case",
    [gnp("p", { types: ["Egress", "INGRESS"], ingress: [allow], egress: [allow] })],
    "spec.types[1]",
  ],
  [
    "a profile has an action in lower case",
    "word-in-other-case",
    [{ apiVersion: V3, kind: "Profile", metadata: { name: "p" }, spec: { egress: [{ action: "deny" }] } }],
    "spec.egress[0].action",
  ],
  [
    "all is written as the API has it",
    "word-in-other-case",
    [np("p", { types: ["Ingress"], ingress: [allow] })],
    undefined,
  ],
];
