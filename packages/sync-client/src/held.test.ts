import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { BucketDigests, bucketCountFor, hashValue } from "@bulrush/proto";
import type { HeldState } from "./options.ts";
import { type Fixture, IN_SYNC, kv, snapshotOf, startClient, waitOut, welcome } from "./testing/fixture.ts";
import { type Peer, ScriptedServer, until } from "./testing/scripted-server.ts";

const HELD: HeldState = { kvs: [kv("a"), { ...kv("b"), revision: "77" }], atMs: 900_000 };

async function heldScene(t: TestContext): Promise<Fixture & { readonly peer: Peer; readonly server: ScriptedServer }> {
  const server = await ScriptedServer.start();
  const fixture = startClient([server.address], {}, HELD);
  t.after(async () => {
    await fixture.client.stop();
    await server.close();
  });
  return { ...fixture, peer: await server.accept(), server };
}

test("hold() makes the first hello say what is held, and nothing of it is handed over again", async (t) => {
  const { peer, recorder } = await heldScene(t);
  const digests = new BucketDigests();
  for (const { path, value } of HELD.kvs) digests.add(path, hashValue(path, value));
  const hello = await peer.next("hello");
  assert.deepEqual([hello.digests, hello.revision, hello.resume], [digests.encode(bucketCountFor(2)), 77, undefined]);
  peer.send(welcome({ resume: "buckets", buckets: [] }), ...snapshotOf(10, []), IN_SYNC);
  await until(() => recorder.calls.includes("in-sync"), "the status is there");
  assert.deepEqual(
    recorder.take().filter((call) => call !== "#"),
    ["in-sync"],
  );
});

test("what is held and a server does not have is deleted when that one is in sync, and not before", async (t) => {
  const { peer, recorder } = await heldScene(t);
  await peer.next("hello");
  peer.send(welcome(), ...snapshotOf(10, [kv("a", "2")]));
  await until(() => recorder.calls.includes("#"), "the snapshot is there");
  assert.deepEqual(recorder.take(), ["resync", "~a", "#"]);
  peer.send(IN_SYNC);
  await until(() => recorder.calls.includes("in-sync"), "the status is there");
  assert.deepEqual(recorder.take(), ["-b", "in-sync"]);
});

test("a server that is stale since before the held state was right is not followed", async (t) => {
  const scene = await heldScene(t);
  await scene.peer.next("hello");
  scene.peer.send(welcome({ staleSinceMs: 899_999 }), ...snapshotOf(10, []), IN_SYNC);
  await waitOut(scene);
  assert.deepEqual(scene.recorder.calls, []);
  assert.equal(scene.client.state().lastError?.code, "SYNC_CLIENT_STALE");
});
