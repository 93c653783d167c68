import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { hasCode, must } from "@bulrush/base";
import { openNamespace } from "../namespace.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import type { RouteConnection } from "../route/route-connection.ts";
import { closeFd } from "../system/socket-fd.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { otherNamespace } from "../testing/other-namespace.ts";
import { type NeighbourResponder, openNeighbourResponder } from "./open-neighbour-responder.ts";

const HOST_MAC = "66:00:00:00:00:01";
const FAMILIES = [
  { family: 4, from: {}, subnet: "192.0.2.9/24", own: "192.0.2.77", other: "192.0.2.78" },
  { family: 6, from: { from: "fe80::1" }, subnet: "fd00:9::9/64", own: "fd00:9::77", other: "fd00:9::78" },
] as const;

/** linux/neighbour.h */
const NUD_INCOMPLETE = 1;
const NUD_REACHABLE = 2;

kernelTests(import.meta.filename, () => {
  let host: RouteConnection;
  let neighbour: RouteConnection;
  let device = 0;
  let far = 0;
  let path = "";
  let done: () => void;

  before(async () => {
    ({ done, path } = await otherNamespace());
    host = openRouteConnection();
    const namespaceFd = openNamespace(path);
    const peer = { name: "m0", mac: "66:00:00:00:00:09", namespaceFd };
    host.write({ kind: "add-veth", veth: { name: "h0", mac: HOST_MAC, up: true, peer } });
    closeFd(namespaceFd);
    neighbour = openRouteConnection({ namespace: path });
    neighbour.write({ kind: "change-link", link: "m0", change: { up: true } });
    device = must(host.link("h0"), "h0").index;
    far = must(neighbour.link("m0"), "m0").index;
    for (const { subnet } of FAMILIES)
      neighbour.write({ kind: "replace-address", address: { device: far, address: subnet, noDad: true } });
  });
  after(() => {
    neighbour.close();
    host.close();
    done();
  });

  /** Has the machine on the other side send to the address, for which it has to ask where that is. */
  const sendTo = (address: string): void => {
    const words = ["--net=" + path, "bash", "-c", `echo word > /dev/udp/${address}/9`];
    execFileSync("nsenter", words);
  };
  /** What the machine knows of the address. */
  const known = (address: string): { mac: string | undefined; state: number } | undefined => {
    const entry = neighbour.neighbours({ device: far }).find((one) => one.address === address);
    return entry && { mac: entry.mac, state: entry.state ?? 0 };
  };
  /** Answers until it is so. Asks again from time to time, since who asks gives up after three seconds. */
  const answerUntil = async (
    responder: NeighbourResponder,
    isSo: () => boolean,
    askAgain: () => void = () => undefined,
  ): Promise<void> => {
    for (let tries = 1; tries <= 6000; tries++) {
      responder.answer();
      if (isSo()) return;
      if (tries % 400 === 0) askAgain();
      await wait(10);
    }
    assert.fail("It did not come to that");
  };

  for (const { family, from, other, own } of FAMILIES)
    describe(`openNeighbourResponder() of IPv${family}`, () => {
      let responder: NeighbourResponder;
      before(() => {
        responder = openNeighbourResponder({ family, device, mac: HOST_MAC, ...from });
      });
      after(() => {
        responder.close();
        responder.close();
      });

      test("answers for the addresses that it has, and no others", async () => {
        responder.set([own]);
        sendTo(other);
        sendTo(own);
        await answerUntil(
          responder,
          () => known(own)?.mac === HOST_MAC,
          () => sendTo(own),
        );
        assert.equal(known(own)?.state, NUD_REACHABLE);
        assert.equal((known(other)?.state ?? NUD_INCOMPLETE) & NUD_REACHABLE, 0);
        assert.equal(known(other)?.mac, undefined);
      });

      test("announces what is new, and all of it when asked to: those who have another entry get it right", async () => {
        const wrong = { device: far, mac: "66:00:00:00:00:99", state: NUD_REACHABLE };
        for (const [address, announce] of [
          [other, () => responder.set([own, other])],
          [own, () => responder.announce()],
        ] as const) {
          neighbour.write({ kind: "replace-neighbour", neighbour: { ...wrong, address } });
          // An entry of the kernel is not replaced within the second that it is new (locktime).
          execFileSync("nsenter", [`--net=${path}`, "sh", "-c", "echo 0 > /proc/sys/net/ipv4/neigh/m0/locktime"]);
          assert.equal(known(address)?.mac, wrong.mac);
          announce();
          await answerUntil(responder, () => known(address)?.mac === HOST_MAC);
        }
      });

      test("answers no more for an address that it has no more", async () => {
        responder.set([other]);
        neighbour.write({ kind: "delete-neighbour", neighbour: { device: far, address: own } });
        neighbour.write({ kind: "delete-neighbour", neighbour: { device: far, address: other } });
        sendTo(own);
        sendTo(other);
        await answerUntil(
          responder,
          () => known(other)?.mac === HOST_MAC,
          () => sendTo(other),
        );
        assert.equal(known(own)?.mac, undefined);
      });
    });

  test("openNeighbourResponder() of IPv6 listens to the group of each address, as long as it has one of it", () => {
    const groups = (): string => execFileSync("ip", ["-6", "maddr", "show", "dev", "h0"], { encoding: "utf8" });
    const responder = openNeighbourResponder({ family: 6, device, mac: HOST_MAC, from: "fe80::1" });
    responder.set(["fd00:9::5", "fd00:9:1::5"]);
    assert.match(groups(), /ff02::1:ff00:5\b/);
    responder.set(["fd00:9::5"]);
    assert.match(groups(), /ff02::1:ff00:5\b/);
    responder.set([]);
    assert.doesNotMatch(groups(), /ff02::1:ff00:5\b/);
    const many = Array.from({ length: 500 }, (_, i) => `fd00:9::1:${(i + 1).toString(16)}`);
    responder.set(many);
    assert.match(groups(), /ff02::1:ff01:1f4\b/);
    responder.close();
    assert.doesNotMatch(groups(), /ff02::1:ff01:/);
  });

  test("openNeighbourResponder() of IPv6 keeps others from taking its addresses", async () => {
    const responder = openNeighbourResponder({ family: 6, device, mac: HOST_MAC, from: "fe80::1" });
    responder.set(["fd00:9::88"]);
    const shown = (): string =>
      execFileSync("nsenter", [`--net=${path}`, "ip", "-6", "addr", "show", "dev", "m0"], { encoding: "utf8" });
    // It asks once a second: on a busy machine one question may find nobody who looks in time.
    execFileSync("nsenter", [`--net=${path}`, "sh", "-c", "echo 60 > /proc/sys/net/ipv6/conf/m0/dad_transmits"]);
    execFileSync("nsenter", [`--net=${path}`, "ip", "addr", "add", "fd00:9::88/64", "dev", "m0"]);
    await answerUntil(responder, () => /fd00:9::88\S* .*dadfailed/.test(shown()));
    responder.close();
  });

  test("openNeighbourResponder() says so when its device is down, gone or was never there", () => {
    const responder = openNeighbourResponder({ family: 4, device, mac: HOST_MAC });
    responder.set(["192.0.2.77"]);
    host.write({ kind: "change-link", link: "h0", change: { up: false } });
    assert.throws(
      () => responder.answer(),
      (error) => hasCode(error, "NETLINK_SYSCALL"),
    );
    assert.throws(
      () => responder.announce(),
      (error) => hasCode(error, "NETLINK_SYSCALL"),
    );
    responder.close();
    assert.throws(
      () => openNeighbourResponder({ family: 4, device: 99_999, mac: HOST_MAC }),
      (error) => hasCode(error, "NETLINK_SYSCALL"),
    );
    for (const bad of [{ mac: "none" }, { family: 6, from: "192.0.2.1" }] as const)
      assert.throws(
        () => openNeighbourResponder({ family: 4, device, mac: HOST_MAC, ...bad }),
        (error) => hasCode(error, "NETLINK_ARGUMENT"),
      );
    const other = openNeighbourResponder({ family: 4, device, mac: HOST_MAC });
    assert.throws(
      () => other.set(["fd00::1"]),
      (error) => hasCode(error, "NETLINK_ARGUMENT"),
    );
    other.close();
  });
});
