import assert from "node:assert/strict";
import { test } from "node:test";
import { CALICO_CRD_V1, CALICO_V3, type Resource } from "@bulrush/model";
import { readCrd, writeCrd } from "../kubernetes/crd-codec.ts";
import { withDeletedAsText } from "./deleted-field.ts";
import { withWriteDefaults } from "./write-defaults.ts";

const SPEC = { state: "confirmed", node: "n", cidr: "10.0.0.0/26" };

function affinity(apiVersion: string, fields: object): Resource {
  return { apiVersion, kind: "BlockAffinity", metadata: { name: "n-10-0-0-0-26" }, spec: { ...SPEC, ...fields } };
}

/** What stands there, and what is written of it in the older and in the newer group. */
const ROWS: readonly (readonly [given: object, v1: object, v3: object])[] = [
  [{ deleted: true }, { deleted: "true" }, { deleted: true }],
  [{ deleted: "true" }, { deleted: "true" }, { deleted: true }],
  [{ deleted: false }, { deleted: "false" }, {}],
  [{ deleted: "false" }, { deleted: "false" }, {}],
  [{ deleted: "" }, { deleted: "false" }, {}],
  [{ deleted: null }, { deleted: "false" }, {}],
  [{}, { deleted: "false" }, {}],
  [{ deleted: "perhaps" }, { deleted: "perhaps" }, { deleted: "perhaps" }],
];

for (const [given, v1, v3] of ROWS) {
  test(`a block affinity with ${JSON.stringify(given)} in either group`, () => {
    assert.deepEqual(writeCrd(affinity(CALICO_V3, given)).spec, { ...SPEC, ...v1 });
    assert.deepEqual(readCrd(affinity(CALICO_CRD_V1, given)), affinity(CALICO_V3, v3));
    assert.deepEqual(withWriteDefaults(affinity(CALICO_V3, given)), affinity(CALICO_V3, v3));
  });
}

test("other kinds, and specs that are none, stay as they are", () => {
  const handle = { ...affinity(CALICO_V3, { deleted: true }), kind: "IPAMHandle" };
  assert.deepEqual(writeCrd(handle).spec, handle.spec);
  const odd = { ...affinity(CALICO_V3, {}), spec: "x" };
  assert.equal(withDeletedAsText(odd), odd);
});
