import assert from "node:assert/strict";
import { test } from "node:test";
import { Metadata, status } from "@grpc/grpc-js";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";
import { isOfMember, isOfToken, rpcError } from "./rpc-error.ts";

function serviceError(code: status, details: string): Error {
  return Object.assign(new Error(`${code} ${details}`), { code, details, metadata: new Metadata() });
}

// The texts are those of etcd's api/v3rpc/rpctypes/error.go.
const ROWS: readonly (readonly [status, string, DatastoreErrorCode])[] = [
  [status.OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted", "DATASTORE_EXPIRED"],
  [status.OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision", "DATASTORE_REVISION_TOO_LARGE"],
  [status.INVALID_ARGUMENT, "etcdserver: request is too large", "DATASTORE_INVALID"],
  [status.RESOURCE_EXHAUSTED, "grpc: received message larger than max (3 vs. 2)", "DATASTORE_INVALID"],
  [status.INVALID_ARGUMENT, "etcdserver: authentication failed, invalid user ID or password", "DATASTORE_UNAUTHORIZED"],
  [status.INVALID_ARGUMENT, "etcdserver: user name is empty", "DATASTORE_UNAUTHORIZED"],
  [status.INVALID_ARGUMENT, "etcdserver: revision of auth store is old", "DATASTORE_UNAUTHORIZED"],
  [status.UNAUTHENTICATED, "etcdserver: invalid auth token", "DATASTORE_UNAUTHORIZED"],
  [status.PERMISSION_DENIED, "etcdserver: permission denied", "DATASTORE_UNAUTHORIZED"],
  [status.RESOURCE_EXHAUSTED, "etcdserver: too many requests", "DATASTORE_TOO_MANY_REQUESTS"],
  [status.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", "DATASTORE_FAILED"],
  [status.UNAVAILABLE, "etcdserver: no leader", "DATASTORE_CONNECTION_REFUSED"],
  [status.UNAVAILABLE, "No connection established", "DATASTORE_CONNECTION_REFUSED"],
  [status.DEADLINE_EXCEEDED, "Deadline exceeded", "DATASTORE_TIMEOUT"],
  [status.UNIMPLEMENTED, "unknown service", "DATASTORE_NOT_SUPPORTED"],
  [status.INTERNAL, "stream reset", "DATASTORE_FAILED"],
];

for (const [code, details, want] of ROWS) {
  test(`rpcError() makes ${want} of "${details}"`, () => {
    const error = rpcError("Read", "http://a:1", serviceError(code, details));
    assert.equal(error.code, want);
    assert.equal(error.message, `Read at http://a:1: ${details}`);
  });
}

test("rpcError() leaves an error of this package alone", () => {
  const own = new DatastoreError("x", { code: "DATASTORE_MALFORMED" });
  assert.equal(rpcError("Read", "a", own), own);
});

test("isOfMember() tells who is gone from who refuses", () => {
  assert.ok(isOfMember(serviceError(status.UNAVAILABLE, "gone")));
  assert.ok(isOfMember(new DatastoreError("late", { code: "DATASTORE_TIMEOUT" })));
  assert.ok(!isOfMember(serviceError(status.PERMISSION_DENIED, "no")));
  assert.ok(!isOfMember(serviceError(status.OUT_OF_RANGE, "compacted")));
});

test("isOfToken() tells a token that is no longer good from a password that never was", () => {
  assert.ok(isOfToken(serviceError(status.UNAUTHENTICATED, "etcdserver: invalid auth token")));
  assert.ok(isOfToken(serviceError(status.INVALID_ARGUMENT, "etcdserver: revision of auth store is old")));
  assert.ok(!isOfToken(serviceError(status.INVALID_ARGUMENT, "etcdserver: authentication failed")));
});
