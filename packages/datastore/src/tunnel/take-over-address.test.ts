import assert from "node:assert/strict";
import { test } from "node:test";
import { type Block, CALICO_V3 } from "@bulrush/model";
import { type MemoryWriter, memoryWriter } from "../testing/memory-writer.ts";
import { takeOverAddress } from "./take-over-address.ts";

const { signal } = new AbortController();
const ADDRESS = "10.0.0.2";
const SOURCE = { namespace: "vms", pod: "launcher-1", node: "oak", timestamp: "t1" };
const TARGET = { namespace: "vms", pod: "launcher-2", node: "elm", timestamp: "t2" };
const OTHER = { namespace: "default", pod: "web", node: "oak" };

function world(owner: object | undefined, next: object | undefined): MemoryWriter {
  const writer = memoryWriter({ type: "file" });
  const pool = { cidr: "10.0.0.0/16", blockSize: 30 };
  writer.put({ apiVersion: CALICO_V3, kind: "IPPool", metadata: { name: "p" }, spec: pool });
  const spec = {
    cidr: "10.0.0.0/30",
    affinity: "host:oak",
    allocations: [null, 0, 1, null],
    unallocated: [0, 3],
    attributes: [
      { handle_id: "pod", secondary: OTHER },
      { handle_id: "vm", ...(owner && { secondary: owner }), ...(next && { alternateOwnerAttrs: next }) },
    ],
    sequenceNumber: 7,
    deleted: false,
  };
  writer.put({ apiVersion: CALICO_V3, kind: "IPAMBlock", metadata: { name: "10-0-0-0-30" }, spec });
  return writer;
}

const take = (writer: MemoryWriter, address = ADDRESS): Promise<boolean> =>
  takeOverAddress(writer, { address, pod: { namespace: "vms", name: "launcher-2" }, signal });
const block = (writer: MemoryWriter): Block => writer.find("IPAMBlock", "10-0-0-0-30")?.spec as unknown as Block;

test("takeOverAddress() lets owner and next owner change places, and leaves all else as it is", async () => {
  const writer = world(SOURCE, TARGET);
  const before = block(writer);
  assert.equal(await take(writer), true);
  assert.deepEqual(block(writer), {
    ...before,
    attributes: [before.attributes[0], { handle_id: "vm", secondary: TARGET, alternateOwnerAttrs: SOURCE }],
  });
});

test("takeOverAddress() makes the next owner the only one where the first has gone already", async () => {
  const writer = world(undefined, TARGET);
  assert.equal(await take(writer), true);
  assert.deepEqual(block(writer).attributes[1], { handle_id: "vm", secondary: TARGET });
});

test("takeOverAddress() writes nothing where the pod is the owner", async () => {
  for (const next of [SOURCE, undefined]) {
    const writer = world(TARGET, next);
    assert.equal(await take(writer), false);
    assert.deepEqual(
      writer.calls.filter((call) => /^(update|create|delete)/.test(call)),
      [],
    );
  }
});

test("takeOverAddress() takes nothing that is not the pod's to take", async () => {
  const writer = world(SOURCE, { ...TARGET, pod: "launcher-3" });
  await assert.rejects(take(writer), { code: "DATASTORE_FAILED" });
  assert.ok(writer.calls.length <= 2, "it is not a lost race");
  await assert.rejects(take(world(SOURCE, undefined)), { code: "DATASTORE_FAILED" });
  await assert.rejects(take(world(SOURCE, { ...TARGET, namespace: "others" })), { code: "DATASTORE_FAILED" });
  await assert.rejects(take(writer, "10.0.0.3"), { code: "DATASTORE_NOT_FOUND" });
  await assert.rejects(take(writer, "10.0.9.3"), { code: "DATASTORE_NOT_FOUND" });
  await assert.rejects(take(writer, "nobody"), { code: "DATASTORE_NOT_FOUND" });
  assert.deepEqual(block(writer).attributes[1]?.secondary, SOURCE);
});
