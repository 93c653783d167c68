import assert from "node:assert/strict";
import { ManualClock } from "@bulrush/base";
import type { KV, ServerMessage, Welcome } from "@bulrush/proto";
import { createSyncClient } from "../client.ts";
import type { HeldState, SyncClient, SyncClientOptions } from "../options.ts";
import type { ServerAddress } from "../server-address.ts";
import { Recorder } from "./recorder.ts";
import { type Peer, type ScriptedServer, until } from "./scripted-server.ts";

/** For tests: a client with a clock that stands still and callbacks that write down. */
export interface Fixture {
  readonly client: SyncClient;
  readonly clock: ManualClock;
  readonly recorder: Recorder;
}

export function startClient(
  servers: readonly ServerAddress[],
  more: Partial<SyncClientOptions> = {},
  held?: HeldState,
): Fixture {
  const clock = new ManualClock(1_000_000);
  const recorder = new Recorder();
  const client = createSyncClient({
    servers,
    hostname: "node-a",
    info: "test/1",
    syncer: "felix",
    callbacks: recorder,
    clock,
    random: () => 0.5,
    ...more,
  });
  if (held !== undefined) client.hold(held);
  client.start();
  return { client, clock, recorder };
}

/**
 * Waits until the client waits, and lets exactly that delay pass, in steps of 25 ms. Returns the delay. No time passes
 * while a socket is at work: that would be a time-out.
 */
export async function waitOut({ client, clock }: Fixture): Promise<number> {
  await until(() => client.state().phase === "waiting", "the client waits");
  const startMs = clock.nowMs();
  const { failures } = client.state().counts;
  // A dial that fails at once may be over before this looks again.
  while (client.state().phase === "waiting" && client.state().counts.failures === failures) await clock.advance(25);
  return clock.nowMs() - startMs;
}

/** Waits for the loss of the connection, lets the delay pass, and takes the next connection. */
export async function reaccept(fixture: Fixture, server: ScriptedServer): Promise<Peer> {
  await waitOut(fixture);
  return await server.accept();
}

export function welcome(more: Partial<Welcome> = {}): Welcome {
  return {
    type: "welcome",
    version: 1,
    epoch: "e1",
    syncer: "felix",
    resume: "snapshot",
    sequence: 10,
    connectionId: "k",
    serverName: "typha-1",
    ...more,
  };
}

/** A configuration key of this name; the value is its text. */
export function kv(name: string, value: unknown = "1"): KV {
  return { path: `/calico/v1/config/${name}`, value, revision: "r", updateType: "unknown" };
}

/** A key that is gone. */
export function gone(name: string): KV {
  return { ...kv(name), value: undefined };
}

export function snapshotOf(sequence: number, kvs: readonly KV[]): ServerMessage[] {
  return [
    { type: "snapshot", kvs },
    { type: "snapshot-end", sequence, count: kvs.length },
  ];
}

export function deltaOf(fromSequence: number, sequence: number, ...kvs: readonly KV[]): ServerMessage {
  return { type: "delta", fromSequence, sequence, kvs, seenAtMs: 1 };
}

export const IN_SYNC: ServerMessage = { type: "status", sequence: 0, status: "in-sync" };

/** Brings a fresh connection to in-sync at sequence 10 with a=1 and b=1. */
export async function sync(fixture: Fixture, server: ScriptedServer): Promise<Peer> {
  const peer = await server.accept();
  await peer.next("hello");
  peer.send(welcome(), ...snapshotOf(10, [kv("a"), kv("b")]), IN_SYNC);
  const { recorder } = fixture;
  await until(() => recorder.calls.includes("in-sync"), "the client is in sync");
  assert.deepEqual(recorder.take(), ["resync", "+a", "+b", "in-sync", "#"]);
  return peer;
}
