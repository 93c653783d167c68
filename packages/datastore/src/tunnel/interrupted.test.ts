import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Block, CALICO_V3, type NodeResource, type Resource } from "@bulrush/model";
import type { DatastoreWriter } from "../driver/writer.ts";
import { DatastoreError } from "../errors.ts";
import { type MemoryWriter, memoryWriter } from "../testing/memory-writer.ts";
import { assignmentAt, emptyBlock, readBlock, withOwner } from "./block.ts";
import { reconcileTunnelAddresses } from "./reconcile-node.ts";

const { signal } = new AbortController();
const HANDLE = "ipip-tunnel-addr-n1";
const OURS = { handle: HANDLE, attributes: { node: "n1", type: "ipipTunnelAddress" } };

function resource(kind: string, name: string, spec: object): Resource {
  return { apiVersion: CALICO_V3, kind, metadata: { name }, spec };
}

const at = (address: string): Resource => resource("Node", "n1", { bgp: { ipv4IPIPTunnelAddr: address } });
const pool = (name: string, cidr: string, ipipMode = "Always"): Resource =>
  resource("IPPool", name, { cidr, ipipMode, blockSize: 30 });
const POOL = pool("p", "10.0.0.0/30");
const block = (value: Block): Resource => resource("IPAMBlock", value.cidr.replaceAll(/[./]/g, "-"), value);
const handle = (cidr: string): Resource => resource("IPAMHandle", HANDLE, { handleID: HANDLE, block: { [cidr]: 1 } });

const WORLDS: Readonly<Record<string, readonly Resource[]>> = {
  "a new node": [resource("Node", "n1", {}), POOL],
  "an address of nobody": [
    at("10.0.0.0"),
    POOL,
    block(withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, { handle: "", attributes: {} })),
  ],
  "an address of the wrong pool": [
    at("10.9.0.0"),
    POOL,
    pool("old", "10.9.0.0/30", "Never"),
    block(withOwner(emptyBlock("10.9.0.0/30", "n1", 0), 0, OURS)),
    handle("10.9.0.0/30"),
  ],
  "an address that no pool asks for": [
    at("10.0.0.0"),
    pool("p", "10.0.0.0/30", "Never"),
    block(withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, OURS)),
    handle("10.0.0.0/30"),
  ],
};

function filled(resources: readonly Resource[]): MemoryWriter {
  const writer = memoryWriter({ type: "file" });
  for (const one of resources) writer.put(one);
  return writer;
}

/** The store as one sees it whose process, or connection, ends with a write: before it is done, or after. */
function endingAt(writer: MemoryWriter, last: number, isDone: boolean): DatastoreWriter {
  let writes = 0;
  const gone = (): Promise<never> => Promise.reject(new DatastoreError("Gone", { code: "DATASTORE_TIMEOUT" }));
  const write = async <T>(work: () => Promise<T>): Promise<T> => {
    if (++writes < last) return work();
    if (writes === last && isDone) await work();
    return gone();
  };
  return {
    ...writer,
    get: (...args) => (writes < last ? writer.get(...args) : gone()),
    create: (...args) => write(() => writer.create(...args)),
    update: (...args) => write(() => writer.update(...args)),
    delete: (...args) => write(() => writer.delete(...args)),
  };
}

const reconcile = (writer: DatastoreWriter): Promise<unknown> =>
  reconcileTunnelAddresses(writer, { node: "n1", signal, now: () => 0 });

/** Every address that is under our handle, or nobody's. */
async function heldIn(writer: MemoryWriter): Promise<number> {
  let count = 0;
  for await (const page of writer.list({ apiVersion: CALICO_V3, kind: "IPAMBlock" }, signal))
    for (const { resource: one } of page) {
      const read = readBlock(one.spec);
      assert.ok(read !== undefined);
      count += read.block.allocations.filter((_, ordinal) => assignmentAt(read, ordinal) !== undefined).length;
    }
  return count;
}

describe("whatever write a run ends with, the next run leaves one address a device, counted once", () => {
  for (const [title, resources] of Object.entries(WORLDS)) {
    test(title, async () => {
      const whole = filled(resources);
      await reconcile(whole);
      assert.ok(whole.calls.length > 0);
      for (let last = 1; last <= whole.calls.length; last++) {
        for (const isDone of [false, true]) {
          const writer = filled(resources);
          await assert.rejects(reconcile(endingAt(writer, last, isDone)), { code: "DATASTORE_TIMEOUT" });
          await reconcile(writer);
          const spec = writer.find("Node", "n1")?.spec as NodeResource["spec"];
          const wanted = title === "an address that no pool asks for" ? 0 : 1;
          const where = `after ${whole.calls[last - 1]}, ${isDone ? "done" : "not done"}`;
          assert.equal(spec?.bgp === undefined ? 0 : 1, wanted, where);
          assert.equal(await heldIn(writer), wanted, where);
          const counted = (writer.find("IPAMHandle", HANDLE)?.spec ?? { block: {} }) as { block: object };
          assert.deepEqual(Object.values(counted.block), wanted === 0 ? [] : [1], where);
        }
      }
    });
  }
});
