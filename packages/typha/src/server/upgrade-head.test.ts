import assert from "node:assert/strict";
import { test } from "node:test";
import { loadPath, MAX_HEAD_BYTES, readUpgradeHead } from "./upgrade-head.ts";

const GOOD =
  "GET /v1/sync HTTP/1.1\r\nHost: typha:5473\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Protocol: bulrush.sync.v1\r\n\r\n";

test("readUpgradeHead() reads a request, names in lower case, and keeps what follows", () => {
  const result = readUpgradeHead(Buffer.from(`${GOOD}xyz`));
  assert.equal(result.state, "complete");
  if (result.state !== "complete") return;
  assert.equal(result.request.method, "GET");
  assert.equal(result.request.url, "/v1/sync");
  assert.equal(result.request.headers["sec-websocket-key"], "dGhlIHNhbXBsZSBub25jZQ==");
  assert.equal(result.rest.toString(), "xyz");
});

test("readUpgradeHead() asks for more at every cut of a good request", () => {
  for (let length = 0; length < GOOD.length; length++) {
    assert.equal(readUpgradeHead(Buffer.from(GOOD.slice(0, length))).state, "more", `${length} bytes`);
  }
});

const BAD: readonly [name: string, text: string, httpStatus: number][] = [
  ["another path", GOOD.replace("/v1/sync", "/v2/sync"), 404],
  ["a query", GOOD.replace("/v1/sync", "/v1/sync?x"), 404],
  ["another method", GOOD.replace("GET", "POST"), 405],
  ["an old HTTP version", GOOD.replace("HTTP/1.1", "HTTP/1.0"), 400],
  ["no upgrade", GOOD.replace("Upgrade: websocket", "X: y"), 426],
  ["no subprotocol", GOOD.replace(/Sec-WebSocket-Protocol.*?\r\n/, ""), 400],
  ["another subprotocol", GOOD.replace("bulrush.sync.v1", "bulrush.sync.v9"), 400],
  ["a folded header", GOOD.replace("Host: typha:5473", "Host: typha\r\n :5473"), 400],
  ["a header without a colon", GOOD.replace("Host: typha:5473", "Host"), 400],
  ["a control character", GOOD.replace("typha:5473", "typha\0"), 400],
  ["a TLS hello on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400],
  ["binary noise", "\x00\x01\x02", 400],
  ["lower case noise", "hello", 400],
  ["a head that never ends", `GET /v1/sync HTTP/1.1\r\nX: ${"a".repeat(MAX_HEAD_BYTES)}`, 431],
  ["a head that ends too late", `${GOOD.slice(0, -2)}X: ${"a".repeat(MAX_HEAD_BYTES)}\r\n\r\n`, 431],
];

for (const [name, text, httpStatus] of BAD) {
  test(`readUpgradeHead() refuses ${name}`, () => {
    const result = readUpgradeHead(Buffer.from(text, "latin1"));
    assert.equal(result.state, "bad");
    assert.equal(result.state === "bad" ? result.httpStatus : 0, httpStatus);
  });
}

test("readUpgradeHead() joins repeated headers instead of letting the last one win", () => {
  const result = readUpgradeHead(Buffer.from(GOOD.replace("Host: typha:5473", "X: a\r\nx: b\r\n__proto__: c")));
  assert.equal(result.state === "complete" ? result.request.headers["x"] : "", "a, b");
});

test("readUpgradeHead() tells a question for the load from an upgrade", () => {
  const read = (line: string) => readUpgradeHead(Buffer.from(`${line} HTTP/1.1\r\nHost: a\r\n\r\n`));
  assert.deepEqual(read("GET /v1/load"), { state: "load", reserve: undefined });
  assert.deepEqual(read("GET /v1/load?reserve"), { state: "load", reserve: "" });
  assert.deepEqual(read("GET /v1/load?reserve=node-status"), { state: "load", reserve: "node-status" });
  for (const reserve of [undefined, "", "felix"])
    assert.deepEqual(read(`GET ${loadPath(reserve)}`), { state: "load", reserve });
  for (const line of ["POST /v1/load", "GET /v1/load?other", "GET /v1/load/"])
    assert.equal(read(line).state, "bad", line);
});
