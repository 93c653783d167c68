import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { BucketDigests, bucketCountFor, bucketOf, hashValue, type KV, type ServerMessage } from "@bulrush/proto";
import { formatServerAddress, type ServerAddress } from "./server-address.ts";
import {
  deltaOf,
  type Fixture,
  IN_SYNC,
  kv,
  reaccept,
  snapshotOf,
  startClient,
  sync,
  welcome,
} from "./testing/fixture.ts";
import { type Peer, ScriptedServer, until } from "./testing/scripted-server.ts";

interface Scene extends Fixture {
  readonly server: ScriptedServer;
  readonly other: ScriptedServer;
  /** The stream of `server`, in sync at sequence 10 with a=1 and b=1. */
  readonly peer: Peer;
}

/** Two servers, and a client that follows the first and knows of the second, unless it `isAlone`. */
async function scene(t: TestContext, { isAlone = false } = {}): Promise<Scene> {
  const [server, other] = [await ScriptedServer.start(), await ScriptedServer.start()];
  const servers: ServerAddress[] = [server.address];
  const fixture = startClient([], { servers: () => Promise.resolve(servers), staleLeaveMs: 10_000 });
  t.after(async () => {
    await fixture.client.stop();
    await server.close();
    await other.close();
  });
  const peer = await sync(fixture, server);
  if (!isAlone) servers.push(other.address);
  return { ...fixture, server, other, peer };
}

function goodbye(...peers: readonly ScriptedServer[]): ServerMessage {
  const names = peers.map(({ address }) => formatServerAddress(address));
  return { type: "goodbye", code: "rebalancing", reason: "200 streams", retryAfterMs: 60_000, peers: names };
}

function stalePing(sinceMs: number): ServerMessage {
  return { type: "ping", sentAtMs: sinceMs + 130_000, upstreamAgeMs: 130_000, sequence: 10, staleSinceMs: sinceMs };
}

function digestsOf(kvs: readonly KV[]): string {
  const digests = new BucketDigests(bucketCountFor(kvs.length));
  for (const { path, value } of kvs) digests.add(path, hashValue(path, value));
  return digests.encode();
}

test("another server is told digests of what is held, and sends the buckets that differ alone", async (t) => {
  const { client, recorder, server, peer, clock } = await scene(t, { isAlone: true });
  const names = Array.from({ length: 40 }, (_, i) => kv(`k${i}`));
  peer.send(deltaOf(10, 11, ...names));
  await until(() => client.state().serverSequence === 11, "all are there");
  await until(() => recorder.state.size === 42 && recorder.calls.at(-1) === "#", "all are handed over");
  recorder.take();
  peer.socket.destroy();
  const second = await reaccept({ client, recorder, clock }, server);
  const hello = await second.next("hello");
  assert.deepEqual(hello.resume, { epoch: "e1", sequence: 11 });
  const held = [kv("a"), kv("b"), ...names];
  assert.equal(hello.digests, digestsOf(held));
  const [lost] = names;
  assert.ok(lost);
  const bucket = bucketOf(lost.path, 8);
  const same = held.filter(({ path }) => path !== lost.path && bucketOf(path, 8) === bucket);
  assert.ok(same.length > 0);
  second.send(welcome({ epoch: "e2", resume: "buckets", buckets: [bucket], sequence: 3 }), ...snapshotOf(3, same));
  await until(() => recorder.calls.includes("#"), "the buckets are there");
  assert.deepEqual(recorder.take(), ["resync", "#"], "nothing is removed before the server is in sync");
  second.send(IN_SYNC);
  await until(() => recorder.calls.includes("in-sync"), "the server is in sync");
  assert.deepEqual(recorder.take(), ["-k0", "in-sync"]);
  assert.deepEqual([client.state().counts.bucketResumes, client.state().counts.madeUpDeletes], [1, 1]);
});

const BAD_BUCKETS: readonly (readonly [string, number[], RegExp])[] = [
  ["a bucket that there is not", [1], /names bucket 1 of 1/],
];
for (const [name, buckets, pattern] of BAD_BUCKETS)
  test(`a client leaves a server that names ${name}, and asks for everything`, async (t) => {
    const { client, recorder, server, peer, clock } = await scene(t, { isAlone: true });
    peer.socket.destroy();
    const second = await reaccept({ client, recorder, clock }, server);
    assert.equal((await second.next("hello")).digests, digestsOf([kv("a"), kv("b")]));
    second.send(welcome({ epoch: "e2", resume: "buckets", buckets }));
    await until(() => client.state().lastError?.code === "SYNC_CLIENT_PROTOCOL", "the breach is seen");
    assert.match(client.state().lastError?.message ?? "", pattern);
    assert.deepEqual(recorder.take(), []);
  });

test("after a breach the client tells nothing of what it holds, so that it is sent everything", async (t) => {
  const { client, recorder, server, peer, clock } = await scene(t, { isAlone: true });
  peer.send(deltaOf(12, 13));
  const second = await reaccept({ client, recorder, clock }, server);
  const hello = await second.next("hello");
  assert.deepEqual([hello.resume, hello.digests], [undefined, undefined]);
  second.send(welcome({ epoch: "e2" }), ...snapshotOf(10, [kv("a"), kv("b")]), IN_SYNC);
  await until(() => recorder.calls.at(-1) === "#" || recorder.calls.includes("in-sync"), "the client is in sync");
  second.socket.destroy();
  const third = await reaccept({ client, recorder, clock }, server);
  assert.notEqual((await third.next("hello")).digests, undefined, "a snapshot mends it");
});

test("what the old server sends after the hello to the new one does not count", async (t) => {
  const { client, recorder, other, peer } = await scene(t);
  peer.send(goodbye(other));
  const next = await other.accept();
  const hello = await next.next("hello");
  assert.equal(hello.digests, digestsOf([kv("a"), kv("b")]));
  peer.send(deltaOf(10, 11, kv("a", "old")));
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(client.state().serverSequence, 10);
  next.send(welcome({ epoch: "e2", resume: "buckets", buckets: [], sequence: 5 }), ...snapshotOf(5, []), IN_SYNC);
  next.send(deltaOf(5, 6, kv("c")));
  await until(() => recorder.calls.includes("+c"), "the new server is followed");
  assert.deepEqual(
    recorder.take().filter((call) => call !== "#"),
    ["+c"],
  );
});

test("if no other server takes the client, the old one goes on where it was", async (t) => {
  const { client, recorder, other, peer } = await scene(t);
  peer.send(goodbye(other));
  const next = await other.accept();
  await next.next("hello");
  peer.send(deltaOf(10, 11, kv("c")));
  next.send({ type: "reject", code: "too-many-connections", reason: "400", retryAfterMs: 60_000, peers: [] });
  await until(() => recorder.calls.includes("+c"), "the old server is followed");
  assert.equal(client.state().phase, "streaming");
  assert.equal(client.state().lastError?.code, "SYNC_CLIENT_REJECTED");
});

test("the loss of the old server while the new one is dialled does no harm", async (t) => {
  const { client, recorder, other, peer } = await scene(t);
  peer.send(goodbye(other));
  const next = await other.accept();
  peer.socket.destroy();
  await next.next("hello");
  next.send(welcome({ epoch: "e2", resume: "buckets", buckets: [], sequence: 5 }), ...snapshotOf(5, []), IN_SYNC);
  await until(() => client.state().serverSequence === 5, "the new server is followed");
  await until(() => recorder.calls.includes("#"), "its sequence is handed over");
  assert.deepEqual(recorder.take(), ["#"]);
});

test("a client leaves a stale server for a fresh one", async (t) => {
  const { client, clock, other, peer } = await scene(t);
  peer.send(stalePing(900_000));
  await until(() => client.state().staleSinceMs === 900_000, "the client knows");
  // With random = 0.5: half of ten seconds.
  await clock.advance(4900);
  assert.equal(other.accepted, 0);
  await clock.advance(100);
  const next = await other.accept();
  await next.next("hello");
  next.send(welcome({ epoch: "e2", resume: "buckets", buckets: [], sequence: 5 }), ...snapshotOf(5, []), IN_SYNC);
  await peer.closed;
  assert.equal(client.state().staleSinceMs, undefined);
  assert.equal(client.state().counts.moves, 1);
});

test("a client stays with a stale server while the others know no more, and keeps what it has", async (t) => {
  const { client, clock, recorder, other, peer } = await scene(t);
  peer.send(stalePing(900_000));
  await until(() => client.state().staleSinceMs === 900_000, "the client knows");
  await clock.advance(5000);
  const next = await other.accept();
  await next.next("hello");
  next.send(
    welcome({ epoch: "e2", sequence: 5, staleSinceMs: 899_000 }),
    ...snapshotOf(5, [kv("a", "older")]),
    IN_SYNC,
  );
  await next.closed;
  await until(() => client.state().lastError?.code === "SYNC_CLIENT_STALE", "the other is no better");
  assert.match(client.state().lastError?.message ?? "", /typha-1 has had no answer from its datastore since 1970/);
  assert.deepEqual(recorder.take(), []);
  peer.send(deltaOf(10, 11, kv("c")));
  await until(() => recorder.calls.includes("+c"), "the old server goes on");
  // 30 s, less a quarter with random = 0.5.
  await clock.advance(22_400);
  assert.equal(other.accepted, 1);
  await clock.advance(200);
  const again = await other.accept();
  await again.next("hello");
  again.send(welcome({ epoch: "e2", resume: "buckets", buckets: [], sequence: 6 }), ...snapshotOf(6, []), IN_SYNC);
  await until(() => client.state().counts.moves === 1, "now it is");
});

test("a client without a server does not follow one that would set it back", async (t) => {
  const { client, clock, recorder, server, peer } = await scene(t, { isAlone: true });
  peer.send({ type: "ping", sentAtMs: 950_000, upstreamAgeMs: 1000, sequence: 10 });
  await peer.next("pong");
  peer.socket.destroy();
  let second = await reaccept({ client, recorder, clock }, server);
  await second.next("hello");
  second.send(welcome({ epoch: "e2", staleSinceMs: 948_999 }), ...snapshotOf(10, []), IN_SYNC);
  await second.closed;
  assert.deepEqual(recorder.take(), [], "everything is kept");
  second = await reaccept({ client, recorder, clock }, server);
  await second.next("hello");
  second.send(welcome({ epoch: "e3" }), ...snapshotOf(10, [kv("a")]), IN_SYNC);
  await until(() => recorder.calls.includes("-b"), "a fresh one counts");
});

test("a host that swallows packets costs a second: the next server is dialled beside it", async (t) => {
  const sockets: Socket[] = [];
  const hole = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  const server = await ScriptedServer.start();
  const black = { host: "127.0.0.1", port: (hole.address() as AddressInfo).port, nodeName: "n1" };
  const fixture = startClient([black, server.address], { nodeName: "n1" });
  const { client, clock } = fixture;
  t.after(async () => {
    await client.stop();
    for (const socket of sockets) socket.destroy();
    hole.close();
    await server.close();
  });
  await until(() => sockets.length === 1, "the hole is dialled");
  await clock.advance(1000);
  await sync(fixture, server);
  assert.equal(client.state().counts.failures, 0);
});

test("a client that waits goes on when other servers are known", async (t) => {
  const server = await ScriptedServer.start();
  let servers: ServerAddress[] = [];
  let changed = (): void => undefined;
  let isFollowed = false;
  const source = {
    list: () => Promise.resolve(servers),
    follow: (callback: () => void) => {
      changed = callback;
      isFollowed = true;
      return () => void (isFollowed = false);
    },
  };
  const fixture = startClient([], { servers: source, backoffInitialMs: 3_600_000, backoffMaxMs: 3_600_000 });
  const { client, clock } = fixture;
  t.after(async () => {
    await client.stop();
    await server.close();
    assert.equal(isFollowed, false);
  });
  await until(() => client.state().phase === "waiting", "the client waits");
  servers = [server.address];
  changed();
  await clock.advance(499);
  assert.equal(server.accepted, 0);
  await clock.advance(1);
  await sync(fixture, server);
});
