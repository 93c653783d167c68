import assert from "node:assert/strict";
import { test } from "node:test";
import { hasCode } from "@bulrush/base";
import { type Address, addressBytes, parseAddress } from "@bulrush/ip";
import { NETLINK_NETFILTER, NLM_F } from "../message/header.ts";
import type { MessageWriter } from "../message/message-writer.ts";
import { writeNfgen } from "../message/nfgen.ts";
import { NetlinkSocket } from "../socket/netlink-socket.ts";
import { kernelTests } from "../testing/kernel-tests.ts";
import type { Flow, FlowFilter } from "./flow.ts";
import { openConntrack } from "./open-conntrack.ts";

const CT_NEW = 1 << 8;
/** linux/netfilter/nfnetlink_conntrack.h */
const CTA = { TUPLE_ORIG: 1, TUPLE_REPLY: 2, TIMEOUT: 7 };

/** Puts a UDP flow into the table, as if its first packet had been seen. */
function addFlow(socket: NetlinkSocket, source: string, destination: string, port: number): void {
  const [from, to] = [parse(source), parse(destination)];
  socket.request("Add flow", CT_NEW, NLM_F.CREATE | NLM_F.EXCL, (writer) => {
    writeNfgen(writer, from.family === 4 ? 2 : 10);
    writeTuple(writer, CTA.TUPLE_ORIG, from, to, 1000, port);
    writeTuple(writer, CTA.TUPLE_REPLY, to, from, port, 1000);
    writer.attrU32be(CTA.TIMEOUT, 600);
  });
}

function parse(text: string): Address {
  const address = parseAddress(text);
  assert.ok(address !== undefined);
  return address;
}

function writeTuple(
  writer: MessageWriter,
  type: number,
  from: Address,
  to: Address,
  fromPort: number,
  toPort: number,
): void {
  const tuple = writer.nest(type);
  const ip = writer.nest(1);
  writer.attrBytes(from.family === 4 ? 1 : 3, addressBytes(from));
  writer.attrBytes(from.family === 4 ? 2 : 4, addressBytes(to));
  writer.endNest(ip);
  const protocol = writer.nest(2);
  writer.attrU8(1, 17);
  writer.attrU16be(2, fromPort);
  writer.attrU16be(3, toPort);
  writer.endNest(protocol);
  writer.endNest(tuple);
}

/** source>destination of the flows that are left. */
function fill(): { socket: NetlinkSocket; left: (filter?: FlowFilter) => string[] } {
  const socket = NetlinkSocket.open(NETLINK_NETFILTER);
  const conntrack = openConntrack();
  const left = (filter?: FlowFilter): string[] =>
    conntrack
      .flows(filter)
      .map(({ original }) => `${original.source}>${original.destination}`)
      .sort();
  for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1", "fd00::2", "fd00::3"]) {
    conntrack.deleteFlowsOf([address]);
    conntrack.deleteFlows({ originalDestination: address });
  }
  addFlow(socket, "10.0.0.1", "10.0.0.2", 53);
  addFlow(socket, "10.0.0.2", "10.0.0.1", 54);
  addFlow(socket, "10.0.0.2", "10.0.0.3", 55);
  addFlow(socket, "fd00::1", "fd00::2", 56);
  addFlow(socket, "fd00::3", "fd00::1", 57);
  return { socket, left };
}

const ALL = ["10.0.0.1>10.0.0.2", "10.0.0.2>10.0.0.1", "10.0.0.2>10.0.0.3", "fd00::1>fd00::2", "fd00::3>fd00::1"];

kernelTests(import.meta.filename, () => {
  test("flows() lists flows of both families with ports and protocol", () => {
    const { left } = fill();
    assert.deepEqual(left(), ALL);
    const flow = openConntrack().flows({ originalSource: "10.0.0.1" });
    assert.equal(flow.length, 1);
    assert.deepEqual(
      { ...flow[0], status: 0 },
      {
        family: 4,
        protocol: 17,
        original: { source: "10.0.0.1", destination: "10.0.0.2", sourcePort: 1000, destinationPort: 53 },
        reply: { source: "10.0.0.2", destination: "10.0.0.1", sourcePort: 53, destinationPort: 1000 },
        status: 0,
        mark: 0,
        zone: 0,
      },
    );
  });

  test("flows() filters by each address of each direction", () => {
    const { left } = fill();
    assert.deepEqual(left({ originalSource: "10.0.0.2" }), ["10.0.0.2>10.0.0.1", "10.0.0.2>10.0.0.3"]);
    assert.deepEqual(left({ originalDestination: "10.0.0.3" }), ["10.0.0.2>10.0.0.3"]);
    assert.deepEqual(left({ replySource: "10.0.0.1" }), ["10.0.0.2>10.0.0.1"]);
    assert.deepEqual(left({ replyDestination: "10.0.0.1" }), ["10.0.0.1>10.0.0.2"]);
    assert.deepEqual(left({ originalSource: "10.0.0.2", originalDestination: "10.0.0.1" }), ["10.0.0.2>10.0.0.1"]);
    assert.deepEqual(left({ originalSource: "fd00::1" }), ["fd00::1>fd00::2"]);
    assert.deepEqual(left({ originalSource: "10.9.9.9" }), []);
  });

  for (const deletion of ["auto", "listed"] as const) {
    test(`deleteFlows() removes exactly what matches (${deletion})`, () => {
      const { left } = fill();
      const conntrack = openConntrack({ deletion });
      conntrack.deleteFlows({ originalSource: "10.9.9.9" });
      assert.deepEqual(left(), ALL);
      conntrack.deleteFlows({ originalSource: "10.0.0.2", originalDestination: "10.0.0.1" });
      assert.deepEqual(left(), ["10.0.0.1>10.0.0.2", "10.0.0.2>10.0.0.3", "fd00::1>fd00::2", "fd00::3>fd00::1"]);
      conntrack.deleteFlows({ replySource: "fd00::2" });
      assert.deepEqual(left(), ["10.0.0.1>10.0.0.2", "10.0.0.2>10.0.0.3", "fd00::3>fd00::1"]);
    });

    test(`deleteFlowsOf() removes what the address started or answers (${deletion})`, () => {
      const { left } = fill();
      openConntrack({ deletion }).deleteFlowsOf(["10.0.0.1"]);
      assert.deepEqual(left(), ["10.0.0.2>10.0.0.3", "fd00::1>fd00::2", "fd00::3>fd00::1"]);
      openConntrack({ deletion }).deleteFlowsOf(["fd00::2"]);
      assert.deepEqual(left(), ["10.0.0.2>10.0.0.3", "fd00::3>fd00::1"]);
    });
  }

  test("deleteFlowsOf() takes few and many addresses of both families, and refuses what is none", () => {
    const many = Array.from({ length: 20 }, (_, i) => `10.9.9.${i}`);
    const { left } = fill();
    openConntrack().deleteFlowsOf([...many, "10.0.0.3", "fd00:0::2"]);
    assert.deepEqual(left(), ["10.0.0.1>10.0.0.2", "10.0.0.2>10.0.0.1", "fd00::3>fd00::1"]);
    openConntrack().deleteFlowsOf(["10.0.0.1", "fd00::3"]);
    assert.deepEqual(left(), []);
    openConntrack().deleteFlowsOf([]);
    assert.throws(
      () => openConntrack().deleteFlowsOf(["10.0.0.2", "10.0.0.0/8"]),
      (error) => hasCode(error, "NETLINK_ARGUMENT"),
    );
  });

  test("deleteFlowsWhere() removes what it is told to, of both families, and counts it", () => {
    const { left } = fill();
    const ports = new Set([54, 55, 57]);
    const isVictim = ({ original }: Flow): boolean => ports.has(original.destinationPort ?? 0);
    assert.equal(openConntrack().deleteFlowsWhere(isVictim), 3);
    assert.deepEqual(left(), ["10.0.0.1>10.0.0.2", "fd00::1>fd00::2"]);
    assert.equal(openConntrack().deleteFlowsWhere(isVictim), 0);
  });

  test("deleteFlows() refuses a filter that is empty, unreadable or of two families", () => {
    const { left } = fill();
    const conntrack = openConntrack();
    const bad: FlowFilter[] = [{}, { originalSource: "" }, { originalSource: "10.0.0.1", replySource: "fd00::1" }];
    for (const filter of bad)
      assert.throws(
        () => conntrack.deleteFlows(filter),
        (error) => hasCode(error, "NETLINK_ARGUMENT"),
      );
    assert.deepEqual(left(), ALL);
  });
});
