/**
 * Objects of every kind with anything in any place, through everything that reads them: nothing throws, and whatever
 * goes out is valid.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { formatKey, type Resource, validateResource, validateV1 } from "@bulrush/model";
import fc from "fast-check";
import { convertResources } from "./convert-resources.ts";
import type { ItemIssue } from "./driver/item-issue.ts";
import { DATASTORE_KINDS, type DatastoreKind } from "./driver/kind.ts";
import { withWriteDefaults } from "./driver/write-defaults.ts";
import { readItem } from "./etcd/read-item.ts";
import { keyOf } from "./etcd/key-layout.ts";
import { writeValue } from "./etcd/write-value.ts";
import { readObject } from "./kubernetes/driver/read-object.ts";
import { sourcesOf } from "./kubernetes/driver/source.ts";
import { parseManifest } from "./manifest/parse.ts";
import { toItem } from "./manifest/to-item.ts";
import { felixParametersOf } from "./process/config/parameters-of.ts";
import { processSafely } from "./process/processor.ts";
import { processorOf } from "./process/table.ts";

/** The long form tries other things each time; the short one always the same. */
const PARAMETERS = process.env["BULRUSH_LONG_TESTS"] === "1" ? { numRuns: 30_000 } : { numRuns: 400, seed: 1 };

const OBJECTS = JSON.parse(
  readFileSync(join(import.meta.dirname, "..", "testdata", "every-field.json"), "utf8"),
) as readonly Resource[];

/** Text, as a store has it: what JSON.parse makes of `__proto__` is a field like any other. */
const ODD = [
  "null",
  '""',
  '"\\u0000\'\\"\\n"',
  "[]",
  "[null]",
  "[[]]",
  "{}",
  "true",
  "false",
  "0",
  "-1",
  "1.5",
  "1e300",
  '"x y"',
  '"((("',
  '"10.0.0.0/33"',
  '"constructor"',
  '"__proto__"',
  '{"__proto__":{"a":1},"constructor":1,"length":5}',
  `"${"a".repeat(300)}"`,
  `${"[".repeat(40)}${"]".repeat(40)}`,
].map((text) => JSON.parse(text) as unknown);

type Place = readonly (string | number)[];

function placesIn(value: unknown, path: Place = []): Place[] {
  if (typeof value !== "object" || value === null) return [path];
  const below = Object.entries(value).flatMap(([name, part]) =>
    placesIn(part, [...path, Array.isArray(value) ? Number(name) : name]),
  );
  return [path, ...below];
}

function changed(value: unknown, [first, ...rest]: Place, part: unknown): unknown {
  if (first === undefined) return part;
  if (typeof value !== "object" || value === null) return value;
  const below = changed((value as Record<string | number, unknown>)[first], rest, part);
  if (Array.isArray(value)) return value.map((item: unknown, i) => (i === first ? below : item));
  return { ...value, [first]: below };
}

const object: fc.Arbitrary<Resource> = fc.constantFrom(...OBJECTS).chain((right) => {
  const places = placesIn(right).slice(1);
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...ODD) },
    { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  );
  return fc
    .array(fc.tuple(fc.constantFrom(...places), part), { minLength: 1, maxLength: 3 })
    .map((changes) => changes.reduce<unknown>((made, [place, odd]) => changed(made, place, odd), right) as Resource);
});

const OPTIONS = { usePodCIDR: true };

/** Runs an item through the processor of its kind, twice, with a full list between, and a delete at the end. */
function processed(
  { kind, namespace, name }: { readonly kind: DatastoreKind; readonly namespace: string; readonly name: string },
  value: Resource | undefined,
  issues: readonly ItemIssue[] = [],
): void {
  const processor = processorOf(kind, { ...OPTIONS, nodeName: "n" });
  const item = { kind, namespace, name };
  for (const state of [{ value, issues }, { value, issues }, { value: undefined }]) {
    const { outputs } = processSafely(processor, { item, revision: "1", ...state });
    for (const output of outputs) {
      assert.equal(typeof formatKey(output.key), "string");
      if (output.value !== undefined) assert.deepEqual(validateV1(output.key, output.value), []);
    }
    if (state.value !== undefined) processor.onSyncerStarting();
  }
}

test("an object of a manifest with anything in it", () => {
  fc.assert(
    fc.property(object, (made) => {
      validateResource(made);
      const { resources } = parseManifest(JSON.stringify(made), "f.json");
      for (const { key, value } of convertResources(resources, OPTIONS).updates)
        if (value !== undefined) assert.deepEqual(validateV1(key, value), []);
      for (const { resource } of resources) {
        validateResource(resource);
        withWriteDefaults(resource);
        const item = toItem(resource, OPTIONS);
        if (item !== undefined) processed(item, item.value, item.issues);
        if (resource.kind === "FelixConfiguration")
          felixParametersOf(resource as Parameters<typeof felixParametersOf>[0]);
      }
    }),
    PARAMETERS,
  );
});

const SOURCES = DATASTORE_KINDS.flatMap((kind) =>
  (["projectcalico.org/v3", "crd.projectcalico.org/v1"] as const).flatMap((group) => sourcesOf(kind, group)),
);

test("an object of an API server with anything in it", () => {
  fc.assert(
    fc.property(object, fc.constantFrom(...SOURCES), fc.boolean(), (made, other, isOther) => {
      const own = SOURCES.find(({ apiVersion, kind }) => apiVersion === made.apiVersion && kind === made.kind);
      const raw: unknown = JSON.parse(JSON.stringify(made));
      const read = readObject(raw, isOther ? other : (own ?? other), OPTIONS);
      if (read.type === "item") processed(read.item, read.item.value, read.item.issues);
    }),
    PARAMETERS,
  );
});

test("an entry of etcd with anything in it", () => {
  const kinds = fc.constantFrom(...DATASTORE_KINDS);
  const name = fc.constantFrom("a", "default", "n-k8s-p-eth0", "10-0-0-0-26", "node.n", "knp.default.a");
  fc.assert(
    fc.property(object, kinds, name, fc.boolean(), (made, other, named, isOther) => {
      const own = DATASTORE_KINDS.find((kind) => kind === made.kind);
      const kind = isOther || own === undefined ? other : own;
      const spec = { node: "n", cidr: "10.0.0.0/26" };
      const key =
        keyOf(kind, { namespace: "ns", name: named }, spec) ?? keyOf(kind, { namespace: "", name: named }, spec);
      if (key === undefined) return;
      const stored = [
        JSON.stringify(made),
        JSON.stringify(made.spec ?? null),
        writeValue(kind, { ...made, metadata: { name: named } }).toString(),
      ];
      for (const text of stored) {
        const entry = { key: Buffer.from(key), value: Buffer.from(text), create_revision: 1, mod_revision: 1 };
        const item = readItem(kind, entry);
        if (item !== undefined) processed(item, item.value, item.issues);
      }
    }),
    PARAMETERS,
  );
});
