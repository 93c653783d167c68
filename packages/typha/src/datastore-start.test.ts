import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { DatastoreError, type DatastoreErrorCode, type DatastoreWriter, type StoredResource } from "@bulrush/datastore";
import { memoryLogger } from "@bulrush/service";
import { DatastoreStart, type DatastoreStartOptions } from "./datastore-start.ts";

const INFORMATION = {
  apiVersion: "projectcalico.org/v3",
  kind: "ClusterInformation",
  metadata: { name: "default" },
  spec: { clusterGUID: "g", clusterType: "typha,kdd", calicoVersion: "v3.30.0", datastoreReady: true },
};

/** A datastore whose ClusterInformation, and whose answers to reads and writes, the test says. */
class FakeStore {
  information: object | undefined;
  reads: DatastoreErrorCode | undefined;
  writes: DatastoreErrorCode | undefined;
  readonly written: string[] = [];
  readonly writer: DatastoreWriter;

  constructor(type: DatastoreWriter["type"] = "kubernetes") {
    const stored = (resource: object): StoredResource => ({ resource: resource as typeof INFORMATION, revision: "1" });
    const write = (verb: string, resource: object): Promise<StoredResource> => {
      const { kind } = resource as typeof INFORMATION;
      this.written.push(`${verb} ${kind}`);
      if (this.writes !== undefined) return Promise.reject(new DatastoreError("not you", { code: this.writes }));
      if (kind === "ClusterInformation") this.information = resource;
      return Promise.resolve(stored(resource));
    };
    this.writer = {
      type,
      get: ({ kind }) => {
        if (this.reads !== undefined) return Promise.reject(new DatastoreError("no answer", { code: this.reads }));
        const found = kind === "Tier" ? INFORMATION : this.information;
        return Promise.resolve(found === undefined ? undefined : stored(found));
      },
      async *list() {},
      create: (resource) => write("create", resource),
      update: (resource) => write("update", resource),
      delete: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }
}

interface Running {
  readonly problem: string | undefined;
  readonly serves: boolean;
  readonly isOver: boolean;
}

/** Starts it, as Typha does; the returned function says how it stands after so much time. */
function run(store: FakeStore, mode: DatastoreStartOptions["mode"]): (afterMs?: number) => Promise<Running> {
  const clock = new ManualClock();
  let state: Running = { problem: undefined, serves: false, isOver: false };
  const start = new DatastoreStart({
    mode,
    writer: store.writer,
    clock,
    logger: memoryLogger(),
    newGuid: () => "0123",
    onProblem: (problem) => (state = { ...state, problem }),
  });
  const { signal } = new AbortController();
  void (async () => {
    await start.mayServe(signal);
    state = { ...state, serves: true };
    await start.follow(signal);
    state = { ...state, isOver: true };
  })();
  return async (afterMs = 0) => {
    await clock.advance(afterMs);
    return state;
  };
}

const DONE: Running = { problem: undefined, serves: true, isOver: true };

test("mayServe() holds back a datastore with v1 data, with code and way out, until it is none any more", async () => {
  const store = new FakeStore();
  store.information = { ...INFORMATION, spec: { calicoVersion: "v2.6.5" } };
  const after = run(store, "auto");
  const { problem = "", serves } = await after();
  assert.match(problem, /v1 data of Calico v2\.6\.5.*bulrushctl migrate --from-v1.*\(DATASTORE_LEGACY_DATA\)/);
  assert.deepEqual([serves, store.written], [false, []]);
  assert.equal((await after(10_000)).serves, false);
  store.information = INFORMATION;
  assert.deepEqual(await after(1000), DONE);
});

test("mayServe() asks again every second while nobody answers", async () => {
  const store = new FakeStore();
  store.information = INFORMATION;
  store.reads = "DATASTORE_CONNECTION_REFUSED";
  const after = run(store, "never");
  const { problem = "", serves } = await after();
  assert.match(problem, /no answer \(DATASTORE_CONNECTION_REFUSED\)/);
  assert.equal(serves, false);
  store.reads = undefined;
  assert.deepEqual(await after(1000), DONE);
});

test("auto creates what is missing, and serves at once", async () => {
  const store = new FakeStore();
  assert.deepEqual(await run(store, "auto")(), DONE);
  assert.deepEqual(store.written, ["create ClusterInformation"]);
});

test("auto is content with what it may not change", async () => {
  const store = new FakeStore();
  store.information = { ...INFORMATION, spec: { datastoreReady: true } };
  store.writes = "DATASTORE_UNAUTHORIZED";
  assert.deepEqual(await run(store, "auto")(), DONE);
  assert.deepEqual(store.written, ["update ClusterInformation"]);
});

for (const mode of ["auto", "never", ""] as const) {
  test(`"${mode}" serves and says that nothing has been created, and how to, until somebody did`, async () => {
    const store = new FakeStore();
    store.writes = "DATASTORE_UNAUTHORIZED";
    const after = run(store, mode);
    const { problem = "", serves, isOver } = await after();
    assert.match(
      problem,
      /there is no ClusterInformation "default".*"bulrushctl initialise".*DATASTORE_NOT_INITIALISED/,
    );
    assert.deepEqual([serves, isOver], [true, false]);
    assert.equal(store.written.length, mode === "never" ? 0 : 1);
    store.information = INFORMATION;
    assert.deepEqual(await after(5000), DONE);
  });
}

test("auto says that the CRDs are missing", async () => {
  const store = new FakeStore();
  store.reads = "DATASTORE_NOT_FOUND";
  const { problem = "", serves } = await run(store, "auto")();
  assert.match(problem, /install the CRDs/);
  assert.equal(serves, true);
});

test("always serves only when it has created what is missing", async () => {
  const store = new FakeStore();
  store.writes = "DATASTORE_UNAUTHORIZED";
  const after = run(store, "always");
  const { problem = "", serves } = await after();
  assert.match(problem, /cannot be initialised: not you \(DATASTORE_UNAUTHORIZED\)/);
  assert.equal(serves, false);
  store.writes = undefined;
  assert.deepEqual(await after(1000), DONE);
});

test("a directory is written by always alone", async () => {
  for (const [mode, written] of [
    ["auto", 0],
    ["never", 0],
    ["always", 1],
  ] as const) {
    const store = new FakeStore("file");
    // As a directory has it without a file.
    store.information = { ...INFORMATION, spec: { datastoreReady: true } };
    assert.deepEqual(await run(store, mode)(), DONE, mode);
    assert.equal(store.written.length, written, mode);
  }
});
