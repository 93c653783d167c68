import assert from "node:assert/strict";
import { test } from "node:test";
import { type Endpoint, formatEndpoint, hostAndPort, readEndpoint } from "./endpoint.ts";

const ROWS: readonly (readonly [text: string, isSecureByDefault: boolean, want: Endpoint | undefined])[] = [
  ["http://a:2379", true, { host: "a", port: 2379, isSecure: false }],
  ["https://a.example:1/", false, { host: "a.example", port: 1, isSecure: true }],
  ["HTTPS://a:1", false, { host: "a", port: 1, isSecure: true }],
  ["http://a", false, { host: "a", port: 2379, isSecure: false }],
  ["http://a:80", false, { host: "a", port: 80, isSecure: false }],
  ["10.0.0.1:2379", false, { host: "10.0.0.1", port: 2379, isSecure: false }],
  ["10.0.0.1:2379", true, { host: "10.0.0.1", port: 2379, isSecure: true }],
  ["http://[fd00::1]:2379", false, { host: "fd00::1", port: 2379, isSecure: false }],
  ["", false, undefined],
  ["http://", false, undefined],
  ["http://a:x", false, undefined],
  ["http://a:70000", false, undefined],
  ["http://u:p@a:1", false, undefined],
  ["http://a:1/path", false, undefined],
  ["http://a:1?b", false, undefined],
  ["unix:///run/etcd.sock", false, undefined],
  ["a b:1", false, undefined],
];

for (const [text, isSecureByDefault, want] of ROWS) {
  test(`readEndpoint() of "${text}"${isSecureByDefault ? " with certificates" : ""}`, () => {
    assert.deepEqual(readEndpoint(text, isSecureByDefault), want);
  });
}

test("formatEndpoint() and hostAndPort() put an IPv6 address in brackets", () => {
  assert.equal(formatEndpoint({ host: "fd00::1", port: 1, isSecure: true }), "https://[fd00::1]:1");
  assert.equal(hostAndPort({ host: "a", port: 2 }), "a:2");
});
