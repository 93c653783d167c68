import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { unhex } from "../testing/hex.ts";
import { ndpAnnouncement, ndpReply, readNdpQuery, solicitedNodeGroup } from "./ndp-frames.ts";

const MAC = unhex("660000000001");
const FROM = unhex("fe800000000000000000000000000001");
/** fd00:9::77 */
const TARGET_HEX = "fd000009000000000000000000000077";
const TARGET = unhex(TARGET_HEX);

/** Ethernet, IPv6 head with length, next header and hop limit, source, destination, then the message. */
const GROUP_HEX = "ff0200000000000000000001ff000077";
const ASKER_HEX = "fe800000000000000000000000000009";
const SOLICITATION = `3333ff000077 660000000009 86dd 60000000 0020 3a ff ${ASKER_HEX} ${GROUP_HEX}
  87 00 1714 00000000 ${TARGET_HEX} 01 01 660000000009`;
const PROBE = `3333ff000077 660000000009 86dd 60000000 0018 3a ff ${"00".repeat(16)} ${GROUP_HEX}
  87 00 7cb0 00000000 ${TARGET_HEX}`;

const NO_QUESTIONS: readonly (readonly [what: string, hex: string])[] = [
  ["one that came over a router", SOLICITATION.replace("3a ff", "3a fe")],
  ["an advertisement", SOLICITATION.replace("87 00", "88 00")],
  ["one with a code", SOLICITATION.replace("87 00", "87 01")],
  ["one with a wrong checksum", SOLICITATION.replace("1714", "1715")],
  ["one that is shorter than it says", SOLICITATION.slice(0, -2)],
  ["one whose length has no room for an address", SOLICITATION.replace("0020 3a", "0010 3a")],
  ["UDP", SOLICITATION.replace("3a ff", "11 ff")],
  ["IPv4", SOLICITATION.replace("86dd", "0800")],
  ["a question for a group", PROBE.replaceAll(TARGET_HEX, "ff020000000000000000000000000001").replace("7cb0", "7b2d")],
  ["nothing", ""],
];

describe("readNdpQuery()", () => {
  it("reads who asks for what, also one that has no address yet", () => {
    assert.deepEqual(readNdpQuery(unhex(SOLICITATION)), {
      target: TARGET,
      source: unhex(ASKER_HEX),
      sourceMac: unhex("660000000009"),
    });
    assert.deepEqual(readNdpQuery(unhex(PROBE))?.source, new Uint8Array(16));
  });

  for (const [what, hex] of NO_QUESTIONS)
    it(`leaves ${what}`, () => {
      assert.equal(readNdpQuery(unhex(hex)), undefined);
    });
});

describe("readNdpQuery() of frames that are damaged", () => {
  it("reads what it was, or nothing", () => {
    const whole = unhex(SOLICITATION);
    const change = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 3 }), fc.nat(whole.length), (changes, length) => {
        const frame = whole.slice(0, length);
        for (const { at, to } of changes) if (at < length) frame[at] = to;
        const query = readNdpQuery(frame);
        // The checksum finds a change of 16 bits at one place, not each of several.
        if (query === undefined || changes.length > 1) return;
        assert.deepEqual(query.target, TARGET);
        assert.deepEqual(query.source, unhex(ASKER_HEX));
      }),
    );
  });
});

describe("ndpReply()", () => {
  it("tells the one who asked, with the MAC and the flags solicited and override", () => {
    const query = readNdpQuery(unhex(SOLICITATION));
    assert.ok(query !== undefined);
    const frame = `660000000009 660000000001 86dd 60000000 0020 3a ff fe800000000000000000000000000001 ${ASKER_HEX}
      88 00 b515 60000000 ${TARGET_HEX} 02 01 660000000001`;
    assert.deepEqual(ndpReply(MAC, FROM, query), unhex(frame));
  });

  it("tells everybody when the one who asked has no address yet", () => {
    const query = readNdpQuery(unhex(PROBE));
    assert.ok(query !== undefined);
    assert.deepEqual(ndpReply(MAC, FROM, query), ndpAnnouncement(MAC, FROM, TARGET));
  });
});

describe("ndpAnnouncement()", () => {
  it("tells all nodes, unasked", () => {
    const frame = `333300000001 660000000001 86dd 60000000 0020 3a ff fe800000000000000000000000000001
      ff020000000000000000000000000001 88 00 f49b 20000000 ${TARGET_HEX} 02 01 660000000001`;
    assert.deepEqual(ndpAnnouncement(MAC, FROM, TARGET), unhex(frame));
  });
});

describe("solicitedNodeGroup()", () => {
  it("is ff02::1:ff00:0/104 with the address's last three bytes (RFC 4291)", () => {
    assert.deepEqual(solicitedNodeGroup(TARGET), unhex(GROUP_HEX));
    const long = unhex("20010db8000000000000000000abcdef");
    assert.deepEqual(solicitedNodeGroup(long), unhex("ff0200000000000000000001ffabcdef"));
  });
});
