import assert from "node:assert/strict";
import { test } from "node:test";
import { etcdConfigFromEnvironment } from "./etcd-config.ts";
import { type EtcdSettings, withEtcdSettings } from "./etcd-settings.ts";

/** As a table of settings has them when nobody has set anything. */
const UNSET: EtcdSettings = {
  DatastoreType: undefined,
  EtcdEndpoints: [],
  EtcdAddr: "127.0.0.1:2379",
  EtcdScheme: "http",
  EtcdKeyFile: "",
  EtcdCertFile: "",
  EtcdCaFile: "",
};

const ROWS: readonly (readonly [string, Record<string, string>, Partial<EtcdSettings>, object])[] = [
  ["the address where only the type is set", {}, { DatastoreType: "etcdv3" }, { endpoints: ["http://127.0.0.1:2379"] }],
  [
    "the address where the shared variable sets the type",
    { DATASTORE_TYPE: "etcdv3" },
    { EtcdAddr: "e:1", EtcdScheme: "https" },
    { endpoints: ["https://e:1"] },
  ],
  [
    "the shared endpoints before the address",
    { ETCD_ENDPOINTS: "http://shared:1" },
    { DatastoreType: "etcdv3" },
    { endpoints: ["http://shared:1"] },
  ],
  [
    "the shared domain before the address",
    { ETCD_DISCOVERY_SRV: "example.org" },
    { DatastoreType: "etcdv3" },
    { discoverySrv: "example.org" },
  ],
  [
    "its own endpoints before all others",
    { ETCD_ENDPOINTS: "http://shared:1", CALICO_ETCD_ENDPOINTS: "http://shared:2" },
    { EtcdEndpoints: ["https://own:1/", "https://own:2/"] },
    { endpoints: ["https://own:1/", "https://own:2/"] },
  ],
  [
    "its own files before the shared ones",
    { ETCD_ENDPOINTS: "https://e:1", ETCD_KEY_FILE: "/k", ETCD_CERT_FILE: "/c", ETCD_CA_CERT_FILE: "/ca" },
    { EtcdKeyFile: "/own-k", EtcdCaFile: "/own-ca" },
    { endpoints: ["https://e:1"], keyFile: "/own-k", certFile: "/c", caFile: "/own-ca" },
  ],
];

for (const [name, env, settings, want] of ROWS) {
  test(`withEtcdSettings() takes ${name}`, () => {
    const config = etcdConfigFromEnvironment(withEtcdSettings(env, { ...UNSET, ...settings }));
    assert.deepEqual(config, { type: "etcdv3", usePodCIDR: false, ...want });
  });
}

test("withEtcdSettings() says nothing where etcd is not asked for", () => {
  assert.deepEqual(withEtcdSettings({ DATASTORE_TYPE: "kubernetes" }, UNSET), { DATASTORE_TYPE: "kubernetes" });
  assert.deepEqual(withEtcdSettings({}, UNSET), {});
});
