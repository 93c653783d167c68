import { allow, cnp, gnp, knp, np, pod, PODS, set, SHOP, web, type LintRow, V3 } from "./manifests.ts";

/** What selectors pick. */
export const SELECTOR_ROWS: readonly LintRow[] = [
  [
    "a policy is for nobody",
    "selector-matches-nothing",
    [...PODS, np("p", { selector: "app == 'wbe'", ingress: [allow] })],
    "spec.selector",
  ],
  [
    "a policy is for pods of another namespace",
    "selector-matches-nothing",
    [...PODS, np("p", { selector: web }, "default")],
    "spec.selector",
  ],
  [
    "a namespace selector picks nothing",
    "selector-matches-nothing",
    [...PODS, gnp("p", { namespaceSelector: "team == 'ship'", ingress: [allow] })],
    "spec.namespaceSelector",
  ],
  [
    "a source picks nothing",
    "selector-matches-nothing",
    [...PODS, np("p", { selector: web, ingress: [{ ...allow, source: { selector: "app == 'dbb'" } }] })],
    "spec.ingress[0].source.selector",
  ],
  [
    "a podSelector picks nothing",
    "selector-matches-nothing",
    [...PODS, knp({ podSelector: { matchLabels: { app: "wbe" } } })],
    "spec.podSelector",
  ],
  [
    "a peer picks nothing",
    "selector-matches-nothing",
    [
      ...PODS,
      knp({
        podSelector: {},
        ingress: [
          {
            from: [
              { podSelector: { matchLabels: { app: "db" } } },
              { namespaceSelector: { matchLabels: { team: "x" } } },
            ],
          },
        ],
      }),
    ],
    "spec.ingress[0].from[1]",
  ],
  [
    "a peer of a cluster policy picks nothing",
    "selector-matches-nothing",
    [
      ...PODS,
      cnp({
        tier: "Admin",
        priority: 5,
        subject: { namespaces: {} },
        egress: [{ action: "Deny", to: [{ namespaces: { matchLabels: { team: "x" } } }] }],
      }),
    ],
    "spec.egress[0].to[0]",
  ],
  [
    "they pick pods",
    "selector-matches-nothing",
    [...PODS, np("p", { selector: web, ingress: [{ ...allow, source: { selector: "app == 'db'" } }] })],
    undefined,
  ],
  ["there are no pods at all", "selector-matches-nothing", [np("p", { selector: "app == 'wbe'" })], undefined],
  [
    "a source picks a network set",
    "selector-matches-nothing",
    [
      ...PODS,
      set(["10.0.0.0/8"], { zone: "out" }),
      gnp("p", { selector: web, ingress: [{ ...allow, source: { selector: "zone == 'out'" } }] }),
    ],
    undefined,
  ],
  [
    "the pod is not scheduled yet",
    "selector-matches-nothing",
    [SHOP, pod("new", { app: "new" }), np("p", { selector: "app == 'new'" })],
    undefined,
  ],
  [
    "it picks what it excludes",
    "selector-matches-nothing",
    [...PODS, np("p", { selector: "app != 'wbe'" })],
    undefined,
  ],
  ["the policy is for everything", "selector-matches-nothing", [...PODS, np("p", {}, "default")], undefined],
  [
    "a host endpoint is picked",
    "selector-matches-nothing",
    [
      {
        apiVersion: V3,
        kind: "HostEndpoint",
        metadata: { name: "h", labels: { role: "host" } },
        spec: { node: "n", interfaceName: "*" },
      },
      gnp("p", { selector: "role == 'host'", ingress: [allow] }),
    ],
    undefined,
  ],

  [
    "only the pod on the host's network is picked",
    "selector-matches-host-network-only",
    [...PODS, np("p", { selector: "app == 'agent'" })],
    "spec.selector",
  ],
  [
    "a source is only on the host's network",
    "selector-matches-host-network-only",
    [...PODS, np("p", { ingress: [{ ...allow, source: { selector: "app == 'agent'" } }] })],
    "spec.ingress[0].source.selector",
  ],
  [
    "others are picked too",
    "selector-matches-host-network-only",
    [...PODS, np("p", { selector: "app in {'agent', 'web'}" })],
    undefined,
  ],

  [
    "an ingress rule selects at its destination",
    "selector-on-own-side",
    [np("p", { selector: web, ingress: [{ ...allow, destination: { selector: "app == 'client'" } }] })],
    "spec.ingress[0].destination.selector",
  ],
  [
    "an egress rule selects at its source",
    "selector-on-own-side",
    [...PODS, np("p", { selector: web, egress: [{ ...allow, source: { selector: "app == 'db'" } }] })],
    "spec.egress[0].source.selector",
  ],
  [
    "the source is said too",
    "selector-on-own-side",
    [
      np("p", {
        selector: web,
        ingress: [{ ...allow, source: { nets: ["10.0.0.0/8"] }, destination: { selector: web } }],
      }),
    ],
    undefined,
  ],
  [
    "it picks some of the policy's own pods",
    "selector-on-own-side",
    [...PODS, np("p", { ingress: [{ ...allow, protocol: "TCP", destination: { selector: web } }] })],
    undefined,
  ],
  [
    "only the port is said",
    "selector-on-own-side",
    [np("p", { ingress: [{ ...allow, protocol: "TCP", destination: { ports: [80] } }] })],
    undefined,
  ],
  [
    "an egress rule selects at its destination",
    "selector-on-own-side",
    [np("p", { egress: [{ ...allow, destination: { selector: web } }] })],
    undefined,
  ],
];
