import assert from "node:assert/strict";
import { test } from "node:test";
import type { KV } from "@bulrush/proto";
import { deltaOf, kv, reaccept, startClient, sync, welcome } from "./testing/fixture.ts";
import { WarningLog } from "./testing/recorder.ts";
import { ScriptedServer, until } from "./testing/scripted-server.ts";
import { scene } from "./client-scene.ts";

test("stop() closes the connection, leaves no timer, and nothing is called after it", async (t) => {
  const server = await ScriptedServer.start();
  t.after(() => server.close());
  const fixture = startClient([server.address]);
  const { client, clock, recorder } = fixture;
  const peer = await sync(fixture, server);
  let open = (): void => undefined;
  recorder.gate = new Promise((resolve) => {
    open = resolve;
  });
  peer.send(deltaOf(10, 11, kv("c")), deltaOf(11, 12, kv("d")));
  await until(() => client.state().serverSequence === 12, "both are received");
  const stopped = client.stop();
  open();
  await stopped;
  await peer.closed;
  assert.equal(client.state().phase, "stopped");
  assert.equal(clock.pending, 0);
  const calls = recorder.take();
  assert.deepEqual(calls, ["+c"], "the call that was under way, and none after it");
  await clock.advance(100_000);
  assert.equal(server.accepted, 1);
});

test("stop() works while the client waits, dials, or was never started", async () => {
  const { client, clock } = startClient([{ host: "127.0.0.1", port: 1 }]);
  await until(() => client.state().phase === "waiting", "the client waits");
  await client.stop();
  assert.equal(clock.pending, 0);
  const dialling = startClient([{ host: "127.0.0.1", port: 1 }]);
  await dialling.client.stop();
  assert.equal(dialling.clock.pending, 0);
});

test("a key that is not known is skipped, counted, and warned of once in five minutes", async (t) => {
  const logger = new WarningLog();
  const fixture = await scene(t, { logger, readTimeoutMs: 10_000_000 });
  const { client, clock, recorder, server } = fixture;
  const peer = await sync(fixture, server);
  const bad = (path: string): KV => ({ path, value: "v", revision: "", updateType: "new" });
  peer.send(deltaOf(10, 11, bad("/calico/v9/x"), kv("c"), bad("/other")));
  await until(() => recorder.calls.includes("#"), "the change is there");
  assert.deepEqual(recorder.take(), ["+c", "#"]);
  assert.equal(client.state().counts.badKeys, 2);
  assert.deepEqual(
    logger.warnings.map(({ fields }) => fields),
    [{ path: "/calico/v9/x" }],
  );
  await clock.advance(300_000);
  peer.send(deltaOf(11, 12, bad("/third")));
  await until(() => client.state().counts.badKeys === 3, "the third is counted");
  assert.equal(logger.warnings.length, 2);
});

test("a policy under the key of an older server gets its key and tier", async (t) => {
  const fixture = await scene(t);
  const { recorder, server } = fixture;
  const peer = await sync(fixture, server);
  const path = "/calico/v1/policy/tier/security/policy/ns%2fweb";
  peer.send(deltaOf(10, 11, { path, value: { selector: "all()" }, revision: "1", updateType: "new" }));
  await until(() => recorder.calls.includes("#"), "the policy is there");
  assert.deepEqual(recorder.state.get("/calico/v1/policy/NetworkPolicy/ns/web"), {
    selector: "all()",
    tier: "security",
  });
});

test("onStateChange() follows the phases", async (t) => {
  const phases: string[] = [];
  const fixture = await scene(t, { onStateChange: ({ phase }) => void phases.push(phase) });
  const peer = await sync(fixture, fixture.server);
  peer.socket.destroy();
  const second = await reaccept(fixture, fixture.server);
  await second.next("hello");
  second.send(welcome({ resume: "deltas" }));
  await until(() => fixture.client.state().phase === "streaming", "the client resumed");
  const wanted = "connecting handshake snapshot streaming waiting connecting handshake streaming";
  assert.equal(phases.join(" "), wanted);
});
