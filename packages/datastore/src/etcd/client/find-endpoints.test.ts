import assert from "node:assert/strict";
import { test } from "node:test";
import { datastoreCodeOf } from "../../errors.ts";
import { findEndpoints, type ResolveSrv } from "./find-endpoints.ts";

const RECORDS: Readonly<Record<string, readonly { readonly name: string; readonly port: number }[]>> = {
  "_etcd-client-ssl._tcp.both.example": [{ name: "s1.both.example.", port: 2379 }],
  "_etcd-client._tcp.both.example": [{ name: "p1.both.example", port: 2380 }],
  "_etcd-client._tcp.plain.example": [
    { name: "p1.plain.example", port: 1 },
    { name: "p2.plain.example", port: 2 },
  ],
};

const resolve: ResolveSrv = (name) => {
  const found = RECORDS[name];
  return found === undefined ? Promise.reject(new Error(`querySrv ENOTFOUND ${name}`)) : Promise.resolve(found);
};

test("findEndpoints() takes the endpoints that are listed, in order", async () => {
  const found = await findEndpoints({ type: "etcdv3", endpoints: ["http://a:1", "b:2"] }, resolve);
  assert.deepEqual(found, [
    { host: "a", port: 1, isSecure: false },
    { host: "b", port: 2, isSecure: false },
  ]);
});

test("findEndpoints() takes the secure SRV records first", async () => {
  const found = await findEndpoints({ type: "etcdv3", discoverySrv: "both.example" }, resolve);
  assert.deepEqual(found, [
    { host: "s1.both.example", port: 2379, isSecure: true },
    { host: "p1.both.example", port: 2380, isSecure: false },
  ]);
});

test("findEndpoints() takes only secure SRV records where there are certificates", async () => {
  const config = { type: "etcdv3", caFile: "/ca" } as const;
  const found = await findEndpoints({ ...config, discoverySrv: "both.example" }, resolve);
  assert.deepEqual(found, [{ host: "s1.both.example", port: 2379, isSecure: true }]);
  await assert.rejects(
    findEndpoints({ ...config, discoverySrv: "plain.example" }, resolve),
    (error) => datastoreCodeOf(error) === "DATASTORE_CONNECTION_REFUSED",
  );
});

test("findEndpoints() says which domain has no records", async () => {
  await assert.rejects(
    findEndpoints({ type: "etcdv3", discoverySrv: "none.example" }, resolve),
    /No SRV record of none\.example names an etcd: querySrv ENOTFOUND _etcd-client-ssl\._tcp\.none\.example/,
  );
});
