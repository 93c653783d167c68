import assert from "node:assert/strict";
import { test } from "node:test";
import { type Address, parseAddress } from "@bulrush/ip";
import { IpSetMembers } from "./ip-set-members.ts";

function address(text: string): Address {
  return parseAddress(text) ?? assert.fail(text);
}

test("findAddress() finds the member that covers an address", () => {
  const set = new IpSetMembers("s:1", "NET");
  for (const member of ["10.0.0.0/8", "10.0.0.1/32", "fd00::/64", "fd01::1/128"]) set.add(member);
  const found = (text: string): string | undefined => set.findAddress(address(text));
  assert.equal(found("10.0.0.1"), "10.0.0.1/32");
  assert.equal(found("10.0.0.2"), "10.0.0.0/8");
  assert.equal(found("11.0.0.1"), undefined);
  assert.equal(found("fd00::5"), "fd00::/64");
  assert.equal(found("fd01::1"), "fd01::1/128");
  assert.equal(found("fd01::2"), undefined);
  set.delete("10.0.0.0/8");
  assert.equal(found("10.0.0.2"), undefined);
  assert.equal(set.delete("10.0.0.0/8"), false);
  set.replace("NET", ["11.0.0.0/8"]);
  assert.equal(found("11.0.0.1"), "11.0.0.0/8");
  assert.equal(found("fd00::5"), undefined);
});

test("findAddress() reads sets of addresses, bare or as networks of one", () => {
  const set = new IpSetMembers("all-istio-weps", "IP");
  set.add("10.0.0.1");
  set.add("10.0.0.3/32");
  assert.equal(set.findAddress(address("10.0.0.3")), "10.0.0.3/32");
  assert.equal(set.findAddress(address("10.0.0.1")), "10.0.0.1");
  assert.equal(set.findAddress(address("10.0.0.2")), undefined);
});

test("findPort() needs address, protocol and port", () => {
  const set = new IpSetMembers("n:1", "IP_AND_PORT");
  set.add("10.0.0.1,tcp:80");
  assert.equal(set.findPort(address("10.0.0.1"), "tcp", 80), "10.0.0.1,tcp:80");
  for (const [text, protocol, port] of [
    ["10.0.0.2", "tcp", 80],
    ["10.0.0.1", "udp", 80],
    ["10.0.0.1", "tcp", 81],
  ] as const)
    assert.equal(set.findPort(address(text), protocol, port), undefined);
});
