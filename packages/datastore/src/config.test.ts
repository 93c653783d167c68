import assert from "node:assert/strict";
import { test } from "node:test";
import { datastoreConfigFromEnvironment } from "./config.ts";
import { DatastoreError } from "./errors.ts";

const ROWS: readonly (readonly [
  env: Readonly<Record<string, string>>,
  prefix: "" | "TYPHA_" | "FELIX_",
  want: string,
])[] = [
  [{}, "", "kubernetes"],
  [{ ETCD_ENDPOINTS: "https://a:2379" }, "", "etcdv3"],
  [{ BULRUSH_DATASTORE_DIR: "/d", ETCD_ENDPOINTS: "https://a:2379" }, "", "file"],
  [{ BULRUSH_DATASTORE_DIR: "/d", DATASTORE_TYPE: "kubernetes" }, "", "kubernetes"],
  [{ BULRUSH_DATASTORE_DIR: "/d", DATASTORE_TYPE: "kubernetes", TYPHA_DATASTORETYPE: "file" }, "TYPHA_", "file"],
  [{ BULRUSH_DATASTORE_DIR: "/d", DATASTORE_TYPE: "kubernetes", TYPHA_DATASTORETYPE: "file" }, "FELIX_", "kubernetes"],
  [{ BULRUSH_DATASTORE_DIR: "/d", FELIX_DATASTORETYPE: "file" }, "FELIX_", "file"],
  [{ CALICO_ETCD_ENDPOINTS: "https://a:2379" }, "", "etcdv3"],
  [{ CALICO_DATASTORE_TYPE: "kubernetes", DATASTORE_TYPE: "file" }, "FELIX_", "kubernetes"],
];

for (const [env, prefix, want] of ROWS) {
  test(`datastoreConfigFromEnvironment() takes ${JSON.stringify(env)} with "${prefix}" as ${want}`, () => {
    assert.equal(datastoreConfigFromEnvironment(env, prefix).type, want);
  });
}

test("datastoreConfigFromEnvironment() reads what conversions need", () => {
  const env = { BULRUSH_DATASTORE_DIR: "/d", FELIX_INTERFACEPREFIX: "eni,cali", USE_POD_CIDR: "true" };
  assert.deepEqual(datastoreConfigFromEnvironment(env), {
    type: "file",
    directory: "/d",
    usePodCIDR: true,
    interfacePrefix: "eni,cali",
  });
});

for (const [env, variable] of [
  [{ DATASTORE_TYPE: "file" }, /DATASTORE_TYPE is "file" but BULRUSH_DATASTORE_DIR is not set/],
  [{ DATASTORE_TYPE: "etcdv3" }, /Neither ETCD_ENDPOINTS nor ETCD_DISCOVERY_SRV says where etcd is/],
  [{ TYPHA_DATASTORETYPE: "mysql" }, /TYPHA_DATASTORETYPE is "mysql", expected/],
] as const) {
  test(`datastoreConfigFromEnvironment() refuses ${JSON.stringify(env)}`, () => {
    assert.throws(
      () => datastoreConfigFromEnvironment(env, "TYPHA_"),
      (error: unknown) => {
        assert.ok(error instanceof DatastoreError);
        assert.equal(error.code, "DATASTORE_BAD_CONFIG");
        return variable.test(error.message);
      },
    );
  });
}
