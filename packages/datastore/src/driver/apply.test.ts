import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import { applyResource, resourceIdOf, saysTheSame } from "./apply.ts";
import { withWriteDefaults } from "./write-defaults.ts";
import type { DatastoreWriter, StoredResource } from "./writer.ts";

const V3 = "projectcalico.org/v3";
const { signal } = new AbortController();
const wanted: Resource = { apiVersion: V3, kind: "Tier", metadata: { name: "t" }, spec: { order: 1 } };

function stored(order: number, revision: string): StoredResource {
  return { resource: { ...wanted, spec: { order }, metadata: { name: "t", resourceVersion: revision } }, revision };
}

/** Each answer is used once, in order: what is there, or the code with which the write fails. */
function scripted(gets: (StoredResource | undefined)[], writes: (DatastoreErrorCode | "done")[]) {
  const calls: string[] = [];
  const write = (call: string): Promise<StoredResource> => {
    calls.push(call);
    const outcome = writes.shift() ?? "done";
    if (outcome !== "done") return Promise.reject(new DatastoreError("no", { code: outcome }));
    return Promise.resolve(stored(1, "new"));
  };
  const writer: DatastoreWriter = {
    type: "file",
    get: () => {
      calls.push("get");
      return Promise.resolve(gets.length > 1 ? gets.shift() : gets[0]);
    },
    async *list() {},
    create: () => write("create"),
    update: (_resource, revision) => write(`update ${revision}`),
    delete: () => write("delete").then(() => undefined),
    close: () => Promise.resolve(),
  };
  return { writer, calls };
}

const rows: readonly [
  title: string,
  gets: (StoredResource | undefined)[],
  writes: DatastoreErrorCode[],
  outcome: string,
  calls: string[],
][] = [
  ["creates what is not there", [undefined], [], "created", ["get", "create"]],
  ["replaces what is there", [stored(2, "5")], [], "configured", ["get", "update 5"]],
  ["does nothing where it says the same", [stored(1, "5")], [], "unchanged", ["get"]],
  [
    "reads again after a lost race",
    [stored(2, "5"), stored(3, "6")],
    ["DATASTORE_CONFLICT"],
    "configured",
    ["get", "update 5", "get", "update 6"],
  ],
  [
    "replaces what somebody created meanwhile",
    [undefined, stored(2, "5")],
    ["DATASTORE_ALREADY_EXISTS"],
    "configured",
    ["get", "create", "get", "update 5"],
  ],
  [
    "creates what somebody deleted meanwhile",
    [stored(2, "5"), undefined],
    ["DATASTORE_NOT_FOUND"],
    "created",
    ["get", "update 5", "get", "create"],
  ],
  [
    "gives up after ten lost races",
    [stored(2, "5")],
    Array.from({ length: 10 }, () => "DATASTORE_CONFLICT" as const),
    "DATASTORE_CONFLICT",
    Array.from({ length: 10 }, () => ["get", "update 5"]).flat(),
  ],
  ["does not repeat what is refused", [undefined], ["DATASTORE_INVALID"], "DATASTORE_INVALID", ["get", "create"]],
];
for (const [title, gets, writes, outcome, expected] of rows) {
  test(`applyResource() ${title}`, async () => {
    const { writer, calls } = scripted(gets, writes);
    const result = await applyResource(writer, wanted, signal).then(
      ({ action }) => action,
      (error: unknown) => (error as DatastoreError).code,
    );
    assert.deepEqual([result, calls], [outcome, expected]);
  });
}

test("applyResource() replaces only the revision that the resource names", async () => {
  const { writer, calls } = scripted([stored(2, "5")], ["DATASTORE_CONFLICT"]);
  const named = { ...wanted, metadata: { name: "t", resourceVersion: "4" } };
  await assert.rejects(applyResource(writer, named, signal), { code: "DATASTORE_CONFLICT" });
  assert.deepEqual(calls, ["update 4"]);
});

const same: readonly [title: string, a: object, b: object, expected: boolean][] = [
  ["defaults count", { spec: {} }, { spec: { order: 1_000_000, defaultAction: "Deny" } }, true],
  ["what the store counts does not", { metadata: { name: "t", uid: "u", generation: 4 } }, {}, true],
  ["status does not", { status: { x: 1 } }, {}, true],
  ["labels do", { metadata: { name: "t", labels: { a: "b" } } }, {}, false],
  ["the name of the CRD group does not", { apiVersion: "crd.projectcalico.org/v1" }, {}, true],
  ["the kind does", { kind: "Profile" }, {}, false],
  ["the two names of IPAM's settings do not", { kind: "IPAMConfig" }, { kind: "IPAMConfiguration" }, true],
  ["the spec does", { spec: { order: 2 } }, {}, false],
];
for (const [title, a, b, expected] of same) {
  test(`saysTheSame(): ${title}`, () => {
    assert.equal(
      saysTheSame({ ...wanted, spec: {}, ...a } as Resource, { ...wanted, spec: {}, ...b } as Resource),
      expected,
    );
  });
}

test("resourceIdOf() has a namespace exactly where the kind has one", () => {
  const of = (kind: string, namespace?: string): string =>
    resourceIdOf({ apiVersion: V3, kind, metadata: { name: "x", ...(namespace !== undefined && { namespace }) } })
      .namespace;
  assert.deepEqual(
    [of("NetworkPolicy"), of("NetworkPolicy", "a"), of("NetworkPolicy", ""), of("Tier", "a")],
    ["default", "a", "default", ""],
  );
});

test("withWriteDefaults() gives a policy its types, its tier, and the label of it", () => {
  const policy: Resource = {
    apiVersion: V3,
    kind: "GlobalNetworkPolicy",
    metadata: { name: "p" },
    spec: { egress: [] },
  };
  const { metadata, spec } = withWriteDefaults(policy);
  assert.deepEqual(
    [metadata.labels, spec],
    [{ "projectcalico.org/tier": "default" }, { egress: [], tier: "default", types: ["Ingress"] }],
  );
  assert.equal(withWriteDefaults(wanted).metadata.labels, undefined);
});
