import assert from "node:assert/strict";
import { test } from "node:test";
import { compareStrings, ManualClock } from "@bulrush/base";
import type { Resource, SyncerType, Update } from "@bulrush/model";
import { memoryLogger } from "@bulrush/service";
import type { Item, WatchEvent } from "../driver/driver.ts";
import { DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import type { Problem } from "../problem.ts";
import { type ListStep, ScriptedDriver, type ScriptedStream, scriptedItem } from "./scripted-driver.ts";
import { createSyncer, type Syncer, type SyncerOptions } from "./syncer.ts";

const KIND = "CalicoNodeStatus";

interface Harness {
  readonly clock: ManualClock;
  readonly driver: ScriptedDriver;
  readonly syncer: Syncer;
  /** What the callbacks got since the last call: `status in-sync`, `new a 3`, `deleted a`. */
  take(): string[];
  readonly batches: (readonly Update[])[];
  readonly stream: ScriptedStream;
  advance(ms: number): Promise<void>;
}

function nameOf(update: Update): string {
  return update.path.split("/").at(-1) ?? "";
}

function harness(options: Partial<SyncerOptions> & { type?: SyncerType } = {}): Harness {
  const clock = new ManualClock(1_000_000);
  const driver = new ScriptedDriver();
  const log: string[] = [];
  const batches: (readonly Update[])[] = [];
  const syncer = createSyncer(options.type ?? "node-status", {
    driver,
    clock,
    callbacks: {
      onStatusUpdated: (status) => void log.push(`status ${status}`),
      onUpdates: (updates) => {
        batches.push(updates);
        for (const update of updates)
          log.push(`${update.type} ${nameOf(update)}${update.value === undefined ? "" : ` ${update.revision}`}`);
      },
    },
    ...options,
  });
  return {
    clock,
    driver,
    syncer,
    batches,
    take: () => log.splice(0),
    get stream() {
      return driver.stream(KIND);
    },
    advance: (ms) => clock.advance(ms),
  };
}

/** A node-status syncer with these list steps, started. */
async function started(...steps: ListStep[]): Promise<Harness> {
  const h = harness();
  h.driver.lists.set(KIND, steps);
  h.syncer.start();
  await h.advance(0);
  return h;
}

/** In sync at revision 10 with items a and b, watching. */
async function watching(...more: ListStep[]): Promise<Harness> {
  const h = await started({ pages: [[item("a", "3"), item("b", "4")]], revision: "10" }, ...more);
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "new a 3", "new b 4", "status in-sync"]);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 10`]);
  return h;
}

function item(name: string, revision: string): Item {
  return scriptedItem(KIND, name, revision, { node: "n", classes: ["Agent"], updatePeriodSeconds: 10 });
}

function errorEvent(code: DatastoreErrorCode): WatchEvent {
  return { type: "error", error: new DatastoreError(code, { code }) };
}

function reasonOf(h: Harness): string | undefined {
  return h.syncer.report()[0]?.reason;
}

test("a syncer lists, then watches from the revision of the list", async () => {
  const h = await watching();
  h.stream.emit({ type: "added", item: item("c", "11") }, { type: "modified", item: item("a", "12") });
  await h.advance(0);
  h.stream.emit({ type: "deleted", item: item("b", "4"), revision: "13" });
  await h.advance(0);
  assert.deepEqual(h.take(), ["new c 11", "updated a 12", "deleted b"]);
  assert.equal(h.syncer.report()[0]?.keys, 2);
});

test("a syncer takes a list page by page", async () => {
  const h = await started({ pages: [[item("a", "1")], [item("b", "2")], []], revision: "9" });
  assert.deepEqual(h.take().slice(2), ["new a 1", "new b 2", "status in-sync"]);
});

test("a stream that ends is watched again from the last revision, without a list", async () => {
  const h = await watching();
  h.stream.emit({ type: "added", item: item("c", "11") }, { type: "bookmark", revision: "20" });
  await h.advance(0);
  h.stream.end();
  await h.advance(499);
  assert.deepEqual(h.driver.takeLog(), []);
  await h.advance(1);
  assert.deepEqual(h.driver.takeLog(), [`watch ${KIND} 20`]);
  assert.deepEqual(h.take(), ["new c 11"]);
});

test("a full list is silent about what did not change, and makes up deletes", async () => {
  const h = await watching({ pages: [[item("b", "4"), item("c", "12")]], revision: "20" });
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 20`]);
  assert.deepEqual(h.take(), ["status resync", "new c 12", "deleted a", "status in-sync"]);
});

test("a list that fails halfway deletes nothing", async () => {
  const h = await watching(
    { pages: [[item("b", "4")]], revision: "20", error: "DATASTORE_FAILED" },
    { pages: [[item("a", "3"), item("b", "4")]], revision: "21" },
  );
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync"]);
  await h.advance(1000);
  assert.deepEqual(h.take(), ["status in-sync"]);
});

test("after a list that failed halfway only the newest state will do: an older one would take back what was told", async () => {
  const h = await watching(
    { pages: [[item("b", "14")]], revision: "20", error: "DATASTORE_FAILED" },
    { pages: [[item("a", "3"), item("b", "14")]], revision: "21" },
  );
  h.driver.watchErrors.set(
    KIND,
    Array.from({ length: 5 }, () => "DATASTORE_FAILED"),
  );
  h.stream.end();
  await h.advance(3000);
  assert.equal(h.driver.takeLog().at(-1), `list ${KIND} 10`);
  await h.advance(1000);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 21`]);
  assert.deepEqual(h.take(), ["status resync", "updated b 14", "status in-sync"]);
});

test("a list of which a later page is not found deletes nothing", async () => {
  const h = await watching(
    { pages: [[item("b", "4")]], revision: "20", error: "DATASTORE_NOT_FOUND" },
    { pages: [[item("a", "3"), item("b", "4")]], revision: "21" },
  );
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(1500);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
});

test("an empty list without a revision means polling every 5 s, in sync all the time", async () => {
  const h = await started(
    { pages: [[]], revision: "" },
    { pages: [[]], revision: "0" },
    { pages: [[item("a", "1")]], revision: "5" },
  );
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "status in-sync"]);
  await h.advance(4999);
  assert.equal(h.driver.takeLog().length, 1);
  await h.advance(1);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`]);
  await h.advance(5000);
  assert.deepEqual(h.take(), ["new a 1"]);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 5`]);
});

test("items without a list revision are not in sync and are listed again after 1 s", async () => {
  const h = await started({ pages: [[item("a", "1")]], revision: "" }, { pages: [[item("a", "1")]], revision: "2" });
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "new a 1"]);
  assert.match(reasonOf(h) ?? "", /no revision/);
  await h.advance(1000);
  assert.deepEqual(h.take(), ["status in-sync"]);
  assert.equal(reasonOf(h), undefined);
});

test("a missing API counts as empty and in sync, and is asked for after 30 min", async () => {
  const h = await started({ error: "DATASTORE_NOT_FOUND" }, { pages: [[item("a", "1")]], revision: "2" });
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "status in-sync"]);
  assert.match(reasonOf(h) ?? "", /does not know this kind/);
  await h.advance(1_799_999);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`]);
  await h.advance(1);
  assert.deepEqual(h.take(), ["new a 1"]);
});

test("an API that goes away takes its keys with it", async () => {
  const h = await watching({ error: "DATASTORE_NOT_FOUND" });
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "deleted a", "deleted b", "status in-sync"]);
});

for (const code of ["DATASTORE_EXPIRED", "DATASTORE_REVISION_TOO_LARGE"] as const) {
  test(`a list that fails with ${code} is tried from the beginning after 1 s`, async () => {
    const h = await watching({ error: code }, { pages: [[item("a", "3"), item("b", "4")]], revision: "30" });
    // Five errors at one revision ask for a list that is not older than that revision.
    h.driver.watchErrors.set(
      KIND,
      Array.from({ length: 5 }, () => "DATASTORE_FAILED"),
    );
    h.stream.end();
    await h.advance(2500);
    assert.equal(h.driver.takeLog().at(-1), `watch ${KIND} 10`);
    await h.advance(500);
    assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 10`]);
    await h.advance(1000);
    assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 30`]);
    assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
  });
}

for (const code of ["DATASTORE_FAILED", "DATASTORE_UNAUTHORIZED", "DATASTORE_CONNECTION_REFUSED"] as const) {
  test(`a list that fails with ${code} is tried again after 1 s, and says why`, async () => {
    const h = await started({ error: code }, { pages: [[item("a", "1")]], revision: "2" });
    assert.deepEqual(h.take(), ["status wait-for-ready"]);
    assert.deepEqual([reasonOf(h), h.syncer.report()[0]?.sinceMs], [`List failed: ${code}`, 1_000_000]);
    await h.advance(999);
    assert.deepEqual(h.take(), []);
    await h.advance(1);
    assert.deepEqual(h.take(), ["status resync", "new a 1", "status in-sync"]);
    assert.equal(reasonOf(h), undefined);
  });
}

test("after 600 s without an answer the status falls back, and no key is lost", async () => {
  const h = await watching({ error: "DATASTORE_FAILED" });
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(599_000);
  assert.deepEqual(h.take(), ["status resync"]);
  await h.advance(4000);
  assert.deepEqual(h.take(), ["status wait-for-ready"]);
  h.driver.lists.set(KIND, [{ pages: [[item("b", "4")]], revision: "20" }]);
  await h.advance(1000);
  assert.deepEqual(h.take(), ["status resync", "deleted a", "status in-sync"]);
});

for (const code of ["DATASTORE_EXPIRED", "DATASTORE_REVISION_TOO_LARGE"] as const) {
  test(`a watch refused with ${code} leads to a full list`, async () => {
    const h = await watching();
    h.driver.watchErrors.set(KIND, [code]);
    h.stream.end();
    await h.advance(500);
    assert.deepEqual(h.driver.takeLog(), [`watch ${KIND} 10`]);
    await h.advance(500);
    assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 0`, `watch ${KIND} 10`]);
  });
}

for (const code of ["DATASTORE_CONNECTION_REFUSED", "DATASTORE_TOO_MANY_REQUESTS"] as const) {
  test(`a watch refused with ${code} is tried again from the same revision, for 600 s`, async () => {
    const h = await watching();
    h.driver.watchErrors.set(
      KIND,
      Array.from({ length: 1202 }, () => code),
    );
    h.stream.end();
    await h.advance(1500);
    assert.deepEqual(
      h.driver.takeLog(),
      Array.from({ length: 3 }, () => `watch ${KIND} 10`),
    );
    assert.match(reasonOf(h) ?? "", /Watch failed/);
    await h.advance(598_500);
    assert.ok(h.driver.takeLog().every((line) => line.startsWith("watch")));
    assert.deepEqual(h.take(), []);
    h.driver.lists.set(KIND, [{ error: code }]);
    await h.advance(1500);
    assert.ok(h.driver.takeLog().includes(`list ${KIND} 0`));
    assert.deepEqual(h.take(), ["status wait-for-ready"]);
  });
}

test("a watch that the server opens is an answer: a quiet kind is not lost at the first refusal", async () => {
  const h = await watching();
  for (let i = 0; i < 10; i++) {
    h.stream.end();
    await h.advance(80_000);
  }
  h.driver.takeLog();
  h.driver.watchErrors.set(KIND, ["DATASTORE_CONNECTION_REFUSED", "DATASTORE_CONNECTION_REFUSED"]);
  h.stream.end();
  await h.advance(1500);
  assert.deepEqual(
    h.driver.takeLog(),
    Array.from({ length: 3 }, () => `watch ${KIND} 10`),
  );
  assert.deepEqual(h.take(), []);
});

test("each page of a list is an answer: one that takes long and fails has not lost the connection", async () => {
  const h = await watching();
  const { promise: pause, resolve: goOn } = Promise.withResolvers<void>();
  h.driver.lists.set(KIND, [
    { pages: [[item("a", "3")], [item("b", "4")]], revision: "20", pause, error: "DATASTORE_FAILED" },
    { error: "DATASTORE_FAILED" },
  ]);
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  await h.advance(590_000);
  goOn();
  await h.advance(0);
  assert.deepEqual(h.take(), ["status resync"]);
  // Within 600 s of the second page, not of the first.
  await h.advance(100_000);
  assert.deepEqual(h.take(), []);
});

for (const code of ["DATASTORE_NOT_SUPPORTED", "DATASTORE_NOT_FOUND"] as const) {
  test(`a watch refused with ${code} means a full list every 5 s, in sync all the time`, async () => {
    const h = await watching();
    h.driver.watchErrors.set(KIND, [code, code]);
    h.stream.end();
    await h.advance(500);
    assert.deepEqual(h.driver.takeLog(), [`watch ${KIND} 10`]);
    await h.advance(5000);
    assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 10`, `watch ${KIND} 10`]);
    assert.deepEqual(h.take(), []);
  });
}

test("five watch errors of unknown kind at one revision lead to a full list", async () => {
  const h = await watching();
  h.driver.watchErrors.set(
    KIND,
    Array.from({ length: 5 }, () => "DATASTORE_FAILED"),
  );
  h.stream.end();
  await h.advance(2500);
  assert.deepEqual(
    h.driver.takeLog(),
    Array.from({ length: 5 }, () => `watch ${KIND} 10`),
  );
  await h.advance(500);
  assert.deepEqual(h.driver.takeLog(), [`list ${KIND} 10`, `watch ${KIND} 10`]);
});

test("error events count like refused watches, and an event in between starts the count anew", async () => {
  const h = await watching();
  for (let i = 0; i < 4; i++) {
    h.stream.emit(errorEvent("DATASTORE_FAILED"));
    await h.advance(500);
  }
  assert.deepEqual(
    h.driver.takeLog(),
    Array.from({ length: 4 }, () => `watch ${KIND} 10`),
  );
  h.stream.emit({ type: "bookmark", revision: "11" }, errorEvent("DATASTORE_FAILED"));
  await h.advance(500);
  assert.deepEqual(h.driver.takeLog(), [`watch ${KIND} 11`]);
  for (let i = 0; i < 4; i++) {
    h.stream.emit(errorEvent("DATASTORE_FAILED"));
    await h.advance(500);
  }
  assert.equal(h.driver.takeLog().at(-1), `watch ${KIND} 10`);
});

test("an expired stream is left at once: later events of its batch do not count", async () => {
  const h = await watching({ pages: [[item("a", "3"), item("b", "4")]], revision: "20" });
  const { stream } = h;
  stream.emit(errorEvent("DATASTORE_EXPIRED"), { type: "added", item: item("x", "11") });
  await h.advance(500);
  assert.ok(stream.isClosed);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
});

test("a delete that does not say of what leads to a full list", async () => {
  const h = await watching({ pages: [[item("a", "3")]], revision: "20" });
  h.stream.emit({ type: "deleted", item: undefined, revision: "11" });
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "deleted b", "status in-sync"]);
});

test("stop() sends no deletes unless it is told to", async () => {
  const h = await watching();
  await h.syncer.stop();
  assert.deepEqual(h.take(), []);
  assert.ok(h.stream.isClosed);
  assert.equal(h.clock.pending, 0);
});

test("stop() with sendDeletes ends with deletes for all that is known", async () => {
  const h = await watching();
  await h.syncer.stop({ sendDeletes: true });
  assert.deepEqual(h.take(), ["deleted a", "deleted b"]);
});

test("stop() with sendDeletes lifts the status first: no update is sent while waiting", async () => {
  const h = await watching({ error: "DATASTORE_FAILED" });
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(603_000);
  h.take();
  await h.syncer.stop({ sendDeletes: true });
  assert.deepEqual(h.take(), ["status resync", "deleted a", "deleted b"]);
});

test("stop() before the first answer ends too", async () => {
  const h = await started({ error: "DATASTORE_FAILED" });
  await h.syncer.stop();
  assert.deepEqual(h.take(), ["status wait-for-ready"]);
});

test("the status of a syncer is in-sync only when every kind is, and falls back when one lists again", async () => {
  const h = harness({ type: "tunnel-ip-allocation" });
  h.driver.lists.set("IPPool", [{ error: "DATASTORE_FAILED" }, { revision: "5" }]);
  h.driver.lists.set("Node", [{ pages: [[scriptedItem("Node", "n", "1")]], revision: "7" }]);
  h.syncer.start();
  await h.advance(0);
  assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "new n 1"]);
  await h.advance(1000);
  assert.deepEqual(h.take(), ["status in-sync"]);
  h.driver.stream("Node").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
  assert.deepEqual(
    h.syncer.report().map(({ kind, status }) => [kind, status]),
    [
      ["IPPool", "in-sync"],
      ["Node", "in-sync"],
    ],
  );
});

test("results that have queued up go out as one batch, a status after the updates before it", async () => {
  const release: (() => void)[] = [];
  const seen: string[] = [];
  const h = harness({
    callbacks: {
      onStatusUpdated: (status) =>
        new Promise<void>((resolve) => {
          seen.push(status);
          release.push(resolve);
        }),
      onUpdates: (updates) => void seen.push(updates.map(nameOf).join(",")),
    },
  });
  const items = Array.from({ length: 30 }, (_, i) => item(`i${i}`, String(i + 1)));
  h.driver.lists.set(KIND, [{ pages: [items], revision: "50" }]);
  h.syncer.start();
  await h.advance(0);
  assert.deepEqual(seen, ["wait-for-ready"]);
  release[0]?.();
  await h.advance(0);
  release[1]?.();
  await h.advance(0);
  assert.deepEqual(seen.slice(1), ["resync", items.map(({ name }) => name).join(","), "in-sync"]);
});

test("a slow consumer holds up the list", async () => {
  let release: (() => void) | undefined;
  const h = harness({
    callbacks: {
      onStatusUpdated: () => undefined,
      onUpdates: () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    },
  });
  const pages = Array.from({ length: 10 }, (_, p) =>
    Array.from({ length: 500 }, (_, i) => item(`p${p}-${i}`, `${p}.${i}`)),
  );
  h.driver.lists.set(KIND, [{ pages, revision: "50" }]);
  h.syncer.start();
  await h.advance(0);
  // One batch of at most 1,001 results is with the consumer, 2,000 wait.
  assert.ok((h.syncer.report()[0]?.keys ?? 0) <= 3002);
  for (let i = 0; i < 10 && release !== undefined; i++) {
    release();
    await h.advance(0);
  }
  assert.equal(h.syncer.report()[0]?.keys, 5000);
});

test("upstreamAgeMs() is the time since the last answer; silence is asked about", async () => {
  const h = await watching();
  await h.advance(29_999);
  assert.equal(h.syncer.upstreamAgeMs(), 29_999);
  h.driver.probeError = "DATASTORE_FAILED";
  await h.advance(1);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [1, 30_000]);
  await h.advance(10_000);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [2, 40_000]);
  h.driver.probeError = undefined;
  await h.advance(10_000);
  assert.deepEqual([h.driver.probes, h.syncer.upstreamAgeMs()], [3, 0]);
  h.stream.emit({ type: "bookmark", revision: "11" });
  await h.advance(29_000);
  assert.equal(h.driver.probes, 3);
  await h.advance(1000);
  assert.equal(h.driver.probes, 4);
});

test("upstreamAgeMs() counts an error of the stream as an answer only where the server must have said it", async () => {
  const h = await watching({ error: "DATASTORE_FAILED" });
  h.driver.watchErrors.set(KIND, ["DATASTORE_FAILED"]);
  await h.advance(1000);
  h.stream.emit(errorEvent("DATASTORE_FAILED"));
  await h.advance(0);
  assert.equal(h.syncer.upstreamAgeMs(), 1000);
  // The watch in its place stands.
  await h.advance(500);
  assert.equal(h.syncer.upstreamAgeMs(), 0);
  await h.advance(100);
  h.stream.emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(0);
  assert.equal(h.syncer.upstreamAgeMs(), 0);
});

test("upstreamAgeMs() is undefined until every kind has had an answer", async () => {
  const h = await started({ error: "DATASTORE_FAILED" });
  assert.equal(h.syncer.upstreamAgeMs(), undefined);
});

function policy(revision: string, selector: string, ingress: readonly object[] = [{ action: "Allow" }]): Item {
  return scriptedItem("NetworkPolicy", "p", revision, { selector, ingress }, "ns");
}

test("an unreadable update of a known policy is held back and reported; the next good one goes out", async () => {
  const problems: string[][] = [];
  const logger = memoryLogger();
  const onProblems = (list: readonly Problem[]) => problems.push(list.map((p) => p.effect ?? ""));
  const h = harness({ type: "felix", logger, onProblems });
  h.driver.lists.set("NetworkPolicy", [{ pages: [[policy("1", "a == 'b'")]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream("NetworkPolicy");
  stream.emit({ type: "modified", item: policy("2", "a ==") });
  await h.advance(0);
  assert.deepEqual(h.take(), []);
  assert.deepEqual(problems, [["the last good version stays in force"]]);
  assert.deepEqual(
    h.syncer.problems().map(({ kind, namespace, name, field }) => [kind, namespace, name, field]),
    [["NetworkPolicy", "ns", "p", "spec.selector"]],
  );
  stream.emit({ type: "modified", item: policy("3", "a == 'c'") });
  await h.advance(0);
  assert.deepEqual(h.take(), ["updated p 3"]);
  assert.deepEqual(h.syncer.problems(), []);
  assert.deepEqual(
    logger.records.map(({ level, message }) => [level, message]),
    [
      ["error", "Stored data is not usable as written"],
      ["info", "Stored data has no problem any more"],
    ],
  );
});

test("a cluster policy that was read well keeps that version, also where a new one like it would be none", async () => {
  const SPEC = { tier: "kube-admin", order: 1, types: ["Ingress"], ingress: [{ action: "Deny" }] };
  const key = { kind: "KubernetesClusterNetworkPolicy", namespace: "", name: "p" } as const;
  const value: Resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkPolicy",
    metadata: { name: "p" },
    spec: SPEC,
  };
  const bad = [{ severity: "error", field: "spec.tier", message: "Expected Admin or Baseline" }] as const;
  const subject = { kind: "ClusterNetworkPolicy", namespace: "", name: "p" };
  const item = (revision: string, more: Partial<Item>): Item => ({ ...key, revision, value, subject, ...more });
  const h = harness({ type: "felix" });
  h.driver.lists.set(key.kind, [{ pages: [[item("1", {})]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream(key.kind);
  // A tier that there is not; a rule that had to be dropped.
  stream.emit({ type: "modified", item: item("2", { value: undefined, issues: bad }) });
  stream.emit({
    type: "modified",
    item: item("3", { value: { ...value, spec: { ...SPEC, ingress: [] } }, issues: bad }),
  });
  await h.advance(0);
  assert.deepEqual(h.take(), []);
  assert.deepEqual(
    h.syncer.problems().map(({ effect }) => effect),
    ["the last good version stays in force"],
  );
  stream.emit({ type: "deleted", item: key, revision: "4" });
  stream.emit({ type: "added", item: item("5", { value: undefined, issues: bad }) });
  await h.advance(0);
  assert.deepEqual(h.take(), ["deleted p"]);
});

test("a policy that was never read well goes out in its closed form, each version of it", async () => {
  const h = harness({ type: "felix" });
  h.driver.lists.set("NetworkPolicy", [{ pages: [[policy("1", "a ==")]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  assert.ok(h.take().includes("new p 1"));
  const stream = h.driver.stream("NetworkPolicy");
  stream.emit({ type: "modified", item: policy("2", "a ==", [{ action: "Deny" }]) });
  await h.advance(0);
  assert.deepEqual(h.take(), ["updated p 2"]);
  stream.emit({ type: "deleted", item: policy("2", ""), revision: "3" });
  await h.advance(0);
  assert.deepEqual(h.take(), ["deleted p"]);
  assert.deepEqual(h.syncer.problems(), []);
});

test("a network set keeps its last good version, as a rule may deny by it; one never read well has what is readable", async () => {
  const set = (name: string, revision: string, nets: unknown): Item =>
    scriptedItem("GlobalNetworkSet", name, revision, { nets });
  const h = harness({ type: "felix" });
  h.driver.lists.set("GlobalNetworkSet", [
    { pages: [[set("a", "1", ["10.0.0.0/8"]), set("b", "1", ["10.0.0.0/8", "x"])]], revision: "1" },
  ]);
  h.syncer.start();
  await h.advance(0);
  const first = h.take();
  assert.ok(first.includes("new a 1") && first.includes("new b 1"));
  const effects = (): string[] =>
    h.syncer
      .problems()
      .map(({ name, effect }) => `${name} ${effect}`)
      .sort(compareStrings);
  assert.deepEqual(effects(), ["b left out"]);
  const stream = h.driver.stream("GlobalNetworkSet");
  for (const nets of [["10.0.0.0/88"], "10.0.0.0/8", ["1.2.3.4", null]]) {
    stream.emit({ type: "modified", item: set("a", "2", nets) });
    stream.emit({ type: "modified", item: set("b", "2", ["y"]) });
    await h.advance(0);
    assert.ok(!h.take().some((line) => line.includes(" a ")));
    assert.deepEqual(effects(), ["a the last good version stays in force", "b left out"]);
  }
  stream.emit({ type: "modified", item: set("a", "3", []) });
  await h.advance(0);
  assert.ok(h.take().includes("updated a 3"));
});

test("settings, the ready flag and profiles keep their last good values field by field", async () => {
  const h = harness({ type: "felix" });
  const items = (revision: string, ready: unknown, prefix: unknown, mtu: unknown, labels: unknown): readonly Item[] => [
    scriptedItem("ClusterInformation", "default", revision, { datastoreReady: ready }),
    scriptedItem("FelixConfiguration", "default", revision, { interfacePrefix: prefix, vxlanMTU: mtu }),
    scriptedItem("Profile", "p", revision, { labelsToApply: labels }),
  ];
  for (const item of items("1", true, "tap", 1400, { a: "b" }))
    h.driver.lists.set(item.kind, [{ pages: [[item]], revision: "1" }]);
  h.syncer.start();
  await h.advance(0);
  h.take();
  const change = async (next: readonly Item[]): Promise<string[]> => {
    for (const item of next) h.driver.stream(item.kind).emit({ type: "modified", item });
    await h.advance(0);
    return h.take().map((line) => line.replace(/ \d+$/, ""));
  };
  const effects = (): string[] =>
    h.syncer
      .problems()
      .map(({ field, effect }) => `${field}: ${effect}`)
      .sort(compareStrings);
  const kept = "the last good version stays in force";
  assert.deepEqual(await change(items("2", "perhaps", 5, 1500, { a: 1 })), ["updated VXLANMTU"]);
  assert.deepEqual(effects(), [
    `spec.datastoreReady: ${kept}`,
    `spec.interfacePrefix: ${kept}`,
    `spec.labelsToApply.a: ${kept}`,
  ]);
  // What was kept is still known: unset, it goes.
  const gone = await change(items("3", true, undefined, 1500, {}));
  assert.ok(gone.includes("deleted InterfacePrefix"));
  assert.deepEqual(effects(), []);
});

test("a resync does not delete a policy whose present version is unreadable", async () => {
  const h = harness({ type: "felix" });
  h.driver.lists.set("NetworkPolicy", [
    { pages: [[policy("1", "a == 'b'")]], revision: "1" },
    { pages: [[policy("2", "a ==")]], revision: "2" },
    { pages: [[]], revision: "3" },
  ]);
  h.syncer.start();
  await h.advance(0);
  h.take();
  h.driver.stream("NetworkPolicy").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "status in-sync"]);
  assert.equal(h.syncer.problems().length, 1);
  h.driver.stream("NetworkPolicy").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(h.take(), ["status resync", "deleted p", "status in-sync"]);
  assert.deepEqual(h.syncer.problems(), []);
});

const FELIX_KINDS = 23;

for (const [type, kinds] of [
  ["felix", FELIX_KINDS],
  ["bgp", 6],
  ["tunnel-ip-allocation", 2],
  ["node-status", 1],
] as const) {
  test(`createSyncer() follows ${kinds} kinds for ${type}`, async () => {
    const h = harness({ type });
    h.syncer.start();
    await h.advance(0);
    assert.equal(new Set(h.driver.takeLog().filter((line) => line.startsWith("list"))).size, kinds);
    assert.deepEqual(h.take(), ["status wait-for-ready", "status resync", "status in-sync"]);
    await h.syncer.stop();
  });
}

test("createSyncer() lists no IPAM kind where the driver says that blocks come from the pod CIDRs of nodes", async () => {
  for (const type of ["felix", "bgp"] as const) {
    const h = harness({ type });
    h.driver.usePodCIDR = true;
    const syncer = createSyncer(type, {
      driver: h.driver,
      clock: h.clock,
      callbacks: { onStatusUpdated: () => {}, onUpdates: () => {} },
    });
    syncer.start();
    await h.advance(0);
    const listed = h.driver.takeLog().join("\n");
    assert.match(listed, /list Node /);
    assert.doesNotMatch(listed, /IPAMBlock|BlockAffinity/);
    await syncer.stop();
  }
});

test("a block that left its node's list while the watch was down is deleted by the next full list", async () => {
  const h = harness();
  h.driver.usePodCIDR = true;
  const deleted: string[] = [];
  const syncer = createSyncer("felix", {
    driver: h.driver,
    clock: h.clock,
    callbacks: {
      onStatusUpdated: () => {},
      onUpdates: (updates) => {
        for (const { path, type } of updates) if (type === "deleted") deleted.push(path);
      },
    },
  });
  const node = (revision: string, ...podCIDRs: string[]): Item => {
    const item = scriptedItem("Node", "n", revision);
    return { ...item, value: { ...(item.value as Resource), status: { podCIDRs } } };
  };
  h.driver.lists.set("Node", [
    { pages: [[node("1", "10.0.0.0/24", "10.0.1.0/24")]], revision: "1" },
    { pages: [[node("2", "10.0.0.0/24")]], revision: "2" },
  ]);
  syncer.start();
  await h.advance(0);
  h.driver.stream("Node").emit(errorEvent("DATASTORE_EXPIRED"));
  await h.advance(500);
  assert.deepEqual(deleted, ["/calico/ipam/v2/assignment/ipv4/block/10.0.1.0-24"]);
});
