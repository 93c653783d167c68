import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { Hello } from "@bulrush/proto";
import { Connection } from "./connection.ts";
import { ScriptedServer, until } from "./testing/scripted-server.ts";

/** The largest message that a client has. */
const HELLO: Hello = {
  type: "hello",
  version: 1,
  hostname: "h".repeat(253),
  syncer: "felix",
  info: "\u20ac".repeat(512),
  clientId: "c".repeat(64),
};

test("a server that takes no data is left after the write time-out", async (t) => {
  const server = await ScriptedServer.start();
  t.after(() => server.close());
  const clock = new ManualClock();
  let lost: Error | undefined;
  let isOpen = false;
  const connection = new Connection({
    address: server.address,
    tls: undefined,
    clock,
    dialTimeoutMs: 1000,
    readTimeoutMs: 60_000,
    writeTimeoutMs: 250,
    onOpen: () => {
      isOpen = true;
    },
    onMessage: () => undefined,
    onLost: (error) => {
      lost = error;
    },
  });
  const peer = await server.accept();
  await until(() => isOpen, "the connection is open");
  connection.send(HELLO);
  await peer.next("hello");
  await clock.advance(1000);
  assert.equal(lost, undefined, "what was taken is forgotten");
  peer.websocket.pause();
  // Two socket buffers of the kernel, of a few megabytes each.
  for (let i = 0; i < 10_000; i++) connection.send(HELLO);
  await clock.advance(249);
  assert.equal(lost, undefined);
  await clock.advance(1);
  assert.match(String(lost), /took no data for 250 ms/);
  assert.equal(clock.pending, 0);
});
