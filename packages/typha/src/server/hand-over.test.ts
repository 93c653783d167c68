import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { SnapshotCache } from "../cache/snapshot-cache.ts";
import { FakeTransport } from "../testing/fake-transport.ts";
import { memoryServer } from "../testing/memory-server.ts";
import { settingUpdate } from "../testing/updates.ts";
import { testHello } from "../testing/websocket-client.ts";
import type { ClientSession } from "./client-session.ts";
import type { SyncServer } from "./sync-server.ts";

interface Scene {
  readonly clock: ManualClock;
  readonly cache: SnapshotCache;
  readonly server: SyncServer;
  readonly client: FakeTransport;
  readonly session: ClientSession;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A client that is in sync. */
async function stream(): Promise<Scene> {
  const clock = new ManualClock(1_000_000);
  const { cache, server } = memoryServer(clock);
  cache.publish({ updates: [settingUpdate("a=1@1")], status: "in-sync", nowMs: clock.nowMs() });
  const client = new FakeTransport("10.0.0.1:4000");
  server.accept(client);
  client.send(testHello("node-1"));
  await settle();
  const [session] = server.sessions();
  assert.ok(session !== undefined);
  client.messages.splice(0);
  return { clock, cache, server, client, session };
}

function publish({ cache, clock }: Scene, text: string): void {
  cache.publish({ updates: [settingUpdate(text)], nowMs: clock.nowMs() });
}

test("handOver() tells the client where to go, and serves it until it has gone", async () => {
  const scene = await stream();
  const { client, session, server, clock } = scene;
  session.handOver("100 streams", ["10.0.0.2:5473", "10.0.0.3:5473"]);
  session.handOver("again", []);
  publish(scene, "a=2@2");
  await settle();
  const [goodbye, delta, ...more] = client.messages;
  assert.ok(goodbye?.type === "goodbye");
  assert.deepEqual(
    [goodbye.code, goodbye.reason, goodbye.peers],
    ["rebalancing", "100 streams", ["10.0.0.2:5473", "10.0.0.3:5473"]],
  );
  assert.deepEqual([delta?.type, more], ["delta", []], "the stream goes on, and the goodbye is said once");
  assert.ok(session.isLeaving);
  await clock.advance(4000);
  assert.equal(client.closed, false);
  client.hangUp();
  assert.deepEqual(server.sessions(), []);
  server.close();
});

test("handOver() ends the stream of a client that stays, after five seconds and with no further word", async () => {
  const { client, session, server, clock } = await stream();
  session.handOver("100 streams", []);
  await settle();
  client.messages.splice(0);
  await clock.advance(6100);
  await settle();
  assert.equal(client.closed, true);
  assert.deepEqual(client.messages, []);
  server.close();
});

test("a drain ends a stream that is being handed over at once", async () => {
  const { client, session, server, clock } = await stream();
  session.handOver("100 streams", []);
  await settle();
  const drained = server.drain();
  await clock.advance(1100);
  await settle();
  assert.equal(client.closed, true);
  await drained;
  server.close();
});
