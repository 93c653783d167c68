import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import fc from "fast-check";
import type {
  DatastoreDriver,
  Item,
  ListPage,
  ListRequest,
  WatchEvent,
  WatchRequest,
  WatchStream,
} from "../driver/driver.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import type { Problem } from "../problem.ts";
import { ScriptedStream, scriptedItem } from "./scripted-driver.ts";
import { createSyncer } from "./syncer.ts";

const KIND = "BGPPeer";
const SPEC = { peerIP: "10.0.0.1", asNumber: 64512 };

/** A store with a history, that can be compacted, and whose answers can be made to fail. */
class FaultyStore implements DatastoreDriver {
  readonly type = "kubernetes";
  readonly #items = new Map<string, Item>();
  readonly #history: { readonly revision: number; readonly event: WatchEvent }[] = [];
  readonly #streams = new Set<{ readonly stream: ScriptedStream; readonly kind: string }>();
  #revision = 1;
  #compacted = 0;
  readonly faults: DatastoreErrorCode[] = [];

  put(name: string): void {
    const known = this.#items.has(name);
    const item = scriptedItem(KIND, name, String(++this.#revision), SPEC);
    this.#items.set(name, item);
    this.#emit({ type: known ? "modified" : "added", item });
  }

  remove(name: string): void {
    const item = this.#items.get(name);
    if (item === undefined) return;
    this.#items.delete(name);
    this.#revision++;
    this.#emit({ type: "deleted", item, revision: String(this.#revision) });
  }

  compact(): void {
    this.#compacted = this.#revision;
  }

  cut(event?: WatchEvent): void {
    for (const { stream } of this.#streams) {
      if (event !== undefined) stream.emit(event);
      stream.end();
    }
    this.#streams.clear();
  }

  contents(): string[] {
    return [...this.#items.values()].map((item) => `${item.name} ${item.revision}`).sort();
  }

  #emit(event: WatchEvent): void {
    this.#history.push({ revision: this.#revision, event });
    for (const { stream } of this.#streams) stream.emit(event);
  }

  async *list({ kind, revision }: ListRequest): AsyncIterable<ListPage> {
    await Promise.resolve();
    if (kind !== KIND) {
      yield { items: [], revision: "1" };
      return;
    }
    if (Number(revision) !== 0 && Number(revision) < this.#compacted) throw failure("DATASTORE_EXPIRED");
    const items = [...this.#items.values()];
    const at = String(this.#revision);
    for (let i = 0; i < items.length; i += 2) {
      yield { items: items.slice(i, i + 2), revision: at };
      const fault = i > 0 ? this.faults.pop() : undefined;
      if (fault !== undefined) throw failure(fault);
    }
    const fault = this.faults.pop();
    if (fault !== undefined) throw failure(fault);
    yield { items: [], revision: at };
  }

  watch(request: WatchRequest): Promise<WatchStream> {
    const stream = new ScriptedStream(request);
    if (request.kind !== KIND) return Promise.resolve(stream);
    const fault = this.faults.pop();
    if (fault !== undefined) return Promise.reject(failure(fault));
    const from = Number(request.revision);
    if (from < this.#compacted) return Promise.reject(failure("DATASTORE_EXPIRED"));
    for (const { revision, event } of this.#history) if (revision > from) stream.emit(event);
    this.#streams.add({ stream, kind: request.kind });
    return Promise.resolve(stream);
  }

  probe(): Promise<void> {
    return Promise.resolve();
  }

  problems(): readonly Problem[] {
    return [];
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function failure(code: DatastoreErrorCode): DatastoreError {
  return new DatastoreError(code, { code });
}

type Step =
  | { readonly type: "put" | "remove"; readonly name: string }
  | { readonly type: "compact" | "cut" | "expire" | "break" }
  | { readonly type: "fault"; readonly code: DatastoreErrorCode }
  | { readonly type: "wait"; readonly ms: number };

const names = fc.constantFrom("a", "b", "c", "d", "e", "f");
const change = fc.record({ type: fc.constantFrom("put" as const, "remove" as const), name: names });
const disturbance = fc.record({
  type: fc.constantFrom("compact" as const, "cut" as const, "expire" as const, "break" as const),
});
const fault = fc.record({
  type: fc.constant("fault" as const),
  // A missing API is left out: it truly means that there is nothing.
  code: fc.constantFrom<DatastoreErrorCode>(
    "DATASTORE_EXPIRED",
    "DATASTORE_FAILED",
    "DATASTORE_UNAUTHORIZED",
    "DATASTORE_CONNECTION_REFUSED",
    "DATASTORE_REVISION_TOO_LARGE",
  ),
});
const wait = fc.record({ type: fc.constant("wait" as const), ms: fc.constantFrom(0, 100, 500, 1500) });
const steps: fc.Arbitrary<Step[]> = fc.array(fc.oneof(change, change, change, disturbance, fault, wait), {
  maxLength: 60,
});

test("a syncer ends with what the store has, and never deletes what is there, whatever fails on the way", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const clock = new ManualClock();
      const store = new FaultyStore();
      const seen = new Map<string, string>();
      /** Present ever since it was last seen. */
      const steady = new Set<string>();
      let status = "";
      const syncer = createSyncer("bgp", {
        driver: store,
        clock,
        callbacks: {
          onStatusUpdated: (next) => void (status = next),
          onUpdates: (updates) => {
            assert.notEqual(status, "wait-for-ready");
            for (const { path, value, revision } of updates) {
              const name = path.split("/").at(-1) ?? "";
              if (value === undefined) {
                assert.ok(seen.delete(name), `delete of ${name}, which is not known`);
                assert.ok(!steady.has(name), `spurious delete of ${name}`);
              } else {
                seen.set(name, revision);
                // An older version may be followed by the delete that came between.
                if (store.contents().includes(`${name} ${revision}`)) steady.add(name);
              }
            }
          },
        },
      });
      syncer.start();
      for (const step of script) {
        switch (step.type) {
          case "put":
            store.put(step.name);
            break;
          case "remove":
            steady.delete(step.name);
            store.remove(step.name);
            break;
          case "compact":
            store.compact();
            break;
          case "cut":
            store.cut();
            break;
          case "expire":
            store.cut({ type: "error", error: failure("DATASTORE_EXPIRED") });
            break;
          case "break":
            store.cut({ type: "error", error: failure("DATASTORE_FAILED") });
            break;
          case "fault":
            store.faults.push(step.code);
            break;
          case "wait":
            await clock.advance(step.ms);
        }
      }
      await clock.advance(200_000);
      assert.equal(status, "in-sync");
      assert.deepEqual([...seen].map(([name, revision]) => `${name} ${revision}`).sort(), store.contents());
      await syncer.stop();
      assert.equal(clock.pending, 0);
    }),
    { numRuns: 60 },
  );
});
