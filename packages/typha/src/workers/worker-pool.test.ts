import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ManualClock, must, seededRandom } from "@bulrush/base";
import { frameMessage } from "@bulrush/proto";
import { createMetrics, memoryLogger, type MemoryLogger, type Metrics } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import { createFrameEncoders } from "../pipeline/frame-encoder.ts";
import { createServerMetrics } from "../server/server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS, type SyncServerSettings } from "../server/settings.ts";
import { FakeTransport } from "../testing/fake-transport.ts";
import { type ThreadlessWorkers, threadlessWorkers } from "../testing/threadless-workers.ts";
import { settingUpdate } from "../testing/updates.ts";
import { testHello } from "../testing/websocket-client.ts";
import { WorkerPool } from "./worker-pool.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Enough for everything that needs no time. */
async function settle(): Promise<void> {
  for (let i = 0; i < 100; i++) await turn();
}

interface Scene {
  readonly clock: ManualClock;
  readonly cache: SnapshotCache;
  readonly pool: WorkerPool;
  readonly threads: ThreadlessWorkers;
  readonly metrics: Metrics;
  readonly logger: MemoryLogger;
  readonly handed: string[];
}

interface SceneOptions {
  readonly workers?: number;
  readonly settings?: Partial<SyncServerSettings>;
  readonly retainBytes?: number;
}

function scene(t: TestContext, { workers = 2, settings = {}, retainBytes = 1 << 20 }: SceneOptions = {}): Scene {
  const clock = new ManualClock(1_000_000);
  const logger = memoryLogger();
  const metrics = createMetrics();
  const handed: string[] = [];
  const cache = new SnapshotCache({
    syncer: "felix",
    epoch: "first",
    nowMs: clock.nowMs(),
    ...createFrameEncoders(() => 1, true),
    yieldTurn: turn,
    slotsPerChunk: 4,
    retainBytes,
  });
  const threads = threadlessWorkers(clock, () => 0.5);
  const pool = new WorkerPool({
    count: workers,
    settings: { ...DEFAULT_SERVER_SETTINGS, ...settings },
    streams: [{ cache, upstreamAgeMs: () => 0, reached: () => undefined }],
    host: "",
    port: 0,
    tls: undefined,
    clock,
    random: () => 0.5,
    yieldTurn: turn,
    logger,
    metrics,
    serverMetrics: createServerMetrics(metrics),
    startThread: threads.startThread,
    load: () => "null",
    peerTargets: () => [{ address: "10.9.9.9:5473", weight: 1 }],
    sentTo: (address) => handed.push(address),
    onTlsReloaded: () => {},
  });
  pool.start();
  t.after(() => pool.close());
  return { clock, cache, pool, threads, metrics, logger, handed };
}

function publish({ cache, clock }: Scene, ...texts: readonly string[]): void {
  cache.publish({ updates: texts.map(settingUpdate), status: "in-sync", nowMs: clock.nowMs() });
}

/** A client of that worker, which has said its hello. */
function join({ threads }: Scene, worker: number, hostname: string, hello: object = {}): FakeTransport {
  const client = new FakeTransport(`10.0.0.1:${hostname}`);
  must(threads.workers.get(worker), "a worker").server.accept(client);
  client.send({ ...testHello(hostname), ...hello });
  return client;
}

/** What a client holds after all that it was told. */
function held({ messages }: FakeTransport): ReadonlyMap<string, unknown> {
  const kvs = new Map<string, unknown>();
  for (const message of messages)
    if ("kvs" in message)
      for (const { path, value } of message.kvs)
        if (value === undefined) kvs.delete(path);
        else kvs.set(path, value);
  return kvs;
}

const begunWith = ({ messages }: FakeTransport): string | undefined => {
  const welcome = messages.find(({ type }) => type === "welcome");
  return welcome?.type === "welcome" ? welcome.resume : undefined;
};

test("WorkerPool: a client resumes on a worker with what it was sent by another", async (t) => {
  const all = scene(t);
  publish(all, "a=1@1");
  await settle();
  const first = join(all, 1, "node-1");
  await settle();
  first.hangUp();
  publish(all, "b=1@2");
  await settle();
  const second = join(all, 2, "node-1", { resume: { epoch: "first", sequence: all.cache.head.sequence - 1 } });
  await settle();
  assert.equal(begunWith(second), "deltas");
  assert.deepEqual([...held(second)], [["b", "1"]]);
});

test("WorkerPool: a worker that ends is started again, its clients resume there, and its counters stay", async (t) => {
  const all = scene(t);
  const { clock, threads, metrics, pool, cache, logger } = all;
  publish(all, "a=1@1");
  await settle();
  const lost = join(all, 2, "node-1");
  const kept = join(all, 1, "node-2");
  await clock.advance(1000);
  await settle();
  const counted = /bulrush_typha_streams_begun\{syncer="felix",resume="snapshot"\} (\d+)/;
  assert.equal(counted.exec(await metrics.text())?.[1], "2");
  threads.kill(2, "out of memory");
  await settle();
  assert.equal(lost.closed, true);
  assert.equal(pool.streamCount, 1);
  assert.match(pool.notices().join(), /connection worker 2 ended \(out of memory\) and is started again/);
  const end = logger.records.find(({ message }) => message === "A connection worker has ended");
  assert.deepEqual([end?.level, end?.fields["worker"], end?.fields["reason"]], ["error", 2, "out of memory"]);
  publish(all, "b=1@2");
  await clock.advance(1000);
  await settle();
  const back = join(all, 2, "node-1", { resume: { epoch: "first", sequence: cache.head.sequence - 1 } });
  await clock.advance(1000);
  await settle();
  assert.equal(begunWith(back), "deltas");
  assert.deepEqual(Object.fromEntries(held(kept)), { a: "1", b: "1" });
  const page = await metrics.text();
  assert.equal(counted.exec(page)?.[1], "2");
  assert.match(page, /bulrush_typha_streams_begun\{syncer="felix",resume="deltas"\} 1/);
  assert.match(page, /typha_connections_streaming\{syncer="felix"\} 2/);
  assert.match(page, /bulrush_typha_worker_restarts 1/);
  assert.match(page, /bulrush_typha_worker_eventloop_utilization\{worker="2"\} 0.2\n/);
});

test("WorkerPool: a worker that keeps ending is started after pauses that grow", async (t) => {
  const { clock, threads, metrics } = scene(t);
  await settle();
  let lives = 0;
  const end = clock.nowMs() + 60_000;
  while (clock.nowMs() < end) {
    if (threads.workers.has(1)) {
      lives++;
      threads.kill(1, "a bug");
    }
    await clock.advance(100);
    await settle();
  }
  // 0.15 s doubled up to 22.5 s: 8 starts within a minute, the first life aside.
  assert.ok(lives >= 7 && lives <= 10, String(lives));
  const restarts = /bulrush_typha_worker_restarts (\d+)/.exec(await metrics.text())?.[1];
  // The first life is no restart, and the last end may wait for its own.
  assert.ok([lives - 1, lives].includes(Number(restarts)), restarts);
});

test("WorkerPool: a worker that says nothing for half a minute is ended", async (t) => {
  const all = scene(t);
  const { clock, logger, pool } = all;
  await clock.advance(2000);
  await settle();
  // A thread whose event loop stands still.
  all.threads.hang(2);
  await clock.advance(29_000);
  await settle();
  assert.equal(logger.records.filter(({ message }) => message === "A connection worker has ended").length, 0);
  await clock.advance(5000);
  await settle();
  const ends = logger.records.filter(({ message }) => message === "A connection worker has ended");
  assert.deepEqual(
    ends.map(({ fields }) => [fields["worker"], fields["reason"]]),
    [[2, "it has said nothing for 30 s"]],
  );
  assert.deepEqual(await pool.clients(), []);
});

test("WorkerPool: MaxConnectionsUpperLimit holds over all workers, and a dead one's places are free again", async (t) => {
  const all = scene(t, { workers: 3, settings: { maxConnections: 5 } });
  await settle();
  const clients = Array.from({ length: 9 }, (_, i) => join(all, (i % 3) + 1, `node-${i}`));
  await settle();
  const isIn = (client: FakeTransport): boolean => client.messages.some(({ type }) => type === "welcome");
  assert.equal(clients.filter(isIn).length, 5);
  const [rejected] = clients.filter((client) => !isIn(client));
  const reject = rejected?.messages[0];
  assert.ok(reject?.type === "reject");
  assert.deepEqual([reject.code, reject.peers], ["too-many-connections", ["10.9.9.9:5473"]]);
  assert.deepEqual(
    all.handed,
    Array.from({ length: 4 }, () => "10.9.9.9:5473"),
  );
  all.threads.kill(1, "a bug");
  await settle();
  const more = Array.from({ length: 4 }, (_, i) => join(all, 2, `later-${i}`));
  await settle();
  assert.equal(more.filter(isIn).length, 2, "two of the five were on the worker that ended");
});

test("WorkerPool: what a worker held of snapshots is given back when it ends", async (t) => {
  const all = scene(t, { workers: 1 });
  const random = seededRandom(1);
  const text = (): string => Array.from({ length: 2000 }, () => random().toString(36).slice(2)).join("");
  publish(all, ...Array.from({ length: 20 }, (_, i) => `k${i}=${text()}@1`));
  await settle();
  // More than one write, of which the first is never taken.
  const stuck = new FakeTransport("10.0.0.1:4000");
  stuck.reading = false;
  must(all.threads.workers.get(1), "a worker").server.accept(stuck);
  stuck.send(testHello("node-1"));
  await settle();
  const released: number[] = [];
  const release = all.cache.release.bind(all.cache);
  all.cache.release = (snapshot) => {
    released.push(snapshot.count);
    release(snapshot);
  };
  all.threads.kill(1, "a bug");
  await settle();
  assert.deepEqual(released, [20]);
});

test("WorkerPool: a stream is handed over by the main thread's word", async (t) => {
  const all = scene(t);
  await settle();
  const client = join(all, 2, "node-1");
  await settle();
  const [stream, ...more] = all.pool.streams();
  assert.deepEqual([stream?.clientId, stream?.type, more], ["node-1", "felix", []]);
  stream?.goodbye("too many", ["10.9.9.8:5473"]);
  await settle();
  const goodbye = client.messages.at(-1);
  assert.ok(goodbye?.type === "goodbye");
  assert.deepEqual([goodbye.code, goodbye.peers], ["rebalancing", ["10.9.9.8:5473"]]);
  assert.deepEqual(all.pool.streams(), [], "who leaves is not handed over twice");
  assert.equal(all.pool.streamCount, 1);
});

test("WorkerPool: drain() ends the clients of all workers, and close() the workers", async (t) => {
  const all = scene(t);
  await settle();
  const clients = Array.from({ length: 4 }, (_, i) => join(all, (i % 2) + 1, `node-${i}`));
  await settle();
  let isDrained = false;
  void all.pool.drain().then(() => (isDrained = true));
  await all.clock.advance(10_000);
  await settle();
  assert.deepEqual(
    clients.map(({ messages }) => messages.filter(({ type }) => type === "goodbye").length),
    [1, 1, 1, 1],
  );
  assert.equal(isDrained, true);
  await all.pool.close();
  assert.equal(all.threads.workers.size, 0);
  await all.clock.advance(60_000);
  assert.equal(all.threads.workers.size, 0, "nobody is started again");
  assert.equal(all.clock.pending, 0);
});

for (const seed of [1, 2, 3, 4, 5, 6])
  test(`WorkerPool: clients of workers that are killed at random end with what there is (seed ${seed})`, async (t) => {
    const random = seededRandom(seed);
    const pick = (count: number): number => Math.floor(random() * count);
    // From no history at all to all of it.
    const all = scene(t, { retainBytes: [0, 2000, 1 << 20][seed % 3] ?? 0 });
    const wanted = new Map<string, unknown>();
    const clients = new Map<string, FakeTransport>();
    await settle();
    for (let round = 1; round <= 200; round++) {
      const name = `k${pick(40)}`;
      const isDelete = random() < 0.2;
      publish(all, isDelete ? `-${name}@${round}` : `${name}=v${round}@${round}`);
      if (isDelete) wanted.delete(name);
      else wanted.set(name, `v${round}`);
      for (let turns = pick(5); turns > 0; turns--) await turn();
      if (random() < 0.05) all.threads.kill(1 + pick(2), "a bug");
      if (random() < 0.1) await all.clock.advance(500);
      const node = `node-${pick(8)}`;
      const client = clients.get(node);
      if (client !== undefined && !client.closed) {
        client.reading = random() < 0.7;
        if (client.reading) client.read();
        continue;
      }
      const worker = [1, 2].filter((number) => all.threads.workers.has(number)).at(pick(2) - 2);
      if (worker !== undefined) clients.set(node, join(all, worker, node));
    }
    for (const client of clients.values()) client.read();
    // By then both workers live.
    await all.clock.advance(31_000);
    await settle();
    const late = [1, 2].map((worker) => join(all, worker, `late-${worker}`));
    await settle();
    const open = [...clients.values(), ...late].filter(({ closed }) => !closed);
    assert.ok(late.every((client) => open.includes(client)));
    for (const client of open) assert.deepEqual(held(client), wanted);
    for (const { messages } of open) {
      const deltas = messages.filter((message) => message.type === "delta");
      for (const [index, { fromSequence, sequence }] of deltas.entries()) {
        assert.equal(sequence, fromSequence + 1);
        if (index > 0) assert.equal(fromSequence, deltas[index - 1]?.sequence);
      }
    }
  });

test("frames of deltas are in memory that threads share, and the bytes are those of other frames", () => {
  const message = { type: "delta", fromSequence: 0, sequence: 1, kvs: [], seenAtMs: 1 } as const;
  const frame = createFrameEncoders(() => 1, true).encodeFrame(message);
  assert.ok(frame.buffer instanceof SharedArrayBuffer);
  assert.deepEqual(frame, frameMessage(message));
});
