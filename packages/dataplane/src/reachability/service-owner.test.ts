import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hashOf, ownerOf } from "./service-owner.ts";

const HOSTS = Array.from({ length: 10 }, (_, i) => `host-${i}`);
const ADDRESSES = Array.from({ length: 1000 }, (_, i) => `192.0.${i >> 8}.${i & 255}`);
const hashed = (hosts: readonly string[]): [string, number][] => hosts.map((host) => [host, hashOf(host)]);

describe("ownerOf()", () => {
  it("is nobody among none, and the only one there is", () => {
    assert.equal(ownerOf("192.0.2.1", []), undefined);
    assert.equal(ownerOf("192.0.2.1", hashed(["oak"])), "oak");
  });

  it("is the same for every host, in whatever order it heard of the others", () => {
    for (const address of ADDRESSES)
      assert.equal(ownerOf(address, hashed(HOSTS)), ownerOf(address, hashed(HOSTS.toReversed())));
  });

  it("gives each host about its share", () => {
    const shares = new Map<string, number>();
    for (const address of ADDRESSES) {
      const owner = ownerOf(address, hashed(HOSTS)) ?? "";
      shares.set(owner, (shares.get(owner) ?? 0) + 1);
    }
    // 100 each; five standard deviations of a fair draw are 47.
    for (const host of HOSTS) assert.ok(Math.abs((shares.get(host) ?? 0) - 100) < 47, `${host} ${shares.get(host)}`);
  });

  it("moves the addresses of a host that goes, and no others", () => {
    const rest = HOSTS.slice(1);
    for (const address of ADDRESSES) {
      const before = ownerOf(address, hashed(HOSTS));
      if (before !== "host-0") assert.equal(ownerOf(address, hashed(rest)), before);
    }
  });

  it("is the one with the later name where two have one hash", () => {
    const same = [
      ["elm", 7],
      ["oak", 7],
    ] as const;
    assert.equal(ownerOf("192.0.2.1", same), "oak");
    assert.equal(ownerOf("192.0.2.1", same.toReversed()), "oak");
  });
});
