import assert from "node:assert/strict";
import { test } from "node:test";
import { KIND, started, watching, item, errorEvent, reasonOf } from "./syncer-harness.ts";

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

test("watches that end at once, without a word, lead to a full list: after five of them, then after ten", async () => {
  const h = await watching({ pages: [[item("a", "3"), item("c", "12")]], revision: "20" });
  const endAtOnce = async (times: number): Promise<string[]> => {
    for (let i = 0; i < times; i++) {
      h.stream.end();
      await h.advance(500);
    }
    return h.driver.takeLog();
  };
  const watches = (times: number, revision: string): string[] =>
    Array.from({ length: times }, () => `watch ${KIND} ${revision}`);
  assert.deepEqual(await endAtOnce(4), watches(4, "10"));
  assert.deepEqual(await endAtOnce(1), [`list ${KIND} 10`, `watch ${KIND} 20`]);
  assert.deepEqual(h.take(), ["status resync", "new c 12", "deleted b", "status in-sync"]);
  assert.deepEqual(await endAtOnce(9), watches(9, "20"));
  assert.deepEqual(await endAtOnce(1), [`list ${KIND} 20`, `watch ${KIND} 20`]);
  h.stream.emit({ type: "bookmark", revision: "21" });
  await h.advance(0);
  assert.deepEqual(await endAtOnce(5), watches(5, "21"), "one that told something is none of them");
  assert.deepEqual(await endAtOnce(1), [`list ${KIND} 21`, `watch ${KIND} 20`]);
});

test("watches that last end without a list, however many there are", async () => {
  const h = await watching();
  for (let i = 0; i < 20; i++) {
    await h.advance(1000);
    h.stream.end();
    await h.advance(0);
  }
  assert.ok(h.driver.takeLog().every((line) => line === `watch ${KIND} 10`));
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
