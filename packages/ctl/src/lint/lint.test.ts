import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { convertResources, loadManifests } from "@bulrush/datastore";
import { validateResource } from "@bulrush/model";
import { lint } from "./lint.ts";
import { WARNING_CODES, type WarningCode } from "./warning.ts";

const V3 = "projectcalico.org/v3";

/** "code field" of each warning. */
async function warningsOf(objects: readonly object[]): Promise<string[]> {
  const text = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
  const stdin = (async function* () {
    await Promise.resolve();
    yield Buffer.from(text);
  })();
  const { resources, problems } = await loadManifests("-", { stdin });
  assert.deepEqual(problems, []);
  for (const { resource } of resources) assert.deepEqual(validateResource(resource), [], JSON.stringify(resource));
  const warnings = lint(resources, convertResources(resources).updates);
  for (const { message } of warnings) assert.match(message, /^\S.*[^.]$/);
  return warnings.map(({ code, field }) => `${code} ${field}`);
}

function gnp(name: string, spec: object): object {
  return { apiVersion: V3, kind: "GlobalNetworkPolicy", metadata: { name }, spec };
}

function np(name: string, spec: object, namespace = "shop"): object {
  return { apiVersion: V3, kind: "NetworkPolicy", metadata: { name, namespace }, spec };
}

function knp(spec: object, name = "k"): object {
  return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name, namespace: "shop" }, spec };
}

function cnp(spec: object): object {
  const kind = "ClusterNetworkPolicy";
  return { apiVersion: "policy.networking.k8s.io/v1alpha2", kind, metadata: { name: "c" }, spec };
}

function tier(name: string, defaultAction: string): object {
  return { apiVersion: V3, kind: "Tier", metadata: { name }, spec: { order: 5, defaultAction } };
}

function pool(name: string, cidr: string): object {
  return { apiVersion: V3, kind: "IPPool", metadata: { name }, spec: { cidr } };
}

function set(nets: string[], labels: object = {}): object {
  return { apiVersion: V3, kind: "GlobalNetworkSet", metadata: { name: "set", labels }, spec: { nets } };
}

const SHOP = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", labels: { team: "shop" } } };

function pod(name: string, labels: object, spec: object = {}): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "shop", labels },
    spec: { containers: [{ name: "c", ports: [{ name: "http", containerPort: 80 }] }], ...spec },
  };
}

const WEB = pod("web", { app: "web" });
const DB = pod("db", { app: "db" });
const AGENT = pod("agent", { app: "agent" }, { hostNetwork: true });
const PODS = [SHOP, WEB, DB, AGENT];

const allow = { action: "Allow" };
const denyTcp = { action: "Deny", protocol: "TCP" };
const web = "app == 'web'";

type Row = readonly [title: string, code: WarningCode, objects: readonly object[], field: string | undefined];

const rows: readonly Row[] = [
  // A field of undefined: the near miss, of which nothing is said.
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

  ["a set has a network with host bits", "unmasked-network", [set(["10.0.0.0/8", "10.1.2.3/16"])], "spec.nets[1]"],
  [
    "a block of Kubernetes has host bits",
    "unmasked-network",
    [knp({ podSelector: {}, policyTypes: ["Egress"], egress: [{ to: [{ ipBlock: { cidr: "10.1.2.3/16" } }] }] })],
    "spec.egress[0].to[0].ipBlock.cidr",
  ],
  [
    "an except has host bits",
    "unmasked-network",
    [
      knp({
        podSelector: {},
        policyTypes: ["Egress"],
        egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.2.3/16"] } }] }],
      }),
    ],
    "spec.egress[0].to[0].ipBlock.except[0]",
  ],
  [
    "networks are masked, addresses whole",
    "unmasked-network",
    [set(["10.1.0.0/16", "10.1.2.3/32", "10.1.2.3", "fd00::1"])],
    undefined,
  ],

  ["0.0.0.0/24", "zero-address-network", [set(["0.0.0.0/24"])], "spec.nets[0]"],
  [
    "0.0.0.0/16 in a rule",
    "zero-address-network",
    [np("p", { egress: [{ ...allow, destination: { nets: ["0.0.0.0/16"] } }] })],
    "spec.egress[0].destination.nets[0]",
  ],
  ["::/48", "zero-address-network", [set(["::/48"])], "spec.nets[0]"],
  [
    "everything, halves and what is reserved",
    "zero-address-network",
    [set(["0.0.0.0/0", "0.0.0.0/1", "0.0.0.0/8", "0.0.0.0/32", "::/0", "::/1", "::/128", "0.0.1.0/24"])],
    undefined,
  ],

  [
    "what is excepted is elsewhere",
    "except-outside",
    [
      np("p", {
        egress: [{ ...allow, destination: { nets: ["10.0.0.0/8"], notNets: ["10.1.0.0/16", "192.168.0.0/16"] } }],
      }),
    ],
    "spec.egress[0].destination.notNets[1]",
  ],
  [
    "what is excepted is inside",
    "except-outside",
    [
      np("p", {
        egress: [{ ...allow, destination: { nets: ["10.0.0.0/8", "192.168.0.0/16"], notNets: ["192.168.1.0/24"] } }],
      }),
    ],
    undefined,
  ],
  [
    "nothing else narrows it",
    "except-outside",
    [np("p", { egress: [{ ...allow, destination: { notNets: ["10.0.0.0/8"] } }] })],
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

  ["a pool is part of another", "overlapping-pools", [pool("b", "10.1.0.0/16"), pool("a", "10.0.0.0/8")], "spec.cidr"],
  ["two pools are one", "overlapping-pools", [pool("a", "fd00::/48"), pool("b", "fd00::/48")], "spec.cidr"],
  [
    "pools lie beside one another",
    "overlapping-pools",
    [pool("a", "10.0.0.0/16"), pool("b", "10.1.0.0/16"), pool("c", "fd00::/48"), pool("d", "0.0.0.0/26")],
    undefined,
  ],
];

for (const [title, code, objects, field] of rows) {
  test(`lint() ${field === undefined ? "says nothing of" : "says"} ${code}, when ${title}`, async () => {
    const found = await warningsOf(objects);
    if (field === undefined)
      assert.deepEqual(
        found.filter((one) => one.startsWith(`${code} `)),
        [],
      );
    else assert.deepEqual(found, [`${code} ${field}`]);
  });
}

test("every code has a case that it is for and one that it is not for", () => {
  for (const wanted of WARNING_CODES) {
    const own = rows.filter(([, code]) => code === wanted);
    assert.ok(
      own.some(([, , , field]) => field !== undefined) && own.some(([, , , field]) => field === undefined),
      wanted,
    );
  }
});

test("WARNING_CODES is the list of the README", () => {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const table = readme.slice(readme.indexOf("## Warnings"));
  const listed = [...table.matchAll(/^\| `([a-z-]+)` \|/gm)].map((match) => match[1]);
  assert.deepEqual(listed, [...WARNING_CODES]);
});

test("lint() says nothing about namespaces that are not among the resources", async () => {
  const selector = { namespaceSelector: "team == 'x'", ingress: [allow] };
  assert.deepEqual(await warningsOf([WEB, gnp("p", selector)].slice(1)), []);
  const stray = { ...WEB, metadata: { name: "web", namespace: "stray", labels: { app: "web" } } };
  assert.deepEqual(await warningsOf([stray, gnp("p", selector)]), []);
});
