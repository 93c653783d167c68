import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressBytes, parseAddress } from "@bulrush/ip";
import { hasErrno } from "../errors.ts";
import { refusal } from "../message/kernel-answer.ts";
import { MessageReader } from "../message/message-reader.ts";
import { MessageWriter } from "../message/message-writer.ts";
import { NFGEN_BYTES, writeNfgen } from "../message/nfgen.ts";
import { addressText } from "../route/text-codec.ts";
import { CTA, decodeFlow } from "./flow-codec.ts";
import { conntrackOn } from "./open-conntrack.ts";

/** ctnetlink's messages of subsystem 1, and errnos of asm-generic/errno-base.h. */
const NEW = 0x100;
const DELETE = 0x102;
const ENOENT = 2;
const EBUSY = 16;

/** A kernel of flows from one address each, without a filtered delete, as before Linux 6.9. */
class Flows {
  readonly sources: Set<string>;
  readonly tried: string[] = [];
  /** What the deletion of a flow is answered with. */
  readonly #answers: ReadonlyMap<string, number>;

  constructor(sources: readonly string[], answers: ReadonlyMap<string, number>) {
    this.sources = new Set(sources);
    this.#answers = answers;
  }

  dump<T>(
    _op: string,
    _type: number,
    build: (writer: MessageWriter) => void,
    decode: (message: MessageReader) => T | undefined,
  ): T[] {
    const request = inMessage(build);
    const isIPv6 = request.u8(0) === 10;
    const listed = [...this.sources].filter((source) => source.includes(":") === isIPv6);
    return listed.flatMap((source) => decode(inMessage((writer) => writeFlow(writer, source))) ?? []);
  }

  request(op: string, type: number, _flags: number, build: (writer: MessageWriter) => void): void {
    assert.equal(type, DELETE);
    const message = inMessage(build);
    const attributes = message.attributes(NFGEN_BYTES);
    while (attributes.next()) assert.notEqual(attributes.type, CTA.FILTER, "one by one");
    // Of what names a flow only its original tuple is sent.
    const source = decodeFlow(inMessage((writer) => writeFlow(writer, readSource(message))))?.original.source ?? "";
    this.tried.push(source);
    const errno = this.#answers.get(source) ?? 0;
    if (errno !== 0) throw refusal(op, { seq: 1, errno });
    this.sources.delete(source);
  }

  close(): void {}
}

function inMessage(build: (writer: MessageWriter) => void): MessageReader {
  const writer = new MessageWriter();
  writer.message(NEW, 0, 1);
  build(writer);
  writer.endMessage();
  const reader = new MessageReader(writer.bytes.slice());
  assert.ok(reader.next());
  return reader;
}

/** linux/netfilter/nfnetlink_conntrack.h: tuples {IP 1 {V4_SRC 1, V4_DST 2, V6_SRC 3, V6_DST 4}, PROTO 2 {NUM 1}}. */
function writeFlow(writer: MessageWriter, source: string): void {
  const isIPv6 = source.includes(":");
  const peer = isIPv6 ? "fd00::99" : "10.0.0.99";
  writeNfgen(writer, isIPv6 ? 10 : 2);
  for (const [type, from, to] of [
    [CTA.TUPLE_ORIG, source, peer],
    [CTA.TUPLE_REPLY, peer, source],
  ] as const) {
    const tuple = writer.nest(type);
    const ip = writer.nest(1);
    for (const [i, text] of [from, to].entries()) {
      const address = parseAddress(text);
      assert.ok(address !== undefined);
      writer.attrBytes(i + (isIPv6 ? 3 : 1), addressBytes(address));
    }
    writer.endNest(ip);
    const protocol = writer.nest(2);
    writer.attrU8(1, 17);
    writer.endNest(protocol);
    writer.endNest(tuple);
  }
}

function readSource(message: MessageReader): string {
  const attributes = message.attributes(NFGEN_BYTES);
  while (attributes.next()) {
    if (attributes.type !== CTA.TUPLE_ORIG) continue;
    const ip = attributes.nested();
    assert.ok(ip.next() && ip.type === 1);
    const source = ip.nested();
    assert.ok(source.next() && (source.type === 1 || source.type === 3));
    return addressText(source.bytes()) ?? assert.fail("No address");
  }
  return assert.fail("No flow is named");
}

describe("conntrackOn() a kernel that refuses to delete some flows", () => {
  const SOURCES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];

  for (const [what, run] of [
    ["deleteFlowsOf()", (flows: Flows) => conntrackOn(flows, "listed").deleteFlowsOf(SOURCES)],
    ["deleteFlowsWhere()", (flows: Flows) => conntrackOn(flows, "listed").deleteFlowsWhere(() => true)],
  ] as const) {
    it(`${what} deletes all others, and then says that one is in a flow table (EBUSY)`, () => {
      const flows = new Flows(
        SOURCES,
        new Map([
          ["10.0.0.2", EBUSY],
          ["10.0.0.3", EBUSY],
        ]),
      );
      assert.throws(
        () => void run(flows),
        (error) => hasErrno(error, "EBUSY"),
      );
      assert.deepEqual([...flows.sources], ["10.0.0.2", "10.0.0.3"]);
      assert.deepEqual(flows.tried, SOURCES, "each once");
    });

    it(`${what} takes a flow that has ended meanwhile (ENOENT) for one that is deleted`, () => {
      const flows = new Flows(SOURCES, new Map([["10.0.0.2", ENOENT]]));
      run(flows);
      assert.deepEqual(flows.tried, SOURCES);
    });
  }

  for (const [what, run] of [
    ["deleteFlowsOf()", (flows: Flows) => conntrackOn(flows, "listed").deleteFlowsOf(["10.0.0.2", "fd00::2"])],
    ["deleteFlowsWhere()", (flows: Flows) => conntrackOn(flows, "listed").deleteFlowsWhere(() => true)],
  ] as const)
    it(`${what} deletes those of IPv6 too, where one of IPv4 is refused`, () => {
      const flows = new Flows(["10.0.0.2", "fd00::2"], new Map([["10.0.0.2", EBUSY]]));
      assert.throws(
        () => void run(flows),
        (error) => hasErrno(error, "EBUSY"),
      );
      assert.deepEqual([...flows.sources], ["10.0.0.2"]);
    });

  it("deleteFlowsOf() leaves the flows of other addresses", () => {
    const flows = new Flows(SOURCES, new Map());
    conntrackOn(flows, "listed").deleteFlowsOf(["10.0.0.2"]);
    assert.deepEqual([...flows.sources], ["10.0.0.1", "10.0.0.3", "10.0.0.4"]);
  });
});
