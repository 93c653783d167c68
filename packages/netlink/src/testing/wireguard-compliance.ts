import assert from "node:assert/strict";
import { test } from "node:test";
import { hasErrno } from "../errors.ts";
import type { WireguardConnection } from "../wireguard/wireguard.ts";
import { wireguardPublicKey } from "./fake-wireguard.ts";

/** A private key as it has to be (RFC 7748, section 5): the kernel makes it so, if it is not. */
const PRIVATE = Buffer.alloc(32, 0x40).toString("base64");
const OTHER = Buffer.from(Buffer.alloc(32, 0x48)).toString("base64");
const NONE = Buffer.alloc(32).toString("base64");
const PEER_1 = wireguardPublicKey(Buffer.alloc(32, 0x50).toString("base64"));
const PEER_2 = wireguardPublicKey(Buffer.alloc(32, 0x58).toString("base64"));

const NAME = "wg0";

/** Registers the tests that every WireguardConnection must pass. `open` gives one with a fresh device "wg0". */
export function wireguardCompliance(open: () => WireguardConnection): void {
  const peersOf = (wireguard: WireguardConnection): unknown =>
    wireguard
      .device(NAME)
      ?.peers.map(({ allowedIps, endpoint, keepaliveSeconds, publicKey }) => ({
        publicKey,
        endpoint,
        keepaliveSeconds,
        allowedIps: allowedIps.toSorted(),
      }))
      .sort((a, b) => (a.publicKey < b.publicKey ? -1 : 1));

  void test("device() gives undefined for a device that is not there", () => {
    const wireguard = open();
    assert.equal(wireguard.device("none"), undefined);
    wireguard.close();
  });

  void test("change() of a device that is not there is refused with ENODEV", () => {
    const wireguard = open();
    assert.throws(
      () => wireguard.change({ name: "none", port: 1 }),
      (error) => hasErrno(error, "ENODEV"),
    );
    wireguard.close();
  });

  void test("a fresh device has no key, no mark and no peers", () => {
    const wireguard = open();
    const device = wireguard.device(NAME);
    assert.deepEqual([device?.privateKey ?? NONE, device?.mark, device?.peers], [NONE, 0, []]);
    wireguard.close();
  });

  void test("change() sets key, port and mark, and only what it is given; the public key follows", () => {
    const wireguard = open();
    wireguard.change({ name: NAME, privateKey: PRIVATE, port: 51820, mark: 0x200000 });
    wireguard.change({ name: NAME, port: 51821 });
    const device = wireguard.device(NAME);
    assert.deepEqual(
      [device?.privateKey, device?.publicKey, device?.port, device?.mark],
      [PRIVATE, wireguardPublicKey(PRIVATE), 51821, 0x200000],
    );
    wireguard.change({ name: NAME, privateKey: OTHER });
    assert.equal(wireguard.device(NAME)?.publicKey, wireguardPublicKey(OTHER));
    wireguard.change({ name: NAME, privateKey: NONE });
    assert.equal(wireguard.device(NAME)?.privateKey ?? NONE, NONE);
    wireguard.close();
  });

  void test("change() makes, changes and removes peers", () => {
    const wireguard = open();
    const first = { publicKey: PEER_1, endpoint: "192.0.2.1:51820", keepaliveSeconds: 25, allowedIps: ["10.0.0.0/26"] };
    const second = {
      publicKey: PEER_2,
      endpoint: "[fd00::9]:51821",
      keepaliveSeconds: 0,
      allowedIps: ["fd00:1::/122"],
    };
    wireguard.change({ name: NAME, privateKey: PRIVATE, peers: [first, second] });
    const both = [first, second].sort((a, b) => (a.publicKey < b.publicKey ? -1 : 1));
    assert.deepEqual(peersOf(wireguard), both);
    wireguard.change({ name: NAME, peers: [{ publicKey: PEER_1, allowedIps: ["10.0.0.64/26", "10.0.0.1/32"] }] });
    wireguard.change({ name: NAME, peers: [{ publicKey: PEER_2, remove: true }] });
    assert.deepEqual(peersOf(wireguard), [{ ...first, allowedIps: ["10.0.0.1/32", "10.0.0.64/26"] }]);
    wireguard.change({ name: NAME, peers: [{ publicKey: PEER_2, remove: true }] });
    wireguard.change({ name: NAME, replacePeers: true, peers: [second] });
    assert.deepEqual(peersOf(wireguard), [second]);
    wireguard.change({ name: NAME, replacePeers: true });
    assert.deepEqual(peersOf(wireguard), []);
    wireguard.close();
  });

  void test("a network belongs to one peer: it moves to who gets it last", () => {
    const wireguard = open();
    const allowedIps = ["10.0.0.0/26", "10.0.0.64/26"];
    wireguard.change({ name: NAME, privateKey: PRIVATE, peers: [{ publicKey: PEER_1, allowedIps }] });
    wireguard.change({ name: NAME, peers: [{ publicKey: PEER_2, allowedIps: ["10.0.0.64/26"] }] });
    const networks = new Map(wireguard.device(NAME)?.peers.map((peer) => [peer.publicKey, peer.allowedIps]));
    assert.deepEqual([networks.get(PEER_1), networks.get(PEER_2)], [["10.0.0.0/26"], ["10.0.0.64/26"]]);
    wireguard.close();
  });

  void test("nobody is a peer of himself", () => {
    const wireguard = open();
    const own = { publicKey: wireguardPublicKey(PRIVATE), allowedIps: ["10.0.0.0/26"] };
    wireguard.change({ name: NAME, peers: [own] });
    wireguard.change({ name: NAME, privateKey: PRIVATE });
    assert.deepEqual(peersOf(wireguard), []);
    wireguard.change({ name: NAME, peers: [own] });
    assert.deepEqual(peersOf(wireguard), []);
    wireguard.close();
  });
}
