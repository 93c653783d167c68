import assert from "node:assert/strict";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { PROTOCOL_VERSION, type ServerMessage } from "@bulrush/proto";
import { formatServerAddress } from "./server-address.ts";
import {
  deltaOf,
  gone,
  IN_SYNC,
  kv,
  reaccept,
  startClient,
  sync,
  waitOut,
  welcome,
  snapshotOf,
} from "./testing/fixture.ts";
import { type Peer, ScriptedServer, until } from "./testing/scripted-server.ts";
import { scene } from "./client-scene.ts";

test("a client says hello, takes the snapshot, the changes and the status in order, and acks", async (t) => {
  const { client, recorder, server } = await scene(t);
  const peer = await server.accept();
  const hello = await peer.next("hello");
  assert.deepEqual(hello, {
    type: "hello",
    version: PROTOCOL_VERSION,
    hostname: "node-a",
    syncer: "felix",
    info: "test/1",
    clientId: hello.clientId,
  });
  assert.match(hello.clientId, /^[0-9a-f]{32}$/);
  peer.send(welcome(), ...snapshotOf(10, [kv("a"), kv("b")]), IN_SYNC);
  await until(() => recorder.calls.at(-1) === "#", "the snapshot is there");
  assert.deepEqual(recorder.take(), ["resync", "+a", "+b", "in-sync", "#"]);
  peer.send(deltaOf(10, 12, kv("a", "2"), kv("c")), deltaOf(12, 13, gone("b")));
  await until(() => recorder.calls.includes("-b"), "the changes are there");
  await until(() => recorder.calls.at(-1) === "#", "their sequence is there");
  assert.deepEqual(
    recorder.take().filter((call) => call !== "#"),
    ["~a", "+c", "-b"],
  );
  assert.deepEqual(
    recorder.state,
    new Map([
      ["/calico/v1/config/a", "2"],
      ["/calico/v1/config/c", "1"],
    ]),
  );
  client.ack(recorder.sequence);
  assert.deepEqual(await peer.next("ack"), { type: "ack", sequence: 13 });
  const state = client.state();
  assert.equal(state.phase, "streaming");
  assert.equal(state.serverName, "typha-1");
  assert.equal(state.status, "in-sync");
  assert.equal(state.serverSequence, 13);
  assert.equal(state.counts.receivedKVs, 5);
});

test("a client that lost its connection resumes: nothing is handed over again", async (t) => {
  const fixture = await scene(t);
  const { client, recorder, server } = fixture;
  const first = await sync(fixture, server);
  client.ack(recorder.sequence);
  await first.next("ack");
  first.socket.destroy();
  const second = await reaccept(fixture, server);
  assert.deepEqual(recorder.take(), [], "a loss changes nothing");
  const hello = await second.next("hello");
  assert.deepEqual(hello.resume, { epoch: "e1", sequence: 10 });
  second.send(welcome({ resume: "deltas" }), IN_SYNC, deltaOf(10, 11, kv("a", "2")));
  assert.deepEqual(await second.next("ack"), { type: "ack", sequence: 10 }, "the server is told again");
  await until(() => recorder.calls.length === 2, "the change is there");
  assert.deepEqual(recorder.take(), ["~a", "#"]);
  assert.deepEqual([client.state().counts.snapshots, client.state().counts.resumes], [1, 1]);
});

test("a snapshot from another server hands over only what differs, and deletes at in-sync", async (t) => {
  const fixture = await scene(t);
  const { client, recorder, server } = fixture;
  const first = await sync(fixture, server);
  const oldSequence = recorder.sequence;
  first.socket.destroy();
  const second = await reaccept(fixture, server);
  await second.next("hello");
  second.send(welcome({ epoch: "e2", sequence: 5 }), ...snapshotOf(5, [kv("a"), kv("c")]));
  await until(() => recorder.calls.includes("#"), "the snapshot is there");
  assert.deepEqual(recorder.take(), ["resync", "+c", "#"]);
  client.ack(oldSequence);
  second.send(IN_SYNC);
  await until(() => recorder.calls.length === 2, "the status is there");
  assert.deepEqual(recorder.take(), ["-b", "in-sync"]);
  client.ack(recorder.sequence);
  assert.deepEqual(await second.next("ack"), { type: "ack", sequence: 5 }, "and no ack of the other epoch before it");
  assert.equal(client.state().counts.madeUpDeletes, 1);
  assert.equal(client.state().counts.suppressedUpdates, 1);
});

test("a server that never gets in sync takes nothing away", async (t) => {
  const fixture = await scene(t);
  const { recorder, server } = fixture;
  const first = await sync(fixture, server);
  first.socket.destroy();
  const second = await reaccept(fixture, server);
  await second.next("hello");
  second.send(welcome({ epoch: "e2", sequence: 0 }), ...snapshotOf(0, []), {
    type: "status",
    sequence: 0,
    status: "wait-for-ready",
  });
  await until(() => recorder.calls.includes("#"), "the snapshot is there");
  second.socket.destroy();
  const third = await reaccept(fixture, server);
  const hello = await third.next("hello");
  assert.deepEqual(hello.resume, { epoch: "e2", sequence: 0 });
  third.send(welcome({ epoch: "e2", sequence: 0, resume: "deltas" }), deltaOf(0, 1, kv("a"), kv("b")), IN_SYNC);
  await until(() => recorder.calls.includes("in-sync"), "the server is in sync");
  assert.deepEqual(
    recorder.take().filter((call) => call !== "#"),
    ["resync", "in-sync"],
  );
});

test("a snapshot that broke off is not resumed", async (t) => {
  const fixture = await scene(t);
  const { recorder, server } = fixture;
  const first = await sync(fixture, server);
  first.socket.destroy();
  const second = await reaccept(fixture, server);
  await second.next("hello");
  second.send(welcome({ epoch: "e2" }), { type: "snapshot", kvs: [kv("a", "9")] });
  await until(() => recorder.calls.includes("~a"), "part of the snapshot is there");
  second.socket.destroy();
  const third = await reaccept(fixture, server);
  assert.equal((await third.next("hello")).resume, undefined);
});

/** What a server that breaks the order sends after the hello. */
const BREACHES: readonly (readonly [string, readonly ServerMessage[], RegExp])[] = [
  ["a snapshot before the welcome", [{ type: "snapshot", kvs: [] }], /snapshot during handshake/],
  [
    "a ping before the welcome",
    [{ type: "ping", sentAtMs: 1, upstreamAgeMs: 1, sequence: 1 }],
    /ping during handshake/,
  ],
  ["two welcomes", [welcome(), welcome()], /welcome during snapshot/],
  [
    "a reject after the welcome",
    [welcome(), { type: "reject", code: "internal", reason: "", retryAfterMs: 0, peers: [] }],
    /reject during snapshot/,
  ],
  ["another syncer", [welcome({ syncer: "bgp" })], /serves bgp, not felix/],
  ["a newer version", [welcome({ version: PROTOCOL_VERSION + 1 })], /version \d+ of the protocol, not/],
  ["a resume that was not asked for", [welcome({ resume: "deltas" })], /resumes at 10/],
  ["a delta during the snapshot", [welcome(), deltaOf(10, 11)], /delta during snapshot/],
  ["a status during the snapshot", [welcome(), IN_SYNC], /status during snapshot/],
  ["too few KVs", [welcome(), { type: "snapshot-end", sequence: 10, count: 1 }], /0 KVs of a snapshot of 1/],
  ["a snapshot of another sequence", [welcome(), ...snapshotOf(11, [])], /ends a snapshot of 11, begun as 10/],
  ["a second snapshot", [welcome(), ...snapshotOf(10, []), ...snapshotOf(10, [])], /snapshot during streaming/],
  ["a gap", [welcome(), ...snapshotOf(10, []), deltaOf(11, 12)], /from 11 to 12 after 10/],
  ["a repeated delta", [welcome(), ...snapshotOf(10, []), deltaOf(10, 11), deltaOf(10, 11)], /from 10 to 11 after 11/],
  ["a delta backwards", [welcome(), ...snapshotOf(10, []), deltaOf(10, 9)], /from 10 to 9 after 10/],
  [
    "a status from the future",
    [welcome(), ...snapshotOf(10, []), { ...IN_SYNC, sequence: 11 } as ServerMessage],
    /status of 11 at 10/,
  ],
];

for (const [name, messages, pattern] of BREACHES)
  test(`a client leaves a server that sends ${name}, and asks for a snapshot`, async (t) => {
    const fixture = await scene(t);
    const peer = await fixture.server.accept();
    await peer.next("hello");
    peer.send(...messages);
    await peer.closed;
    const next = await reaccept(fixture, fixture.server);
    assert.equal((await next.next("hello")).resume, undefined);
    const { lastError } = fixture.client.state();
    assert.equal(lastError?.code, "SYNC_CLIENT_PROTOCOL");
    assert.match(lastError.message, pattern);
  });

const GARBAGE: readonly (readonly [string, (peer: Peer) => void, RegExp])[] = [
  ["bytes that are no frame", (peer) => peer.websocket.send(Buffer.from([0, 0xc1])), /Bad message from 127/],
  ["a client's message", (peer) => peer.websocket.send(Buffer.from([0, 0x92, 0x03, 0x01])), /may not send a ack/],
  ["a text", (peer) => peer.websocket.send("hello"), /text message/],
  [
    "a frame over the bound",
    (peer) => peer.socket.write(Buffer.from("827f0000000001000001", "hex")),
    /Max payload size/,
  ],
  ["a frame against RFC 6455", (peer) => peer.socket.write(Buffer.from("f200", "hex")), /RSV/],
];

for (const [name, act, pattern] of GARBAGE)
  test(`a client leaves a server that sends ${name}`, async (t) => {
    const { client, server } = await scene(t);
    const peer = await server.accept();
    act(peer);
    await peer.closed;
    await until(() => client.state().lastError !== undefined, "the client noticed");
    const { lastError } = client.state();
    assert.equal(lastError?.code, "SYNC_CLIENT_PROTOCOL");
    assert.match(lastError.message, pattern);
  });

test("a ping is answered, and says how old the server's view is", async (t) => {
  const fixture = await scene(t);
  const peer = await sync(fixture, fixture.server);
  peer.send({ type: "ping", sentAtMs: 123, upstreamAgeMs: 4567, sequence: 10 });
  assert.deepEqual(await peer.next("pong"), { type: "pong", pingSentAtMs: 123 });
  assert.equal(fixture.client.state().upstreamAgeMs, 4567);
});

test("a silent server is left after the read time-out, and only then", async (t) => {
  const fixture = await scene(t, { readTimeoutMs: 1000 });
  const { client, clock, server } = fixture;
  const peer = await sync(fixture, server);
  await clock.advance(900);
  peer.send({ type: "ping", sentAtMs: 1, upstreamAgeMs: 0, sequence: 10 });
  await peer.next("pong");
  await clock.advance(999);
  assert.equal(client.state().phase, "streaming");
  await clock.advance(1);
  assert.equal(client.state().lastError?.code, "SYNC_CLIENT_TIMEOUT");
  assert.match(client.state().lastError?.message ?? "", /was silent for 1000 ms/);
  const next = await reaccept(fixture, server);
  assert.deepEqual(
    (await next.next("hello")).resume,
    { epoch: "e1", sequence: 10 },
    "silence is no reason to start anew",
  );
});

for (const [pingIntervalMs, readTimeoutMs, silenceMs] of [
  // The longer of what is set and three times between pings.
  [45_000, undefined, 135_000],
  [10_000, undefined, 30_000],
  [500, undefined, 30_000],
  [10_000, 5000, 30_000],
  [45_000, 200_000, 200_000],
  // More than ten minutes count as ten.
  [86_400_000, undefined, 1_800_000],
  // A server of version 2 does not tell.
  [undefined, undefined, 30_000],
] as const)
  test(`a server that pings each ${pingIntervalMs} ms is left after ${silenceMs} ms, where ${readTimeoutMs ?? "nothing"} is set`, async (t) => {
    const fixture = await scene(t, readTimeoutMs === undefined ? {} : { readTimeoutMs });
    const { client, clock, server, recorder } = fixture;
    const peer = await server.accept();
    await peer.next("hello");
    const facts = pingIntervalMs === undefined ? { version: 2 } : { version: 3, pingIntervalMs };
    peer.send(welcome(facts), ...snapshotOf(10, [kv("a")]), IN_SYNC);
    await until(() => recorder.calls.includes("in-sync"), "the client is in sync");
    await clock.advance(silenceMs - 1);
    assert.equal(client.state().phase, "streaming");
    await clock.advance(1);
    assert.match(client.state().lastError?.message ?? "", new RegExp(`was silent for ${silenceMs} ms`));
  });

test("a server that accepts and says nothing is left after the read time-out", async (t) => {
  const { client, clock, server } = await scene(t);
  const peer = await server.accept();
  await peer.next("hello");
  await clock.advance(29_999);
  assert.equal(client.state().phase, "handshake");
  await clock.advance(1);
  assert.equal(client.state().lastError?.code, "SYNC_CLIENT_TIMEOUT");
});

test("a host that takes the connection and answers nothing is left after the dial time-out", async (t) => {
  const hole = createServer(() => undefined);
  await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  const { client, clock } = startClient([{ host: "127.0.0.1", port: (hole.address() as AddressInfo).port }]);
  t.after(async () => {
    await client.stop();
    hole.close();
  });
  await until(() => client.state().phase === "connecting", "the client dials");
  await clock.advance(9999);
  assert.equal(client.state().phase, "connecting");
  await clock.advance(1);
  assert.match(client.state().lastError?.message ?? "", /did not answer for 10000 ms/);
});

test("a rejected client leaves that server alone for as long as it asks", async (t) => {
  const fixture = await scene(t);
  const { client, clock, server } = fixture;
  const peer = await server.accept();
  await peer.next("hello");
  peer.send({
    type: "reject",
    code: "too-many-connections",
    reason: "limit 400 reached",
    retryAfterMs: 20_000,
    peers: [],
  });
  await until(() => client.state().phase === "waiting", "the client waits");
  assert.deepEqual(client.state().lastError, {
    code: "SYNC_CLIENT_REJECTED",
    message: "Server rejected this client (too-many-connections): limit 400 reached",
    atMs: 1_000_000,
  });
  await clock.advance(19_999);
  assert.equal(server.accepted, 1);
  // With random = 0.5 it stays a quarter longer than asked.
  await clock.advance(8000);
  await server.accept();
  assert.equal(server.accepted, 2);
});

test("a goodbye sends the client to a server that it names", async (t) => {
  const fixture = await scene(t);
  const { client, recorder, server } = fixture;
  const other = await ScriptedServer.start();
  t.after(() => other.close());
  const peer = await sync(fixture, server);
  peer.send({
    type: "goodbye",
    code: "draining",
    reason: "rollout",
    retryAfterMs: 60_000,
    peers: ["nonsense", formatServerAddress(other.address)],
  });
  const next = await other.accept();
  assert.deepEqual((await next.next("hello")).resume, { epoch: "e1", sequence: 10 });
  assert.equal(client.state().phase, "streaming", "the old server is followed until the new one takes the client");
  next.send(welcome({ epoch: "e2", resume: "buckets", buckets: [], sequence: 3 }), ...snapshotOf(3, []), IN_SYNC);
  assert.equal(await peer.closed, 1000);
  await until(() => client.state().serverSequence === 3, "the client has moved");
  assert.deepEqual([client.state().counts.moves, client.state().counts.failures], [1, 0]);
  await until(() => recorder.calls.includes("#"), "the sequence is handed over");
  assert.deepEqual(recorder.take(), ["#"], "nothing else is");
});

test("a goodbye of the only server: it is left alone for as long as it asks", async (t) => {
  const fixture = await scene(t);
  const { client, clock, server } = fixture;
  const peer = await sync(fixture, server);
  peer.send({ type: "goodbye", code: "draining", reason: "rollout", retryAfterMs: 8000, peers: [] });
  peer.websocket.close(1001);
  await until(() => client.state().phase === "waiting", "the client waits");
  assert.match(client.state().lastError?.message ?? "", /ended the stream \(draining\): rollout/);
  await clock.advance(7999);
  assert.equal(server.accepted, 1);
  await clock.advance(5000);
  await server.accept();
});

test("a server that accepts and then closes is dialled less and less often", async (t) => {
  const fixture = await scene(t);
  const { server } = fixture;
  const gaps: number[] = [];
  for (let i = 0; i < 12; i++) {
    const peer = await server.accept();
    await peer.next("hello");
    peer.send(welcome(), ...snapshotOf(10, []));
    peer.websocket.close();
    gaps.push(await waitOut(fixture));
  }
  // 500 ms doubled up to 30,000, less a quarter with random = 0.5.
  assert.deepEqual(gaps, [375, 750, 1500, 3000, 6000, 12_000, 22_500, 22_500, 22_500, 22_500, 22_500, 22_500]);
});

test("a stream that lived makes the delays short again", async (t) => {
  const fixture = await scene(t);
  const { clock, server } = fixture;
  const delays: number[] = [];
  for (let i = 0; i < 4; i++) {
    const peer = await server.accept();
    peer.socket.destroy();
    delays.push(await waitOut(fixture));
  }
  const peer = await sync(fixture, server);
  await clock.advance(10_000);
  peer.socket.destroy();
  delays.push(await waitOut(fixture));
  assert.deepEqual(delays, [375, 750, 1500, 3000, 375]);
});

test("a client goes on when nobody listens, and finds the server that comes", async (t) => {
  const gone = await ScriptedServer.start();
  const { address } = gone;
  await gone.close();
  const servers: (typeof address)[] = [address];
  const fixture = startClient([], { servers: () => Promise.resolve(servers) });
  const { client } = fixture;
  t.after(() => client.stop());
  for (let i = 0; i < 5; i++) {
    await until(() => client.state().counts.failures > i, "the client tried");
    assert.equal(client.state().lastError?.code, "SYNC_CLIENT_CONNECT");
    await waitOut(fixture);
  }
  const server = await ScriptedServer.start();
  t.after(() => server.close());
  servers.push(server.address);
  await waitOut(fixture);
  await sync(fixture, server);
});

test("a client goes on when the servers cannot be listed, with the last list if it has one", async (t) => {
  const server = await ScriptedServer.start();
  t.after(() => server.close());
  let answer: () => Promise<(typeof server.address)[]> = () => Promise.resolve([]);
  const fixture = startClient([], { servers: () => answer() });
  const { client } = fixture;
  t.after(() => client.stop());
  await until(() => client.state().phase === "waiting", "the client waits");
  assert.equal(client.state().lastError?.message, "No server is known");
  answer = () => Promise.reject(new Error("forbidden"));
  await fixture.clock.advance(1000);
  await until(() => client.state().counts.failures >= 3, "the client tried again");
  assert.equal(client.state().lastError?.code, "SYNC_CLIENT_DISCOVERY");
  answer = () => Promise.resolve([server.address]);
  await waitOut(fixture);
  const peer = await sync(fixture, server);
  answer = () => Promise.reject(new Error("forbidden"));
  peer.socket.destroy();
  await reaccept(fixture, server);
});

test("a slow consumer pauses the server, and gets the newest of each key", async (t) => {
  const fixture = await scene(t, { maxPendingUpdates: 1000 });
  const { client, recorder, server } = fixture;
  const peer = await sync(fixture, server);
  let open = (): void => undefined;
  recorder.gate = new Promise((resolve) => {
    open = resolve;
  });
  // 400 KVs a message; the same 2,000 keys again and again, with a kilobyte each: 24 MB.
  const filler = "x".repeat(1000);
  let sequence = 10;
  for (let i = 0; i < 60; i++) {
    const kvs = Array.from({ length: 400 }, (_, j) => kv(`k${(i * 400 + j) % 2000}`, `${i} ${filler}`));
    peer.send(deltaOf(sequence, sequence + 1, ...kvs));
    sequence++;
  }
  await until(() => client.state().counts.receivedKVs > 1000, "the client received");
  for (let i = 0; i < 200; i++) await new Promise((resolve) => setImmediate(resolve));
  // What one read of the socket brought may still come after the pause, no more.
  assert.ok(client.state().counts.receivedKVs < 6000, `${client.state().counts.receivedKVs} received`);
  recorder.gate = undefined;
  open();
  await until(() => client.state().serverSequence === sequence, "everything is received");
  const last = (): string => String(recorder.state.get("/calico/v1/config/k1999"));
  await until(() => last().startsWith("59 ") && recorder.calls.at(-1) === "#", "everything is handed over");
  for (let key = 0; key < 2000; key++) {
    const value = recorder.state.get(`/calico/v1/config/k${key}`) as string;
    assert.equal(value.split(" ")[0], String(55 + Math.floor(key / 400)));
  }
});
