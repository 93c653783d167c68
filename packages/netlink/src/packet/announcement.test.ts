import assert from "node:assert/strict";
import { test } from "node:test";
import { unhex } from "../testing/hex.ts";
import { isAnnouncement } from "./announcement.ts";

const HEAD = "ffffffffffff 660102030405";
/** Hardware and protocol types and lengths of Ethernet and IPv4, then the operation. */
const arp = (operation: string, sender: string, target: string): string =>
  `${HEAD} 0806 0001 0800 06 04 ${operation} 660102030405 ${sender} 000000000000 ${target}`;

const FRAMES: readonly (readonly [what: string, hex: string, isOne: boolean])[] = [
  ["a gratuitous request", arp("0001", "0a410002", "0a410002"), true],
  ["a gratuitous reply", arp("0002", "0a410002", "0a410002"), true],
  ["a request for another address", arp("0001", "0a410002", "a9fe0101"), false],
  ["a probe, which has no address yet", arp("0001", "00000000", "0a410002"), false],
  ["one of no address at all", arp("0001", "00000000", "00000000"), false],
  ["a reverse request", `${HEAD} 8035 0001 0800 06 04 0003`, true],
  ["an ARP that is cut short", `${HEAD} 0806 0001 0800 06 04 0001 660102030405 0a410002`, false],
  ["IPv4", `${HEAD} 0800 4500`, false],
  ["half a frame", "ffffff", false],
  ["nothing", "", false],
];

for (const [what, hex, isOne] of FRAMES)
  test(`isAnnouncement() says ${isOne ? "yes" : "no"} to ${what}`, () =>
    assert.equal(isAnnouncement(unhex(hex)), isOne));
