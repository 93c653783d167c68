import assert from "node:assert/strict";
import { test } from "node:test";
import { formatProblem, type Problem } from "../problem.ts";
import { type ParsedManifest, parseManifest } from "./parse.ts";

function summary({ resources, problems }: ParsedManifest): { resources: string[]; problems: string[] } {
  return {
    resources: resources.map(
      ({ resource: { kind, metadata }, source }) =>
        `${kind} ${metadata.namespace ?? "-"}/${metadata.name} ${source.document}:${source.line}`,
    ),
    problems: problems.map((problem) => `${problem.severity} ${formatProblem(problem)}`),
  };
}

function parse(text: string): { resources: string[]; problems: string[] } {
  return summary(parseManifest(text, "f.yaml"));
}

const TIER = "apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata:\n  name: t\n";
const NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n";

test("parseManifest() reads several documents, Calico's and Kubernetes' mixed", () => {
  assert.deepEqual(parse(`# all\n---\n${TIER}---\n---\n${NAMESPACE}---\n`), {
    resources: ["Tier -/t 1:3", "Namespace -/shop 3:9"],
    problems: [],
  });
});

test("parseManifest() reads JSON, also after a byte order mark", () => {
  const json = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  assert.deepEqual(parse(`\uFEFF ${json}`).resources, ["Namespace -/shop 1:1"]);
  assert.deepEqual(parse(json.slice(0, -1)).resources, []);
  assert.match(parse(json.slice(0, -1)).problems[0] ?? "", /^error f\.yaml:1: Cannot read this document/);
});

test("parseManifest() takes the entries of lists, each with its line", () => {
  const list = `apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: a}
- apiVersion: projectcalico.org/v3
  kind: TierList
  items:
  - metadata: {name: b}
`;
  assert.deepEqual(parse(list), { resources: ["Namespace -/a 1:4", "Tier -/b 1:10"], problems: [] });
  const pods = { apiVersion: "v1", kind: "PodList", items: [{ metadata: { name: "p" } }] };
  assert.deepEqual(parse(JSON.stringify(pods)).resources, ["Pod default/p 1:1"]);
  assert.deepEqual(parse('{"apiVersion":"v1","kind":"List","items":null}'), { resources: [], problems: [] });
});

test("parseManifest() applies the defaults of an API server", () => {
  const { resources } = parseManifest(
    "apiVersion: projectcalico.org/v3\nkind: NetworkPolicy\nmetadata: {name: p}\nspec: {egress: [{action: Allow}]}\n",
    "f",
  );
  assert.deepEqual(resources[0]?.resource, {
    apiVersion: "projectcalico.org/v3",
    kind: "NetworkPolicy",
    metadata: { name: "p", namespace: "default" },
    spec: { egress: [{ action: "Allow" }], tier: "default", types: ["Egress"] },
  });
});

test("parseManifest() reads what a CRD of v1 stores", () => {
  const { resources } = parseManifest(
    `apiVersion: crd.projectcalico.org/v1
kind: GlobalNetworkPolicy
metadata:
  name: default.g
  creationTimestamp: null
  labels: {x: y}
  annotations: {projectcalico.org/metadata: '{"labels":{"a":"b"}}', k: v}
spec: null
`,
    "f",
  );
  assert.deepEqual(resources[0]?.resource, {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name: "g", labels: { x: "y", a: "b" }, annotations: { k: "v" } },
    spec: { tier: "default", types: ["Ingress"] },
  });
});

const BAD: readonly (readonly [what: string, text: string, want: RegExp])[] = [
  ["YAML that is none", "a: [\n", /^error f\.yaml:\d: Cannot read this document: Flow sequence/],
  ["a key given twice", `${TIER}kind: Tier\n`, /^error f\.yaml:5: Cannot read this document: Map keys must be unique/],
  ["a document that is no object", "- 1\n", /^error f\.yaml:1: Expected an object, found \[1\]/],
  ["no apiVersion", "kind: Tier\n", /^error f\.yaml:1: Tier: apiVersion: Expected a group and version, found nothing/],
  ["no kind", "apiVersion: v1\n", /^error f\.yaml:1: kind: Expected the name of a kind/],
  ["no metadata", "apiVersion: v1\nkind: Pod\n", /^error f\.yaml:1: Pod: metadata: Expected an object/],
  [
    "a kind of ours that is misspelt",
    TIER.replace("kind: Tier", "kind: Teir"),
    /^error f\.yaml:2: Teir t: kind: Unknown kind "Teir" of projectcalico\.org\/v3$/,
  ],
  [
    "an unknown version",
    TIER.replace("/v3", "/v4"),
    /^error f\.yaml:2: Tier t: kind: Unknown kind "Tier" of projectcalico\.org\/v4$/,
  ],
  [
    "somebody else's kind",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
    /^warning f\.yaml:2: Deployment d: kind: Unknown kind "Deployment" of apps\/v1; ignored$/,
  ],
  [
    "a name in capitals",
    TIER.replace("name: t", "name: tHiNg"),
    /^error f\.yaml:4: Tier tHiNg: metadata\.name: Expected/,
  ],
  [
    "a namespace that breaks out of its quotes",
    'apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: "a\' || all()"}\n',
    /metadata\.namespace: Expected up to 63/,
  ],
  [
    "a label that is no string",
    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: n\n  labels:\n    version: 1\n",
    /^error f\.yaml:6: Namespace n: metadata\.labels\.version: Expected a string, found 1; quote it$/,
  ],
];

for (const [what, text, want] of BAD) {
  test(`parseManifest() names ${what}, and reads the document beside it`, () => {
    const { problems } = parse(text);
    assert.equal(problems.length, 1, problems.join("\n"));
    assert.match(problems[0] ?? "", want);
    const both = parse(`${text}---\n${NAMESPACE}`);
    assert.deepEqual(
      both.resources.map((line) => line.split(" ").slice(0, 2).join(" ")),
      ["Namespace -/shop"],
    );
    assert.equal(both.problems.length, 1);
  });
}

test("parseManifest() says which document it was", () => {
  assert.match(parse(`${NAMESPACE}---\nkind: Tier\n`).problems[0] ?? "", /^error f\.yaml:5 \(document 2\): Tier/);
});

test("parseManifest() refuses aliases that blow up", () => {
  let bomb = "a0: &a0 [x]\n";
  for (let i = 1; i < 30; i++) bomb += `a${i}: &a${i} [*a${i - 1}, *a${i - 1}, *a${i - 1}]\n`;
  assert.match(parse(bomb).problems[0] ?? "", /Cannot read this document: Excessive alias count/);
});

test("parseManifest() takes hostile keys as data", () => {
  const text = '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"__proto__":"x"}}}';
  const { resources } = parseManifest(text, "f");
  assert.ok(Object.hasOwn(resources[0]?.resource.metadata.labels ?? {}, "__proto__"));
  assert.equal(({} as Record<string, unknown>)["x"], undefined);
});

test("parseManifest() keeps a policy or tier of which only labels are wrong, without them, and names them", () => {
  const rows: readonly [kind: string, metadata: string, problem: RegExp][] = [
    ["NetworkPolicy", "{name: a, labels: {prod: true, x: y}}", /metadata\.labels\.prod: Expected a string, found true/],
    ["GlobalNetworkPolicy", "{name: a, labels: [x], annotations: {n: 1}}", /metadata\.labels: Expected an object/],
    ["Tier", "{name: a, annotations: {n: 1}}", /metadata\.annotations\.n: Expected a string, found 1/],
  ];
  for (const [kind, metadata, problem] of rows) {
    const text = `apiVersion: projectcalico.org/v3\nkind: ${kind}\nmetadata: ${metadata}\n`;
    const parsed = parseManifest(text, "f.yaml");
    assert.match(formatProblem(parsed.problems[0] as Problem), problem);
    assert.equal(parsed.resources[0]?.resource.metadata.name, "a", kind);
    const { labels = {}, annotations = {} } = parsed.resources[0].resource.metadata;
    assert.deepEqual({ ...labels, ...annotations }, kind === "NetworkPolicy" ? { x: "y" } : {});
  }
  const bad = "apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: A, labels: {x: 1}}\n";
  assert.deepEqual(parseManifest(bad, "f.yaml").resources, []);
});

test("parseManifest() does not let an odd label hide what else is wrong", () => {
  const deep = `${"[".repeat(40)}${"]".repeat(40)}`;
  const object = (metadata: string, spec = "{}"): string =>
    `{"apiVersion":"projectcalico.org/v3","kind":"NetworkPolicy","metadata":{"name":"p",${metadata}},"spec":${spec}}`;
  for (const text of [
    object(`"namespace":[],"labels":{"a":${deep}}`),
    object(`"labels":{"a":${deep}}`, `{"selector":${deep}}`),
    object(`"labels":{"a":"b"}`, `{"labels":${deep}}`),
  ]) {
    const { resources, problems } = parse(text);
    assert.deepEqual(resources, []);
    assert.equal(problems.length, 1);
  }
  for (const metadata of [`"labels":{"a":${deep},"b":1},"annotations":{"c":${deep}}`, `"labels":${deep}`])
    assert.deepEqual(parse(object(metadata)).resources, ["NetworkPolicy default/p 1:1"]);
});

test("parseManifest() refuses what nests too deep, in JSON as in YAML, and names the field", () => {
  const deep = (levels: number): string => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const object = (spec: string): string =>
    `{"apiVersion": "projectcalico.org/v3", "kind": "BGPPeer", "metadata": {"name": "p"}, "spec": {"x": ${spec}}}`;
  assert.deepEqual(parse(object(deep(20))), { resources: ["BGPPeer -/p 1:1"], problems: [] });
  for (const levels of [40, 150]) {
    const { resources, problems } = parse(object(deep(levels)));
    assert.deepEqual(resources, []);
    assert.match(problems.join("\n"), /^error f\.yaml:1: BGPPeer p: spec\.x(\.0)+: Nested too deep$/);
  }
  for (const text of [
    object(deep(50_000)),
    `${'{"kind":"List","items":['.repeat(10_000)}${"]}".repeat(10_000)}`,
    `a: ${deep(5000)}`,
    `a: ${"[".repeat(5000)}`,
  ]) {
    const { resources, problems } = parse(text);
    assert.deepEqual(resources, []);
    assert.match(problems[0] ?? "", /^error f\.yaml:1: Cannot read this document: /);
  }
});

test("parseManifest() does not hold other people's kinds to the nesting of ours", () => {
  const schema = `${'{"properties":'.repeat(60)}1${"}".repeat(60)}`;
  const foreign = `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": ${schema}}`;
  assert.match(parse(foreign).problems.join("\n"), /^warning .*Unknown kind/);
});

test("parseManifest() refuses values that no JSON has", () => {
  for (const [value, found] of [
    ["!!binary aGVsbG8=", "Uint8Array|Buffer"],
    ["!!timestamp 2001-01-01", "Date"],
    ["!!set {a: null}", "Set"],
  ] as const) {
    const text = `%YAML 1.1\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: s\nspec:\n  odd: ${value}\n`;
    const { resources, problems } = parse(text);
    assert.deepEqual(resources, []);
    assert.match(problems.join("\n"), new RegExp(`^error f\\.yaml:8: Cannot .*found a (${found})$`));
  }
});

test("parseManifest() names the first problems of a file that is all wrong, and counts the rest", () => {
  const { problems } = parse("--- ]\n".repeat(500));
  assert.equal(problems.length, 50);
  assert.match(problems[0] ?? "", /^error f\.yaml:1: Cannot read/);
  assert.match(problems[49] ?? "", /^error f\.yaml:\d+.*: \d+ more problems$/);
});

test("parseManifest() takes a slip in the group of a known kind, or in a list, for an error and not for nothing", () => {
  for (const [text, problem] of [
    [
      TIER.replace("projectcalico.org/v3", "project-calico.org/v3"),
      /^error f\.yaml:2: Tier t: kind: Unknown kind "Tier"/,
    ],
    [TIER.replace("projectcalico.org/v3", "v3"), /^error f\.yaml:2: Tier t: kind: Unknown kind "Tier" of v3/],
    ["apiVersion: v1\nkind: List\nitmes: []\n", /^error f\.yaml:1: List: items: Expected a list, found nothing/],
    ["apiVersion: v1\nkind: List\nitems: {}\n", /^error f\.yaml:3: List: items: Expected a list, found \{\}/],
    ["apiVersion: v1\nkind: PodList\nitem: []\n", /^error f\.yaml:1: PodList: items: Expected a list/],
    ["apiVersion: v1\nkind: SecretList\nitem: []\n", /^warning .*Unknown kind "SecretList"/],
  ] as const) {
    const { resources, problems } = parse(text);
    assert.deepEqual(resources, []);
    assert.match(problems.join("\n"), problem);
  }
});

test("parseManifest() names the objects of an old calicoctl, and does not take them for anything else", () => {
  for (const kind of ["policy", "profile", "hostEndpoint", "workloadEndpoint", "ipPool", "bgpPeer", "node"]) {
    const { resources, problems } = parse(`apiVersion: v1\nkind: ${kind}\nmetadata: {name: a}\nspec: {}\n`);
    assert.deepEqual(resources, []);
    assert.match(problems.join("\n"), /^error f\.yaml:2: \w+ a: kind: "\w+" is of Calico's v1 API.*calicoctl convert/);
  }
  assert.match(
    parse("apiVersion: v1\nkind: Policy\nmetadata: {name: a}\n").problems.join("\n"),
    /^warning .*Unknown kind/,
  );
});
