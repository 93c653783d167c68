import assert from "node:assert/strict";
import { writeSync } from "node:fs";
import { test } from "node:test";
import { must } from "@bulrush/base";
import { openRouteConnection } from "../route/open-route-connection.ts";
import { bindFd, closeFd, openSocketFd, SOCKET } from "../system/socket-fd.ts";
import { unhex } from "../testing/hex.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { openAnnouncementWatch } from "./open-announcement-watch.ts";

const ARP = "ffffffffffff 660102030405 0806 0001 0800 06 04 0001 660102030405";
const GRATUITOUS = unhex(`${ARP} 0a410002 000000000000 0a410002`);
const REQUEST = unhex(`${ARP} 0a410002 000000000000 0a410009`);
const REVERSE = unhex(
  "ffffffffffff 660102030405 8035 0001 0800 06 04 0003 660102030405 00000000 660102030405 00000000",
);

kernelTests(import.meta.filename, () => {
  test("openAnnouncementWatch() hears what the machine behind the device says, and not what goes to it", () => {
    const connection = openRouteConnection();
    connection.write({ kind: "add-veth", veth: { name: "h0", up: true, peer: { name: "m0" } } });
    connection.write({ kind: "change-link", link: "m0", change: { up: true } });
    const [host, machine] = ["h0", "m0"].map((name) => must(connection.link(name), name).index) as [number, number];
    const watch = openAnnouncementWatch(host);
    const sender = (device: number): ((frame: Uint8Array) => void) => {
      const fd = openSocketFd({ domain: 17, type: SOCKET.SOCK_RAW, protocol: 0 });
      const address = new Uint8Array(20);
      new DataView(address.buffer).setUint16(0, 17, true);
      new DataView(address.buffer).setInt32(4, device, true);
      bindFd(fd, address);
      return (frame) => {
        writeSync(fd, frame);
        closeFd(fd);
      };
    };
    assert.equal(watch.heard(), false);
    sender(host)(GRATUITOUS);
    sender(machine)(REQUEST);
    assert.equal(watch.heard(), false);
    sender(machine)(GRATUITOUS);
    assert.equal(watch.heard(), true);
    assert.equal(watch.heard(), false);
    sender(machine)(REVERSE);
    assert.equal(watch.heard(), true);
    watch.close();
    assert.equal(watch.heard(), false);
    assert.throws(() => openAnnouncementWatch(99_999));
    connection.write({ kind: "delete-link", link: "h0" });
    connection.close();
  });
});
