import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock, seededRandom } from "@bulrush/base";
import type { ServerMessage } from "@bulrush/proto";
import type { Update } from "@bulrush/model";
import type { Breadcrumb } from "./cache/breadcrumb.ts";
import { SnapshotCache } from "./cache/snapshot-cache.ts";
import { FakeTransport } from "./testing/fake-transport.ts";
import { memoryServer } from "./testing/memory-server.ts";
import { testHello } from "./testing/websocket-client.ts";

const IS_LONG: boolean = process.env["BULRUSH_LONG_TESTS"] === "1";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function updateOf(name: string, revision: number, value: string | undefined): Update {
  const type = value === undefined ? "deleted" : "unknown";
  return {
    key: { type: "GlobalConfig", name },
    path: `/calico/v1/config/${name}`,
    revision: String(revision),
    value,
    type,
  };
}

/** A cache whose frames are kept as messages. */
function cacheOf(maxBatch: number): {
  readonly cache: SnapshotCache;
  readonly read: (frame: Buffer) => ServerMessage[];
} {
  const messages: ServerMessage[] = [];
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "e",
    nowMs: 0,
    maxBatch,
    yieldTurn: turn,
    retainBytes: 1e9,
    encodeFrame: (message) => {
      const frame = Buffer.alloc(4);
      frame.writeUInt32BE(messages.push(message) - 1);
      return frame;
    },
  });
  const read = (frame: Buffer): ServerMessage[] =>
    Array.from({ length: frame.length / 4 }, (_, i) => messages[frame.readUInt32BE(i * 4)] as ServerMessage);
  return { cache, read };
}

/** Reads the chain from its start, so many breadcrumbs at a time. */
class Reader {
  readonly step: number;
  readonly state = new Map<string, unknown>();
  maxRevision = 0;
  revisionAtInSync: number | undefined = undefined;
  #at: Breadcrumb;

  constructor(start: Breadcrumb, step: number) {
    this.#at = start;
    this.step = step;
  }

  /** False at the head. */
  go(read: (frame: Buffer) => ServerMessage[]): boolean {
    for (let i = 0; i < this.step; i++) {
      const next = this.#at.next;
      if (next === undefined) return false;
      this.#at = next;
      for (const message of read(next.frame)) this.#take(message);
    }
    return true;
  }

  #take(message: ServerMessage): void {
    if (message.type === "status" && message.status === "in-sync") this.revisionAtInSync = this.maxRevision;
    if (message.type !== "delta") return;
    for (const { path, value, revision, updateType } of message.kvs) {
      assert.equal(updateType === "new", value !== undefined && !this.state.has(path), "first sight is new");
      if (value === undefined) this.state.delete(path);
      else this.state.set(path, value);
      this.maxRevision = Math.max(this.maxRevision, Number(revision));
    }
  }
}

for (const count of [123, 12_345, ...(IS_LONG ? [123_456] : [])])
  test(`readers of four speeds end with one state after ${count} updates in batches of 10, in sync at the last`, () => {
    const random = seededRandom(count);
    const { cache, read } = cacheOf(10);
    const readers = [1, 7, 100, Number.POSITIVE_INFINITY].map((step) => new Reader(cache.head, step));
    const wanted = new Map<string, unknown>();
    let last = 0;
    for (let revision = 1; revision <= count; ) {
      const updates: Update[] = [];
      for (let i = 0; i < 37 && revision <= count; i++, revision++) {
        const update = updateOf(
          `n${Math.floor(random() * 500)}`,
          revision,
          random() < 0.2 ? undefined : `v${revision}`,
        );
        if (update.value !== undefined || wanted.has(update.path)) last = revision;
        if (update.value === undefined) wanted.delete(update.path);
        else wanted.set(update.path, update.value);
        updates.push(update);
      }
      cache.publish({ updates, nowMs: revision });
      for (const reader of readers) reader.go(read);
    }
    cache.publish({ updates: [], status: "in-sync", nowMs: count });
    for (const reader of readers) {
      while (reader.go(read));
      assert.deepEqual(reader.state, wanted);
      assert.equal(reader.revisionAtInSync, last);
    }
  });

const KEYS = IS_LONG ? 200_000 : 10_000;

test(`${KEYS} keys, of which half go again: 10 clients, early and late, end with what is there`, async () => {
  const clock = new ManualClock(1000);
  const { cache, server } = memoryServer(clock);
  const clients: FakeTransport[] = [];
  const join = (): void => {
    const client = new FakeTransport(`10.0.0.1:${clients.length}`);
    clients.push(client);
    server.accept(client);
    client.send(testHello(`node-${clients.length}`));
  };
  const publish = async (revision: number, value: string | undefined, indices: readonly number[]): Promise<void> => {
    for (let at = 0; at < indices.length; at += 500) {
      const updates = indices.slice(at, at + 500).map((i) => updateOf(`n${i}`, revision, value));
      cache.publish({ updates, nowMs: revision });
      await turn();
    }
  };
  for (let i = 0; i < 4; i++) join();
  // Many a name is the beginning of others: n1, n10, n100.
  const all = Array.from({ length: KEYS }, (_, i) => i);
  await publish(1, "1", all.slice(0, KEYS / 2));
  for (let i = 0; i < 3; i++) join();
  await publish(2, "1", all.slice(KEYS / 2));
  const gone = all.filter((i) => i % 2 === 1);
  await publish(3, undefined, gone.slice(0, gone.length / 2));
  for (let i = 0; i < 3; i++) join();
  await publish(4, undefined, gone.slice(gone.length / 2));
  cache.publish({ updates: [], status: "in-sync", nowMs: 5 });
  const isDone = ({ messages }: FakeTransport): boolean => {
    const last = messages.at(-1);
    return last?.type === "status" && last.status === "in-sync";
  };
  while (!clients.every(isDone)) await turn();
  const wanted = new Set(all.filter((i) => i % 2 === 0).map((i) => `/calico/v1/config/n${i}`));
  for (const { messages } of clients) {
    const state = new Set<string>();
    for (const message of messages)
      if ("kvs" in message)
        for (const { path, value } of message.kvs) {
          if (value === undefined) assert.ok(state.delete(path), `${path} was there`);
          else state.add(path);
        }
    assert.deepEqual(state, wanted);
  }
  server.close();
});

test("100 clients that join at any time end with 1,000 keys, and each key's changes came in order", async () => {
  const clock = new ManualClock(1000);
  const { cache, server } = memoryServer(clock);
  const clients: FakeTransport[] = [];
  for (let round = 0; round < 100; round++) {
    const updates = Array.from({ length: 10 }, (_, i) => updateOf(`n${round * 10 + i}`, round, "1"));
    // Every key of the round before is changed once more.
    const changes =
      round === 0 ? [] : Array.from({ length: 10 }, (_, i) => updateOf(`n${round * 10 - 10 + i}`, round, "2"));
    cache.publish({ updates: [...updates, ...changes], nowMs: round });
    const client = new FakeTransport(`10.0.0.1:${round}`);
    clients.push(client);
    server.accept(client);
    client.send(testHello(`node-${round}`));
    await turn();
  }
  cache.publish({ updates: [], status: "in-sync", nowMs: 100 });
  const isDone = ({ messages }: FakeTransport): boolean => {
    const last = messages.at(-1);
    return last?.type === "status" && last.status === "in-sync";
  };
  for (let turns = 0; turns < 100_000 && !clients.every(isDone); turns++) await turn();
  for (const { messages } of clients) {
    const seen = new Map<string, unknown[]>();
    for (const message of messages)
      if ("kvs" in message)
        for (const { path, value } of message.kvs) seen.set(path, [...(seen.get(path) ?? []), value]);
    assert.equal(seen.size, 1000);
    for (const [path, values] of seen) {
      const isLast = Number(/n(\d+)$/.exec(path)?.[1]) >= 990;
      const whole = isLast ? ["1"] : ["1", "2"];
      assert.deepEqual(values, whole.slice(-values.length), path);
    }
  }
  server.close();
});
