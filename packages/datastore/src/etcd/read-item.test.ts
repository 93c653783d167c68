import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import fc from "fast-check";
import { DATASTORE_KINDS, type DatastoreKind } from "../driver/kind.ts";
import type { KeyValue } from "./client/messages.ts";
import { keyOf, rangeOf } from "./key-layout.ts";
import { readItem, readStored } from "./read-item.ts";
import { writeValue } from "./write-value.ts";

const V3 = "/calico/resources/v3/projectcalico.org";

function entry(key: string, value: unknown): KeyValue {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return { key: Buffer.from(key), value: Buffer.from(text), create_revision: 3, mod_revision: 7 };
}

function policy(metadata: object, spec: object = {}): object {
  return { kind: "NetworkPolicy", apiVersion: "projectcalico.org/v3", metadata, spec };
}

/** Names of policies: what the key says, what is stored, and the name that its user knows. */
const NAMES: readonly (readonly [
  what: string,
  key: string,
  kept: string | undefined,
  tier: string | undefined,
  want: string,
])[] = [
  ["kept in the annotation", "default.web", "web", "default", "web"],
  ["kept in the annotation though it has the prefix", "default.web", "default.web", "default", "default.web"],
  ["of the default tier without annotation loses the prefix", "default.web", undefined, "default", "web"],
  ["of no tier without annotation loses the prefix", "default.web", undefined, undefined, "web"],
  ["of another tier keeps its prefix", "default.web", undefined, "sec", "default.web"],
  ["without the prefix stays", "web", undefined, "default", "web"],
  ["with an annotation that is no JSON stays", "web", "\u0000", "default", "web"],
];

for (const [what, key, kept, tier, want] of NAMES) {
  test(`readItem(): the name of a policy, ${what}`, () => {
    const text = kept === "\u0000" ? "{" : JSON.stringify({ name: kept });
    const annotations = kept === undefined ? undefined : { "projectcalico.org/metadata": text, own: "x" };
    const value = policy({ name: key, namespace: "ns", annotations }, tier === undefined ? {} : { tier });
    const item = readItem("NetworkPolicy", entry(`${V3}/networkpolicies/ns/${key}`, value));
    assert.equal(item?.name, key);
    assert.equal(item?.value?.metadata.name, want);
    assert.deepEqual(item?.value?.metadata.annotations, kept === undefined ? undefined : { own: "x" });
    assert.equal(item?.issues, undefined);
  });
}

test("readItem() gives the revision of the last change, and the defaults that a writer would have set", () => {
  const value = policy(
    { name: "p", namespace: "other", resourceVersion: "1", creationTimestamp: null },
    { egress: [{ action: "Allow" }] },
  );
  const item = readItem("NetworkPolicy", entry(`${V3}/networkpolicies/ns/p`, value));
  assert.deepEqual(item, {
    kind: "NetworkPolicy",
    namespace: "ns",
    name: "p",
    revision: "7",
    subject: { kind: "NetworkPolicy", namespace: "ns", name: "p" },
    value: {
      apiVersion: "projectcalico.org/v3",
      kind: "NetworkPolicy",
      metadata: { name: "p", namespace: "ns", resourceVersion: "7" },
      spec: { egress: [{ action: "Allow" }], tier: "default", types: ["Egress"] },
    },
  });
});

/** What is there and cannot be read: the field that is to blame. */
const UNREADABLE: readonly (readonly [string, string | object, field: string])[] = [
  ["is no JSON", "{", ""],
  ["is a list", "[]", ""],
  ["is empty", "", ""],
  ["is of another version", { kind: "NetworkPolicy", apiVersion: "projectcalico.org/v4", metadata: {} }, "apiVersion"],
  ["is of another kind", { kind: "Tier", apiVersion: "projectcalico.org/v3", metadata: {} }, "kind"],
  ["nests too deep", policy({}, JSON.parse(`${"[".repeat(40)}${"]".repeat(40)}`) as object), "spec"],
];

for (const [what, value, field] of UNREADABLE) {
  test(`readItem() names a policy that ${what}`, () => {
    const item = readItem("NetworkPolicy", entry(`${V3}/networkpolicies/ns/p`, value));
    assert.equal(item?.value, undefined);
    assert.equal(item?.name, "p");
    assert.equal(item?.issues?.[0]?.severity, "error");
    assert.ok(item?.issues?.[0]?.field.startsWith(field));
    assert.equal(readStored("NetworkPolicy", entry(`${V3}/networkpolicies/ns/p`, value)), undefined);
  });
}

test("readItem() keeps a policy whose label is no text, without the label", () => {
  const value = policy({ name: "p", namespace: "ns", labels: { good: "yes", bad: 5 } });
  const item = readItem("NetworkPolicy", entry(`${V3}/networkpolicies/ns/p`, value));
  assert.deepEqual(item?.value?.metadata.labels, { good: "yes" });
  assert.deepEqual(item?.issues, [
    { severity: "warning", field: "metadata.labels.bad", message: "Expected a string, found 5; quote it" },
  ]);
});

test("readItem() finds nothing in a key of another kind", () => {
  assert.equal(readItem("Tier", entry(`${V3}/networkpolicies/ns/p`, policy({}))), undefined);
});

/** IPAM's values, as they are stored and as specs. */
const IPAM: readonly (readonly [DatastoreKind, key: string, value: string, name: string, spec: object])[] = [
  [
    "BlockAffinity",
    "/calico/ipam/v2/host/n1/ipv4/block/10.0.0.0-26",
    '{"state":"confirmed"}',
    "n1-10-0-0-0-26",
    { state: "confirmed", node: "n1", type: "host", cidr: "10.0.0.0/26" },
  ],
  [
    "BlockAffinity",
    "/calico/ipam/v2/virtual/lb/ipv4/block/10.0.0.0-26",
    "",
    "lb-10-0-0-0-26",
    { state: "", node: "lb", type: "virtual", cidr: "10.0.0.0/26" },
  ],
  [
    "IPAMBlock",
    "/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-30",
    '{"cidr":"10.0.0.0/30","affinity":"host:n1","allocations":[0,null],"unallocated":[1],"attributes":[{"handle_id":"h","secondary":{"node":"n1"}}]}',
    "10-0-0-0-30",
    {
      cidr: "10.0.0.0/30",
      affinity: "host:n1",
      allocations: [0, null],
      unallocated: [1],
      attributes: [{ handle_id: "h", secondary: { node: "n1" } }],
    },
  ],
  [
    "IPAMHandle",
    "/calico/ipam/v2/handle/h",
    '{"block":{"10.0.0.0/30":1}}',
    "h",
    { block: { "10.0.0.0/30": 1 }, handleID: "h" },
  ],
  [
    "IPAMConfig",
    "/calico/ipam/v2/config",
    '{"strict_affinity":true,"auto_allocate_blocks":true,"maxBlocksPerHost":20}',
    "default",
    { strictAffinity: true, autoAllocateBlocks: true, maxBlocksPerHost: 20 },
  ],
];

test("readItem(): the lists of an IPAM block that are written as null are empty", () => {
  const value = '{"cidr":"10.0.0.0/30","allocations":null,"unallocated":null,"attributes":null}';
  const item = readItem("IPAMBlock", entry("/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-30", value));
  assert.deepEqual(item?.value?.spec, { cidr: "10.0.0.0/30", allocations: [], unallocated: [], attributes: [] });
});

for (const [kind, key, value, name, spec] of IPAM) {
  test(`readItem() and writeValue(): ${kind} ${name}`, () => {
    const item = readItem(kind, entry(key, value));
    assert.equal(item?.name, name);
    assert.deepEqual(item?.value?.spec, spec);
    assert.ok(item?.value !== undefined);
    const written = JSON.parse(writeValue(kind, item.value).toString()) as unknown;
    assert.deepEqual(written, value === "" ? { state: "" } : JSON.parse(value));
  });
}

test("writeValue() leaves the store's own fields out and keeps the name of a policy", () => {
  const resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name: "g", uid: "u", resourceVersion: "9", managedFields: [{}], annotations: { own: "x" } },
    spec: {},
  } as Resource;
  assert.deepEqual(JSON.parse(writeValue("GlobalNetworkPolicy", resource).toString()), {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name: "g", uid: "u", annotations: { own: "x", "projectcalico.org/metadata": '{"name":"g"}' } },
    spec: {},
  });
});

test("what writeValue() wrote of any kind, readStored() gives back", () => {
  const kinds = DATASTORE_KINDS.filter(
    (kind) => rangeOf(kind) !== undefined && !kind.startsWith("IPAM") && kind !== "BlockAffinity",
  );
  const text = fc.string({ maxLength: 20 });
  const json = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean(), fc.array(text)), {
    noNullPrototype: true,
  });
  const strings = fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }), text, { noNullPrototype: true });
  fc.assert(
    fc.property(fc.constantFrom(...kinds), fc.boolean(), json, strings, (kind, isPrefixed, spec, labels) => {
      const name = isPrefixed ? "default.x" : "x";
      const place = [
        { namespace: "ns", name },
        { namespace: "", name },
      ].find((one) => keyOf(kind, one, {}) !== undefined);
      assert.ok(place !== undefined);
      const { namespace } = place;
      const metadata = { name, ...(namespace !== "" && { namespace }), labels };
      const resource: Resource = { apiVersion: "projectcalico.org/v3", kind, metadata, spec };
      const stored = entry(keyOf(kind, place, {}) ?? "", writeValue(kind, resource).toString());
      const read = readStored(kind, stored);
      assert.deepEqual(read, { ...resource, metadata: { ...metadata, resourceVersion: "7" } });
    }),
  );
});

test("readItem() of any bytes under any key of ours never throws", () => {
  const kind = fc.constantFrom(...DATASTORE_KINDS);
  fc.assert(
    fc.property(kind, fc.string(), fc.oneof(fc.string(), fc.json()), (one, tail, value) => {
      const range = rangeOf(one);
      if (range !== undefined) readItem(one, entry(range.key + tail, value));
    }),
  );
});
