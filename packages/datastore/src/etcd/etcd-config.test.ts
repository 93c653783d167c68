import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DatastoreError } from "../errors.ts";
import { checkedEtcdConfig, type EtcdDatastoreConfig, etcdConfigFromEnvironment } from "./etcd-config.ts";

const HERE = { endpoints: ["http://127.0.0.1:2379"] };

/** What is refused, and the words that name why. */
const REFUSED: readonly (readonly [string, Omit<EtcdDatastoreConfig, "type">, RegExp])[] = [
  ["no endpoint in the list", { endpoints: [] }, /Neither ETCD_ENDPOINTS nor/],
  ["a text of a key without certificate", { ...HERE, keyPem: "k" }, /etcdKey and etcdCert are needed both/],
  ["a text of a CA alone", { ...HERE, caPem: "c" }, /etcdKey and etcdCert are needed both/],
  ["a file of a certificate without key", { ...HERE, certFile: "/c" }, /ETCD_KEY_FILE and ETCD_CERT_FILE/],
  ["a file of a key without certificate", { ...HERE, keyFile: "/k" }, /ETCD_KEY_FILE and ETCD_CERT_FILE/],
  ["an endpoint of another scheme", { endpoints: ["ftp://a:1"] }, /ETCD_ENDPOINTS has "ftp:\/\/a:1"/],
  ["an endpoint with a path", { endpoints: ["http://a:1/b"] }, /ETCD_ENDPOINTS has "http:\/\/a:1\/b"/],
];

interface Row {
  readonly row: string;
  readonly name: string;
  readonly input: Omit<EtcdDatastoreConfig, "type">;
  readonly error: string;
}

const ROWS_FILE = join(import.meta.dirname, "..", "..", "testdata", "acceptance", "etcd-settings.json");

for (const { row, name, input, error: words } of JSON.parse(readFileSync(ROWS_FILE, "utf8")) as readonly Row[]) {
  test(`${row}: checkedEtcdConfig() refuses ${name}`, () => {
    assert.throws(
      () => checkedEtcdConfig({ type: "etcdv3", ...input }),
      (error: DatastoreError) => error.code === "DATASTORE_BAD_CONFIG" && error.message.includes(words),
    );
  });
}

for (const [name, config, message] of REFUSED) {
  test(`checkedEtcdConfig() refuses ${name}`, () => {
    assert.throws(
      () => checkedEtcdConfig({ type: "etcdv3", ...config }),
      (error: DatastoreError) => error.code === "DATASTORE_BAD_CONFIG" && message.test(error.message),
    );
  });
}

const ACCEPTED: readonly (readonly [string, Omit<EtcdDatastoreConfig, "type">])[] = [
  ["endpoints", HERE],
  ["a domain", { discoverySrv: "example.org" }],
  ["a CA file alone", { ...HERE, caFile: "/ca" }],
  ["all three texts", { ...HERE, keyPem: "k", certPem: "c", caPem: "ca" }],
  ["texts without CA", { ...HERE, keyPem: "k", certPem: "c" }],
];

for (const [name, config] of ACCEPTED) {
  test(`checkedEtcdConfig() takes ${name}`, () => {
    const whole: EtcdDatastoreConfig = { type: "etcdv3", ...config };
    assert.equal(checkedEtcdConfig(whole), whole);
  });
}

test("etcdConfigFromEnvironment() reads every variable; the prefix CALICO_ wins", () => {
  const env = {
    ETCD_ENDPOINTS: "http://old:1",
    CALICO_ETCD_ENDPOINTS: " https://a:2379, https://b:2379 ,",
    ETCD_USERNAME: "user",
    ETCD_PASSWORD: "secret",
    ETCD_KEY_FILE: "/key",
    ETCD_CERT_FILE: "/cert",
    CALICO_ETCD_CA_CERT_FILE: "/ca",
    USE_POD_CIDR: "true",
  };
  assert.deepEqual(etcdConfigFromEnvironment(env), {
    type: "etcdv3",
    endpoints: ["https://a:2379", "https://b:2379"],
    username: "user",
    password: "secret",
    keyFile: "/key",
    certFile: "/cert",
    caFile: "/ca",
    usePodCIDR: true,
  });
  assert.equal(etcdConfigFromEnvironment({ ETCD_DISCOVERY_SRV: "example.org" }).discoverySrv, "example.org");
});

test("etcdConfigFromEnvironment() refuses what does not go together", () => {
  assert.throws(
    () => etcdConfigFromEnvironment({ ETCD_ENDPOINTS: "http://a:1", ETCD_DISCOVERY_SRV: "b" }),
    DatastoreError,
  );
});
