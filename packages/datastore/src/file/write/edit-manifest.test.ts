import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import fc from "fast-check";
import { stringify } from "yaml";
import type { ResourceId } from "../../driver/writer.ts";
import { parseManifest } from "../../manifest/parse.ts";
import { removeFromManifest, renderManifest, replaceInManifest } from "./edit-manifest.ts";

const V3 = "projectcalico.org/v3";

function tierId(name: string): ResourceId {
  return { apiVersion: V3, kind: "Tier", namespace: "", name };
}

function tier(name: string, spec: object): Resource {
  return { apiVersion: V3, kind: "Tier", metadata: { name }, spec };
}

const FIRST = "# our tiers\napiVersion: projectcalico.org/v3   # as served\nkind: Tier\nmetadata: {name: a}\n";

const replaced: readonly [title: string, before: string, name: string, spec: object, after: string][] = [
  [
    "keeps the comments of what does not change",
    "apiVersion: projectcalico.org/v3\nkind: Tier # kind\nmetadata:\n  name: a # name\nspec:\n  # why\n  order: 1 # old\n",
    "a",
    { order: 2 },
    "apiVersion: projectcalico.org/v3\nkind: Tier # kind\nmetadata:\n  name: a # name\nspec:\n  # why\n  order: 2 # old\n",
  ],
  [
    "leaves other documents alone, byte for byte",
    `${FIRST}spec:   {order:  0x10}\n---\n# b\n${stringify(tier("b", { order: 1 }))}--- # last\n${FIRST.replace("a}", "c}")}`,
    "b",
    { order: 2 },
    `${FIRST}spec:   {order:  0x10}\n---\n# b\n${stringify(tier("b", { order: 2 }))}--- # last\n${FIRST.replace("a}", "c}")}`,
  ],
  [
    "finds it in a list",
    "apiVersion: v1\nkind: List\nitems:\n# x\n- {apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: a}}\n- {apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: b}}\n",
    "b",
    {},
    "apiVersion: v1\nkind: List\nitems:\n  # x\n  - {apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: a}}\n  - {apiVersion: projectcalico.org/v3, kind: Tier, metadata: {name: b}, spec: {}}\n",
  ],
  [
    "writes JSON as it was indented",
    `${JSON.stringify(tier("a", { order: 1 }), undefined, 4)}\n`,
    "a",
    { order: 2 },
    `${JSON.stringify(tier("a", { order: 2 }), undefined, 4)}\n`,
  ],
  [
    "writes JSON on one line where it was",
    JSON.stringify({ apiVersion: "v1", kind: "List", items: [tier("a", {}), tier("b", {})] }),
    "b",
    { order: 2 },
    JSON.stringify({ apiVersion: "v1", kind: "List", items: [tier("a", {}), tier("b", { order: 2 })] }),
  ],
  [
    "keeps line ends",
    "apiVersion: projectcalico.org/v3\r\nkind: Tier\r\nmetadata:\r\n  name: a\r\nspec:\r\n  order: 1\r\n",
    "a",
    { order: 2 },
    "apiVersion: projectcalico.org/v3\r\nkind: Tier\r\nmetadata:\r\n  name: a\r\nspec:\r\n  order: 2\r\n",
  ],
  [
    "does not change what an alias stands for elsewhere",
    `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: ${V3}, kind: Tier, metadata: {name: a}, spec: &s {order: 1}}\n- {apiVersion: ${V3}, kind: Tier, metadata: {name: b}, spec: *s}\n`,
    "a",
    { order: 2 },
    `apiVersion: v1\nkind: List\nitems:\n${[2, 1].map((order, i) => `- apiVersion: ${V3}\n  kind: Tier\n  metadata:\n    name: ${"ab"[i]}\n  spec:\n    order: ${order}\n`).join("")}`,
  ],
];
for (const [title, before, name, spec, after] of replaced) {
  test(`replaceInManifest() ${title}`, () => {
    assert.equal(replaceInManifest(before, tierId(name), tier(name, spec), "f.yaml"), after);
  });
}

test("replaceInManifest() replaces what readers could not read", () => {
  const text = `${FIRST}spec: {order: 1}\n`.replace("{name: a}", "{name: a, labels: {x: 1}}");
  const edited = replaceInManifest(text, tierId("a"), tier("a", { order: 2 }), "f.yaml");
  assert.deepEqual(parseManifest(edited, "").problems, []);
});

test("replaceInManifest() refuses what cannot be cut, and says so when the resource is gone", () => {
  const edit = (text: string) => (): string => replaceInManifest(text, tierId("b"), tier("b", {}), "f.yaml");
  assert.throws(edit(`%YAML 1.2\n---\n${FIRST}`), { code: "DATASTORE_NOT_SUPPORTED", message: /"f\.yaml"/ });
  assert.throws(edit(FIRST), { code: "DATASTORE_CONFLICT", message: /Tier b .*"f\.yaml"/ });
});

const removed: readonly [title: string, before: string, name: string, after: string | undefined][] = [
  ["leaves nothing of the last one", `# a\n${FIRST}`, "a", undefined],
  ["leaves nothing of the last JSON", JSON.stringify(tier("a", {})), "a", undefined],
  [
    "leaves nothing of the last list",
    JSON.stringify({ kind: "List", apiVersion: "v1", items: [tier("a", {})] }),
    "a",
    undefined,
  ],
  ["takes the document out", `${FIRST}---\n# b\n${FIRST.replace("a}", "b}")}`, "b", FIRST],
  ["takes the first document out", `${FIRST}---\n# b\n`.replace("# b", "kind: Other"), "a", "---\nkind: Other\n"],
  [
    "takes the entry out of a list",
    JSON.stringify({ kind: "List", apiVersion: "v1", items: [tier("a", {}), tier("b", {})] }),
    "a",
    JSON.stringify({ kind: "List", apiVersion: "v1", items: [tier("b", {})] }),
  ],
];
for (const [title, before, name, after] of removed) {
  test(`removeFromManifest() ${title}`, () => {
    assert.equal(removeFromManifest(before, tierId(name), "f.yaml"), after);
  });
}

test("renderManifest() quotes what older YAML readers would take for something else", () => {
  const labels = { a: "yes", b: "1e3", c: "0o7", d: "12:30:45", e: "null", f: "~" };
  const text = renderManifest({ ...tier("no", {}), metadata: { name: "no", labels } });
  for (const value of ["no", ...Object.values(labels)]) assert.ok(text.includes(`"${value}"`), `${value} in ${text}`);
});

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
const scalar = fc.oneof(word, fc.integer(), fc.boolean(), fc.constantFrom("yes", "---", "# no", "a: b", "multi\nline"));
const spec = fc.dictionary(word, fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }), fc.dictionary(word, scalar)), {
  maxKeys: 4,
});

test("replaceInManifest() changes one resource and no other, whatever they hold", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(word, { minLength: 1, maxLength: 4 }),
      fc.array(spec, { minLength: 4, maxLength: 4 }),
      spec,
      fc.nat(),
      fc.boolean(),
      (names, specs, next, pick, isJson) => {
        const at = pick % names.length;
        const tiers = names.map((name, i) => tier(name, specs[i] ?? {}));
        const before = isJson
          ? JSON.stringify({ apiVersion: "v1", kind: "List", items: tiers })
          : tiers.map((one, i) => `# ${i}\n${stringify(one)}`).join("---\n");
        const wanted = tiers.with(at, tier(names[at] ?? "", next));
        const after = replaceInManifest(before, tierId(names[at] ?? ""), wanted[at] as Resource, "f");
        const read = (text: string): unknown[] => parseManifest(text, "f").resources.map(({ resource }) => resource);
        assert.deepEqual(read(after), read(JSON.stringify({ apiVersion: "v1", kind: "List", items: wanted })));
      },
    ),
  );
});
