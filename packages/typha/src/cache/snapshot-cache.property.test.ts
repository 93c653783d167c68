import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { KV, ServerMessage } from "@bulrush/proto";
import type { SyncStatus, Update, Value } from "@bulrush/model";
import type { Breadcrumb } from "./breadcrumb.ts";
import { SnapshotCache } from "./snapshot-cache.ts";

const RUNS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 20_000 : 300;

interface Publish {
  readonly type: "publish";
  readonly updates: readonly { readonly key: number; readonly value: number | undefined }[];
  readonly status: SyncStatus | undefined;
}
/** `turn`: lets everybody who yielded go on. */
type Step = Publish | { readonly type: "join" } | { readonly type: "turn" };

const PUBLISH: fc.Arbitrary<Publish> = fc.record({
  type: fc.constant("publish" as const),
  updates: fc.array(fc.record({ key: fc.nat(11), value: fc.oneof(fc.nat(2), fc.constant(undefined)) }), {
    maxLength: 6,
  }),
  status: fc.constantFrom<SyncStatus | undefined>(undefined, undefined, "resync", "in-sync"),
});

const STEP: fc.Arbitrary<Step> = fc.oneof(
  PUBLISH,
  fc.record({ type: fc.constant("join" as const) }),
  fc.record({ type: fc.constant("turn" as const) }),
);

/** What one reader saw, from its snapshot to the head. */
interface Reader {
  readonly messages: ServerMessage[];
  sequence: number;
}

test("snapshot() belongs to one sequence and loses nothing when publishes come at every yield", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(STEP, { maxLength: 40 }),
      fc.constantFrom(1, 2, 3, 8),
      fc.constantFrom(1, 2, 100),
      fc.constantFrom(0, 3, 1000),
      // One more at each yield of a build, while there are any left.
      fc.array(PUBLISH, { maxLength: 60 }),
      async (steps, slotsPerChunk, maxBatch, reuseBytes, atYields) => {
        const codec = new NumberedMessages();
        const turns: (() => void)[] = [];
        const left = [...atYields];
        const cache = new SnapshotCache({
          syncer: "felix",
          epoch: "e",
          nowMs: 0,
          maxBatch,
          slotsPerChunk,
          reuseBytes,
          encodeFrame: (message) => codec.encode(message),
          yieldTurn: () => {
            const next = left.pop();
            if (next !== undefined) publish(next);
            return new Promise((resolve) => turns.push(resolve));
          },
        });
        const states = new Map<number, ReadonlyMap<string, Value>>([[0, new Map()]]);
        const values = new Map<string, { readonly sequence: number; readonly value: Value | undefined }[]>();
        let model = new Map<string, Value>();
        const readers: Promise<Reader>[] = [];

        const turn = async (): Promise<void> => {
          for (const next of turns.splice(0)) next();
          await new Promise((resolve) => setImmediate(resolve));
        };
        let revision = 0;
        const publish = (step: Publish): void => {
          const updates = step.updates.map(({ key, value }) => toUpdate(`k${key}`, value, ++revision));
          const { crumbs } = cache.publish({ updates, status: step.status, nowMs: revision });
          model = new Map(model);
          for (const update of updates) {
            const before = model.get(update.path);
            if (before === update.value) continue;
            if (update.value === undefined) model.delete(update.path);
            else model.set(update.path, update.value);
            const list = values.get(update.path) ?? [];
            list.push({ sequence: crumbs.at(-1)?.sequence ?? -1, value: update.value });
            values.set(update.path, list);
          }
          states.set(cache.head.sequence, model);
        };
        for (const step of steps) {
          if (step.type === "turn") await turn();
          else if (step.type === "join") readers.push(read(cache, codec));
          else publish(step);
        }
        while (turns.length > 0) await turn();

        for (const reader of await Promise.all(readers)) {
          follow(reader, cache, codec);
          checkReader(reader, states, values, cache.head);
        }
        for (const [sequence, state] of states) {
          const held = cache.kvsAt(sequence);
          if (held !== undefined) assert.deepEqual(toMap(held), state, `kvsAt(${sequence})`);
        }
      },
    ),
    { numRuns: RUNS },
  );
});

function toUpdate(path: string, value: number | undefined, revision: number): Update {
  const key = { type: "GlobalConfig", name: path } as const;
  return {
    key,
    path,
    revision: String(revision),
    value: value === undefined ? undefined : `v${value}`,
    type: "unknown",
  };
}

/** Frames of four bytes that stand for a message each, so that concatenated ones can be told apart again. */
class NumberedMessages {
  readonly #messages: ServerMessage[] = [];

  encode(message: ServerMessage): Buffer {
    const frame = Buffer.alloc(4);
    frame.writeUInt32BE(this.#messages.push(message) - 1);
    return frame;
  }

  decode(frame: Buffer): ServerMessage[] {
    const messages: ServerMessage[] = [];
    for (let i = 0; i < frame.length; i += 4) {
      const message = this.#messages[frame.readUInt32BE(i)];
      if (message !== undefined) messages.push(message);
    }
    return messages;
  }
}

async function read(cache: SnapshotCache, codec: NumberedMessages): Promise<Reader> {
  const snapshot = await cache.snapshot();
  const crumb = snapshot.crumb;
  return { messages: snapshot.pieces.flatMap((piece) => codec.decode(piece)), sequence: crumb.sequence };
}

function follow(reader: Reader, cache: SnapshotCache, codec: NumberedMessages): void {
  let at = cache.at(reader.sequence);
  assert.ok(at !== undefined);
  for (at = at.next; at !== undefined; at = at.next) reader.messages.push(...codec.decode(at.frame));
}

function checkReader(
  reader: Reader,
  states: ReadonlyMap<number, ReadonlyMap<string, Value>>,
  values: ReadonlyMap<string, readonly { readonly sequence: number; readonly value: Value | undefined }[]>,
  head: Breadcrumb,
): void {
  const end = reader.messages.findIndex((message) => message.type === "snapshot-end");
  const snapshot = reader.messages.slice(0, end).flatMap((m) => (m.type === "snapshot" ? m.kvs : []));
  assert.equal(new Set(snapshot.map((kv) => kv.path)).size, snapshot.length, "A key comes once in a snapshot");
  assert.deepEqual(toMap(snapshot), states.get(reader.sequence), "The snapshot is the state at its sequence");
  let sequence = reader.sequence;
  let status: SyncStatus = "wait-for-ready";
  const seen = new Map<string, unknown[]>();
  const state = toMap(snapshot);
  for (const message of reader.messages.slice(end + 1)) {
    if (message.type === "status") {
      assert.equal(message.sequence, sequence, "A status comes right after the KVs before it");
      status = message.status;
    } else if (message.type === "delta") {
      assert.equal(message.fromSequence, sequence);
      sequence = message.sequence;
      for (const kv of message.kvs) {
        assert.equal(kv.updateType, kv.value === undefined ? "deleted" : state.has(kv.path) ? "updated" : "new");
        if (kv.value === undefined) state.delete(kv.path);
        else state.set(kv.path, kv.value as Value);
        seen.set(kv.path, [...(seen.get(kv.path) ?? []), kv.value]);
      }
    }
  }
  assert.equal(status, head.status);
  assert.deepEqual(state, states.get(head.sequence));
  for (const [path, history] of values) {
    const after = history.filter((entry) => entry.sequence > reader.sequence).map((entry) => entry.value);
    assert.deepEqual(seen.get(path) ?? [], after, `Each value of ${path} after the snapshot, in order`);
  }
}

function toMap(kvs: readonly KV[]): Map<string, Value> {
  return new Map(kvs.map((kv) => [kv.path, kv.value as Value]));
}
