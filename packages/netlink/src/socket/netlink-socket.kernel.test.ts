import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { hasCode } from "@bulrush/base";
import { NetlinkError } from "../errors.ts";
import { NETLINK_ROUTE, NLM_F } from "../message/header.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { writeLinkBody } from "../route/link-codec.ts";
import { openRouteConnection } from "../route/open-route-connection.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import { NetlinkSocket } from "./netlink-socket.ts";

const RTM_GETLINK = 18;
const RTM_DELLINK = 17;

function open(options: Parameters<typeof NetlinkSocket.open>[1] = {}): NetlinkSocket {
  return NetlinkSocket.open(NETLINK_ROUTE, options);
}

/** Messages that each are refused (no such link), the last one acknowledged. */
function refusedMessages(socket: NetlinkSocket, count: number): { bytes: Uint8Array; seqs: Set<number>; last: number } {
  const writer = new MessageWriter();
  const seqs = new Set<number>();
  let last = 0;
  for (let i = 0; i < count; i++) {
    last = socket.nextSeq();
    seqs.add(last);
    writer.message(RTM_DELLINK, NLM_F.REQUEST | (i === count - 1 ? NLM_F.ACK : 0), last);
    writeLinkBody(writer, 1_000_000 + i);
    writer.endMessage();
  }
  return { bytes: writer.bytes, seqs, last };
}

kernelTests(import.meta.filename, () => {
  test("request() throws the kernel's refusal with errno and text", () => {
    const socket = open();
    assert.throws(
      () => socket.request("Delete link", RTM_DELLINK, 0, (writer) => writeLinkBody(writer, 999)),
      (error) =>
        error instanceof NetlinkError &&
        error.code === "NETLINK_REFUSED" &&
        error.errnoName === "ENODEV" &&
        error.errno === 19 &&
        error.op === "Delete link",
    );
    assert.equal(
      socket.dump(
        "List links",
        RTM_GETLINK,
        (writer) => writeLinkBody(writer),
        () => 1,
      ).length,
      1,
    );
    socket.close();
  });

  test("the answer of an abandoned request is not taken for that of the next", () => {
    const socket = open();
    socket.send("Abandoned", refusedMessages(socket, 3).bytes);
    let messages = 0;
    socket.request(
      "Get link",
      RTM_GETLINK,
      0,
      (writer) => writeLinkBody(writer, 1),
      () => messages++,
    );
    assert.equal(messages, 1);
    socket.close();
  });

  test("exchange() gives every refusal by its sequence number", () => {
    const socket = open();
    const { bytes, seqs, last } = refusedMessages(socket, 50);
    const { refusals, lost } = socket.exchange("Delete links", bytes, last, (seq) => seqs.has(seq));
    assert.deepEqual(
      refusals.map(({ seq }) => seq),
      [...seqs],
    );
    assert.ok(!lost);
    socket.close();
  });

  test("send() of more than the send buffer fails with the sizes, and the socket goes on", () => {
    const socket = open({ sendBufferBytes: 1 });
    assert.throws(
      () => socket.send("Send much", new Uint8Array(socket.maxSendBytes + 1)),
      (error) =>
        error instanceof NetlinkError &&
        error.code === "NETLINK_TOO_LARGE" &&
        error.errnoName === "EMSGSIZE" &&
        error.data["bytes"] === socket.maxSendBytes + 1 &&
        error.data["limit"] === socket.maxSendBytes,
    );
    assert.equal(
      socket.dump(
        "List links",
        RTM_GETLINK,
        (writer) => writeLinkBody(writer),
        () => 1,
      ).length,
      1,
    );
    socket.close();
  });

  test("a write of exactly maxSendBytes is accepted", () => {
    const socket = open({ sendBufferBytes: 1 });
    const message = refusedMessages(socket, 1).bytes;
    const bytes = new Uint8Array(socket.maxSendBytes);
    bytes.set(message);
    socket.send("Send the most", bytes);
    socket.close();
  });

  test("an overrun of the receive buffer is told, not fatal, and the socket goes on", () => {
    const socket = open({ receiveBufferBytes: 1 });
    const { bytes, seqs, last } = refusedMessages(socket, 500);
    const { refusals, lost } = socket.exchange("Delete links", bytes, last, (seq) => seqs.has(seq));
    assert.ok(lost);
    assert.ok(refusals.length > 0 && refusals.length < 500);
    assert.equal(
      socket.dump(
        "List links",
        RTM_GETLINK,
        (writer) => writeLinkBody(writer),
        () => 1,
      ).length,
      1,
    );
    socket.close();
  });

  test("receive() throws NETLINK_OVERRUN once, then gives what is left", () => {
    const socket = open({ receiveBufferBytes: 1 });
    socket.send("Delete links", refusedMessages(socket, 500).bytes);
    assert.throws(
      () => socket.receive("Receive"),
      (error) => hasCode(error, "NETLINK_OVERRUN"),
    );
    assert.ok(socket.receive("Receive") !== undefined);
    socket.drain();
    assert.equal(socket.receive("Receive"), undefined);
    socket.close();
  });

  test("a dump whose decoder throws is read to its end, so that the next one works", () => {
    const socket = open();
    for (let i = 0; i < 3; i++)
      assert.throws(
        () =>
          socket.dump(
            "List links",
            RTM_GETLINK,
            (writer) => writeLinkBody(writer),
            () => {
              throw new Error("bad link");
            },
          ),
        /bad link/,
      );
    assert.equal(
      socket.dump(
        "List links",
        RTM_GETLINK,
        (writer) => writeLinkBody(writer),
        () => 1,
      ).length,
      1,
    );
    socket.close();
  });

  describe("a dump that changes meanwhile", () => {
    /** More links than one datagram of a dump has room for. */
    const PAIRS = 40;
    const changer = openRouteConnection();
    let changes = 0;
    /** Links change as the first message of each listing is looked at: what comes after it is marked as interrupted. */
    const list = (socket: NetlinkSocket, most: number): { tries: number; links: number } => {
      let tries = 0;
      let seen = 0;
      const links = socket.dump(
        "List links",
        RTM_GETLINK,
        (writer) => writeLinkBody(writer),
        (message) => {
          if (message.i32(4) !== 1) return ++seen;
          tries++;
          if (tries <= most)
            changer.write({ kind: "add-veth", veth: { name: `c${changes++}`, peer: { name: `d${changes}` } } });
          return ++seen;
        },
      );
      return { tries, links: links.length };
    };

    before(() => {
      for (let i = 0; i < PAIRS; i++)
        changer.write({ kind: "add-veth", veth: { name: `a${i}`, peer: { name: `b${i}` } } });
    });
    after(() => {
      for (const { index, name } of changer.links())
        if (/^[ac][0-9]/.test(name)) changer.write({ kind: "delete-link", link: index });
      changer.close();
    });

    test("is done again, and gives all of the links that are there then, each once", () => {
      const socket = open();
      assert.deepEqual(list(socket, 0), { tries: 1, links: 1 + 2 * PAIRS });
      assert.deepEqual(list(socket, 2), { tries: 3, links: 1 + 2 * (PAIRS + 2) });
      socket.close();
    });

    test("fails after eight tries rather than give a part, and the socket goes on", () => {
      const socket = open();
      assert.throws(
        () => list(socket, 8),
        (error) => hasCode(error, "NETLINK_DUMP_INTERRUPTED"),
      );
      assert.equal(list(socket, 0).links, changer.links().length);
      socket.close();
    });
  });

  test("a closed socket refuses with its code", () => {
    const socket = open();
    socket.close();
    socket.close();
    assert.throws(
      () => socket.request("Get link", RTM_GETLINK, 0, (writer) => writeLinkBody(writer, 1)),
      (error) => hasCode(error, "NETLINK_CLOSED"),
    );
  });

  test("buffers are read back, whether they could be forced or not", () => {
    const socket = open({ sendBufferBytes: 256 * 1024 * 1024 });
    // In this user namespace force is not allowed, so that the system's bound holds.
    assert.ok(socket.maxSendBytes >= 200 * 1024);
    assert.ok(socket.maxSendBytes < 256 * 1024 * 1024);
    socket.close();
  });
});
