import assert from "node:assert/strict";
import { test } from "node:test";
import { DatastoreError } from "../../errors.ts";
import { networkError } from "./network-error.ts";
import { retryAfterMsOf, statusError } from "./status-error.ts";

const ROWS: readonly (readonly [status: number, body: unknown, code: string])[] = [
  [400, { reason: "BadRequest" }, "DATASTORE_INVALID"],
  [401, { reason: "Unauthorized" }, "DATASTORE_UNAUTHORIZED"],
  [403, { reason: "Forbidden" }, "DATASTORE_UNAUTHORIZED"],
  [404, "404 page not found\n", "DATASTORE_NOT_FOUND"],
  [409, { reason: "AlreadyExists" }, "DATASTORE_ALREADY_EXISTS"],
  [409, { reason: "Conflict", message: "the object has been modified" }, "DATASTORE_CONFLICT"],
  [
    409,
    { reason: "Conflict", message: "Precondition failed: UID in precondition: a, UID in object meta: b" },
    "DATASTORE_NOT_FOUND",
  ],
  [410, { reason: "Expired" }, "DATASTORE_EXPIRED"],
  [410, { reason: "Gone" }, "DATASTORE_EXPIRED"],
  [422, { reason: "Invalid" }, "DATASTORE_INVALID"],
  [429, { reason: "TooManyRequests" }, "DATASTORE_TOO_MANY_REQUESTS"],
  [500, { reason: "InternalError" }, "DATASTORE_FAILED"],
  [502, "<html>", "DATASTORE_CONNECTION_REFUSED"],
  [503, { reason: "ServiceUnavailable" }, "DATASTORE_CONNECTION_REFUSED"],
  [504, { reason: "Timeout", message: "request timed out" }, "DATASTORE_TIMEOUT"],
  [504, { reason: "Timeout", message: "Too large resource version: 9" }, "DATASTORE_REVISION_TOO_LARGE"],
  [
    504,
    { reason: "Timeout", details: { causes: [{ reason: "ResourceVersionTooLarge" }] } },
    "DATASTORE_REVISION_TOO_LARGE",
  ],
];

for (const [status, body, code] of ROWS) {
  test(`statusError() takes ${status} ${JSON.stringify(body)} as ${code}`, () => {
    assert.equal(statusError({ op: "List pods", status, body }).code, code);
  });
}

test("statusError() says what was done, what the server said, and how long it wants to be left alone", () => {
  const body = { message: "slow down", reason: "TooManyRequests", details: { retryAfterSeconds: 3 } };
  const error = statusError({ op: "List pods", status: 429, body });
  assert.equal(error.message, "List pods: slow down");
  assert.deepEqual(error.data, { status: 429, reason: "TooManyRequests", retryAfterMs: 3000 });
  assert.equal(retryAfterMsOf(error), 3000);
  assert.equal(retryAfterMsOf(statusError({ op: "List pods", status: 429, body, retryAfterMs: 7000 })), 7000);
  assert.equal(statusError({ op: "List pods", status: 500, body: "" }).message, "List pods: HTTP 500");
  assert.ok(statusError({ op: "List pods", status: 500, body: "x".repeat(10_000) }).message.length < 600);
});

test("networkError() tells nobody there from everything else, and leaves errors of this package alone", () => {
  const withCode = (code: string): Error => Object.assign(new Error(code), { code });
  for (const code of ["ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH", "ENOTFOUND", "ETIMEDOUT", "EPIPE"])
    assert.equal(networkError("List pods", withCode(code)).code, "DATASTORE_CONNECTION_REFUSED", code);
  const several = new AggregateError([withCode("ECONNREFUSED"), withCode("ENETUNREACH")], "");
  assert.equal(networkError("List pods", several).code, "DATASTORE_CONNECTION_REFUSED");
  assert.equal(networkError("List pods", withCode("CERT_HAS_EXPIRED")).code, "DATASTORE_FAILED");
  const own = new DatastoreError("x", { code: "DATASTORE_TIMEOUT" });
  assert.equal(networkError("List pods", own), own);
});
