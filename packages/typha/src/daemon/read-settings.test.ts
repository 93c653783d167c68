import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTyphaConfig } from "../config/load-typha-config.ts";
import { datastoreConfig } from "./read-settings.ts";

type Env = Readonly<Record<string, string>>;

/** The datastore that the settings mean, in a word, or what is wrong with them. */
function datastoreOf(env: Env, file = ""): string {
  const { values, errors } = loadTyphaConfig({ env, fileText: file, fileExists: () => true });
  if (errors.length > 0) return errors.map(({ message }) => message).join();
  try {
    const config = datastoreConfig(env, values);
    return config.type === "etcdv3" ? `etcdv3 at ${config.endpoints?.join(" ") ?? "none"}` : config.type;
  } catch (error) {
    return (error as Error).message;
  }
}

const ETCD = { TYPHA_DATASTORETYPE: "etcdv3" };
const LOCAL = "http://127.0.0.1:2379";
const ROWS: readonly [title: string, env: Env, file: string, want: string | RegExp][] = [
  ["nothing set", {}, "", "kubernetes"],
  ["a directory", { BULRUSH_DATASTORE_DIR: "/d" }, "", "file"],
  ["etcd's endpoints alone", { ETCD_ENDPOINTS: "http://e:1" }, "", /^etcdv3 at http:\/\/e:1\/?$/],
  ["the shared type", { DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: "/d" }, "", "file"],
  [
    "our own type before the shared one",
    { ...ETCD, DATASTORE_TYPE: "kubernetes" },
    "",
    new RegExp(`^etcdv3 at ${LOCAL}/?$`),
  ],
  [
    "our own type in the file",
    { DATASTORE_TYPE: "kubernetes" },
    "datastoretype = EtcdV3",
    new RegExp(`^etcdv3 at ${LOCAL}/?$`),
  ],
  ["the variable before the file", { TYPHA_DATASTORETYPE: "kubernetes" }, "DatastoreType = etcdv3", "kubernetes"],
  [
    "address and scheme",
    { ...ETCD, TYPHA_ETCDADDR: "e:1", TYPHA_ETCDSCHEME: "HTTPS" },
    "",
    /^etcdv3 at https:\/\/e:1\/?$/,
  ],
  [
    "endpoints before address and scheme",
    { ...ETCD, TYPHA_ETCDADDR: "e:1", TYPHA_ETCDENDPOINTS: "http://a:1,http://b:2" },
    "",
    /^etcdv3 at http:\/\/a:1\/? http:\/\/b:2\/?$/,
  ],
  ["no endpoints and no address", { ...ETCD, TYPHA_ETCDADDR: "none" }, "", /Etcd(Endpoints|Addr)/i],
  ["no endpoints and no scheme", { ...ETCD, TYPHA_ETCDSCHEME: "none" }, "", /Etcd(Endpoints|Scheme)/i],
  [
    "no address, but endpoints",
    { ...ETCD, TYPHA_ETCDADDR: "none", ETCD_ENDPOINTS: "http://e:1" },
    "",
    /^etcdv3 at http:\/\/e:1\/?$/,
  ],
];

for (const [title, env, file, want] of ROWS) {
  test(`datastoreConfig() with ${title}`, () => {
    const got = datastoreOf(env, file);
    if (typeof want === "string") assert.equal(got, want);
    else assert.match(got, want);
  });
}
