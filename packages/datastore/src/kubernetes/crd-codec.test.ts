import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import { readCrd, writeCrd } from "./crd-codec.ts";
import { translateUid } from "./uid.ts";

const UID = "9d9d0b10-6a4b-4d3c-8f12-0123456789ab";
const OWNER_UID = "1f4b7a52-3c1d-4e8f-9a0b-aabbccddeeff";

/** A policy as its user sees it, with everything that metadata may hold. */
const POLICY: Resource = {
  apiVersion: "projectcalico.org/v3",
  kind: "NetworkPolicy",
  metadata: {
    name: "web",
    namespace: "shop",
    resourceVersion: "7",
    uid: UID,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { team: "a", "projectcalico.org/tier": "default" },
    annotations: { note: "mine", "operator.tigera.io/x": "1" },
    ownerReferences: [
      { apiVersion: "projectcalico.org/v3", kind: "Tier", name: "t", uid: OWNER_UID },
      { apiVersion: "v1", kind: "Pod", name: "p", uid: OWNER_UID },
    ],
    finalizers: ["x/y"],
  } as Resource["metadata"],
  spec: { tier: "default", selector: "all()" },
};

/** How that policy is stored. */
const STORED = {
  apiVersion: "crd.projectcalico.org/v1",
  kind: "NetworkPolicy",
  metadata: {
    name: "web",
    namespace: "shop",
    resourceVersion: "7",
    uid: translateUid(UID),
    labels: { "projectcalico.org/tier": "default" },
    ownerReferences: [
      { apiVersion: "crd.projectcalico.org/v1", kind: "Tier", name: "t", uid: translateUid(OWNER_UID) },
      { apiVersion: "v1", kind: "Pod", name: "p", uid: OWNER_UID },
    ],
  },
  spec: { tier: "default", selector: "all()" },
};

test("writeCrd() keeps the user's metadata in an annotation, and shows what others select by", () => {
  const { metadata, ...rest } = writeCrd(POLICY);
  const { annotations = {}, ...shown } = metadata;
  const { "projectcalico.org/metadata": text = "", ...others } = annotations;
  assert.deepEqual({ ...rest, metadata: shown }, STORED);
  assert.deepEqual(others, { "operator.tigera.io/x": "1" });
  const { namespace: _, resourceVersion: __, uid: ___, ...kept } = POLICY.metadata;
  assert.deepEqual(JSON.parse(text), kept);
});

test("writeCrd() keeps the name of policies only", () => {
  const tier = { ...POLICY, kind: "Tier", metadata: { name: "t", labels: { a: "b" } } };
  assert.equal(writeCrd(tier).metadata.annotations?.["projectcalico.org/metadata"], '{"labels":{"a":"b"}}');
});

test("readCrd() gives back what writeCrd() was given", () => {
  assert.deepEqual(readCrd(writeCrd(POLICY)), POLICY);
});

test("readCrd() reads a policy as upstream's client writes it", () => {
  const read = readCrd({
    apiVersion: "crd.projectcalico.org/v1",
    kind: "GlobalNetworkPolicy",
    metadata: {
      name: "default.allow-dns",
      uid: translateUid(UID),
      resourceVersion: "12",
      creationTimestamp: "2026-02-02T00:00:00Z",
      annotations: {
        "projectcalico.org/metadata": '{"name":"allow-dns","labels":{"team":"a"},"creationTimestamp":null}',
      },
    },
    spec: { order: 10 },
  });
  assert.deepEqual(read, {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: {
      name: "allow-dns",
      uid: UID,
      resourceVersion: "12",
      creationTimestamp: "2026-02-02T00:00:00Z",
      labels: { team: "a" },
    },
    spec: { order: 10 },
  });
});

test("readCrd() lets the user's copy of a label win, and takes what was put on the object itself", () => {
  const read = readCrd({
    apiVersion: "crd.projectcalico.org/v1",
    kind: "Tier",
    metadata: {
      name: "t",
      labels: { a: "object", b: "object" },
      annotations: { c: "object", "projectcalico.org/metadata": '{"labels":{"a":"user"},"annotations":{"d":"user"}}' },
    },
  });
  assert.deepEqual(read.metadata.labels, { a: "user", b: "object" });
  assert.deepEqual(read.metadata.annotations, { c: "object", d: "user" });
});

const NAMES: readonly (readonly [kind: string, name: string, spec: object, want: string])[] = [
  ["NetworkPolicy", "default.web", {}, "web"],
  ["NetworkPolicy", "default.web", { tier: "default" }, "web"],
  ["NetworkPolicy", "default.web", { tier: "prod" }, "default.web"],
  ["NetworkPolicy", "web", {}, "web"],
  ["StagedGlobalNetworkPolicy", "default.web", {}, "web"],
  ["StagedKubernetesNetworkPolicy", "default.web", {}, "default.web"],
  ["Tier", "default.web", {}, "default.web"],
];

for (const [kind, name, spec, want] of NAMES) {
  test(`readCrd() calls the ${kind} ${name} ${JSON.stringify(spec)} ${want}`, () => {
    const read = readCrd({ apiVersion: "crd.projectcalico.org/v1", kind, metadata: { name }, spec });
    assert.equal(read.metadata.name, want);
  });
}

for (const text of [
  "",
  "no JSON",
  "5",
  "null",
  '{"labels":"x","annotations":{"a":1},"name":5,"creationTimestamp":7}',
]) {
  test(`readCrd() takes the annotation ${JSON.stringify(text)} as nothing to go by`, () => {
    const metadata = { name: "t", uid: "no UUID", annotations: { "projectcalico.org/metadata": text } };
    const read = readCrd({ apiVersion: "crd.projectcalico.org/v1", kind: "NetworkPolicy", metadata });
    assert.equal(read.metadata.name, "t");
    assert.equal(read.metadata.uid, "no UUID");
    assert.equal(read.metadata.labels, undefined);
  });
}

test("readCrd() leaves what is no CRD of the older group as it is", () => {
  assert.equal(readCrd(POLICY), POLICY);
});
