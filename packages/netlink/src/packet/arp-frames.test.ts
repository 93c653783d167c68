import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unhex } from "../testing/hex.ts";
import { arpAnnouncement, arpReply, readArpQuery } from "./arp-frames.ts";

const MAC = unhex("660000000001");
const HEAD = "ffffffffffff 660000000009 0806 0001 0800 06 04";
/** RFC 826: 192.0.2.9 asks for 192.0.2.77. */
const QUESTION = `${HEAD} 0001 660000000009 c0000209 000000000000 c000024d`;
const PROBE = `${HEAD} 0001 660000000009 00000000 000000000000 c000024d`;

const NO_QUESTIONS: readonly (readonly [what: string, hex: string])[] = [
  ["a reply", `${HEAD} 0002 660000000009 c0000209 660000000001 c000024d`],
  ["one who says that the address is its own", `${HEAD} 0001 660000000009 c000024d 000000000000 c000024d`],
  ["one whose MAC is a group", `${HEAD} 0001 ffffffffffff c0000209 000000000000 c000024d`],
  ["another kind of network", `ffffffffffff 660000000009 0806 0006 0800 06 04 0001 ${"00".repeat(20)}`],
  ["another protocol", `ffffffffffff 660000000009 0806 0001 86dd 06 04 0001 ${"00".repeat(20)}`],
  ["a reverse request", QUESTION.replace("0806", "8035")],
  ["a question that is cut short", QUESTION.slice(0, -2)],
  ["nothing", ""],
];

describe("readArpQuery()", () => {
  it("reads who asks for what, also one that has no address yet", () => {
    assert.deepEqual(readArpQuery(unhex(QUESTION)), {
      target: unhex("c000024d"),
      sender: unhex("c0000209"),
      senderMac: unhex("660000000009"),
    });
    assert.deepEqual(readArpQuery(unhex(PROBE))?.sender, unhex("00000000"));
  });

  it("reads a question with padding behind it, as every one is on a real network", () => {
    assert.deepEqual(readArpQuery(unhex(`${QUESTION} ${"00".repeat(18)}`)), readArpQuery(unhex(QUESTION)));
  });

  for (const [what, hex] of NO_QUESTIONS)
    it(`leaves ${what}`, () => {
      assert.equal(readArpQuery(unhex(hex)), undefined);
    });
});

describe("arpReply()", () => {
  for (const [what, question, sender] of [
    ["the one who asked", QUESTION, "c0000209"],
    ["the one who has no address yet", PROBE, "00000000"],
  ] as const)
    it(`tells ${what}, and nobody else`, () => {
      const query = readArpQuery(unhex(question));
      assert.ok(query !== undefined);
      const reply = `660000000009 660000000001 0806 0001 0800 06 04 0002 660000000001 c000024d 660000000009 ${sender}`;
      assert.deepEqual(arpReply(MAC, query), unhex(reply));
    });
});

describe("arpAnnouncement()", () => {
  it("is a request of everybody for the address that it comes from", () => {
    const frame = "ffffffffffff 660000000001 0806 0001 0800 06 04 0001 660000000001 c000024d 000000000000 c000024d";
    assert.deepEqual(arpAnnouncement(MAC, unhex("c000024d")), unhex(frame));
  });
});
