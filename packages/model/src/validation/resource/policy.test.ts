import { describeRows, type Row } from "./describe-rows.ts";
import { made } from "./made.ts";

function gnp(spec: object, ...paths: string[]): Row {
  return [made("GlobalNetworkPolicy", spec), ...paths.map((path) => `spec.${path}`)];
}

function staged(spec: object, ...paths: string[]): Row {
  return [made("StagedNetworkPolicy", spec), ...paths.map((path) => `spec.${path}`)];
}

/** Longer than the value of a label may be. */
const LONG_ACCOUNT = `${"a".repeat(60)}.${"b".repeat(60)}`;

describeRows("policies", [
  gnp({ tier: "platform", order: 10.5, selector: "has(a)", types: ["Ingress", "Egress"], ingress: [], egress: [] }),
  gnp({ tier: "a.b" }, "tier"),
  gnp({ order: null }),
  gnp({ order: "10" }, "order"),
  gnp({ selector: "a = 'b'" }, "selector"),
  gnp({ selector: "global()" }, "selector"),
  gnp({ selector: `has(a)${" && has(a)".repeat(8000)}` }, "selector"),
  gnp({ serviceAccountSelector: "(" }, "serviceAccountSelector"),
  gnp({ namespaceSelector: "all()" }),
  gnp({ namespaceSelector: "global()" }, "namespaceSelector"),
  gnp({ types: ["Ingress", "Ingress"] }, "types[1]"),
  gnp({ types: ["ingress"] }, "types[0]"),
  gnp({ types: "Ingress" }, "types"),
  gnp({ performanceHints: ["AssumeNeededOnEveryNode"] }),
  gnp({ performanceHints: ["AssumeNeededOnEveryNode", "AssumeNeededOnEveryNode"] }, "performanceHints[1]"),
  gnp({ performanceHints: ["Fast"] }, "performanceHints[0]"),
  gnp({ doNotTrack: true, applyOnForward: true }),
  gnp({ doNotTrack: true }, "applyOnForward"),
  gnp({ preDNAT: true, applyOnForward: true, types: ["Ingress"], ingress: [{ action: "Deny" }] }),
  gnp({ preDNAT: true, applyOnForward: false }, "applyOnForward"),
  gnp({ preDNAT: true, doNotTrack: true, applyOnForward: true }, "preDNAT"),
  gnp({ preDNAT: true, applyOnForward: true, egress: [{ action: "Deny" }] }, "egress"),
  gnp({ preDNAT: true, applyOnForward: true, types: ["Egress"] }, "types"),
  gnp({ doNotTrack: "yes" }, "doNotTrack"),
  [made("NetworkPolicy", { applyOnForward: true }), "spec.applyOnForward"],
  [made("NetworkPolicy", { namespaceSelector: "all()" }), "spec.namespaceSelector"],
  [made("NetworkPolicy", { stagedAction: "Set" }), "spec.stagedAction"],
]);

describeRows("staged policies", [
  staged({ selector: "has(a)" }),
  ...["Set", "Learn", "Ignore", ""].map((stagedAction) => staged({ stagedAction, selector: "has(a)" })),
  staged({ stagedAction: "Remove" }, "stagedAction"),
  staged({ stagedAction: "Delete" }),
  staged({ stagedAction: "Delete", tier: "platform" }),
  staged({ stagedAction: "Delete", selector: "", ingress: [], order: null }),
  staged({ stagedAction: "Delete", selector: "has(a)" }, "selector"),
  staged({ stagedAction: "Delete", ingress: [{ action: "Deny" }], order: 5 }, "ingress", "order"),
  [made("StagedGlobalNetworkPolicy", { stagedAction: "Delete", preDNAT: false })],
  [made("StagedKubernetesNetworkPolicy", { stagedAction: "Delete", podSelector: {} })],
  [
    made("StagedKubernetesNetworkPolicy", { stagedAction: "Delete", podSelector: { matchLabels: { a: "b" } } }),
    "spec.podSelector",
  ],
]);

describeRows("tiers, sets and profiles", [
  [made("Tier", { order: 100, defaultAction: "Pass" })],
  [made("Tier", { order: "first" }), "spec.order"],
  [made("Tier", { defaultAction: "Allow" }), "spec.defaultAction"],
  ...(
    [
      ["default", 1_000_000, "Deny"],
      ["kube-admin", 1000, "Pass"],
      ["kube-baseline", 10_000_000, "Pass"],
    ] as const
  ).flatMap(([name, order, defaultAction]): Row[] => [
    [made("Tier", { order, defaultAction }, { metadata: { name } })],
    [made("Tier", {}, { metadata: { name } })],
    [made("Tier", { order: 5 }, { metadata: { name } }), "spec.order"],
    [
      made("Tier", { defaultAction: defaultAction === "Deny" ? "Pass" : "Deny" }, { metadata: { name } }),
      "spec.defaultAction",
    ],
  ]),
  [made("NetworkSet", { nets: ["10.0.0.1/8", "10.0.0.1", "fd00::/8"] })],
  [made("GlobalNetworkSet", { nets: ["10.0.0.0/33"] }), "spec.nets[0]"],
  [made("GlobalNetworkSet", { domains: ["example.com"] }), "spec.domains"],
  [
    made("NetworkSet", {}, { metadata: { name: "a", labels: { "projectcalico.org/namespace": "b" } } }),
    "metadata.labels[projectcalico.org/namespace]",
  ],
  [made("Profile", { ingress: [{ action: "Allow" }], labelsToApply: { "pcns.a/b": "v" } })],
  [made("Profile", { egress: [{ action: "Allow", source: { nets: ["x"] } }] }), "spec.egress[0].source.nets[0]"],
  [made("Profile", { labelsToApply: { a: "not a value" } }), "spec.labelsToApply[a]"],
  [made("Profile", { labelsToApply: { a: LONG_ACCOUNT } }), "spec.labelsToApply[a]"],
  // The name of a service account may be a whole DNS name.
  [made("Profile", { labelsToApply: { "pcsa.projectcalico.org/name": LONG_ACCOUNT } })],
  [
    made("Profile", { labelsToApply: { "pcsa.projectcalico.org/name": `${LONG_ACCOUNT}.` } }),
    "spec.labelsToApply[pcsa.projectcalico.org/name]",
  ],
  [made("ClusterInformation", { clusterGUID: "x", datastoreReady: true })],
  [made("ClusterInformation", { datastoreReady: "true" }), "spec.datastoreReady"],
]);
