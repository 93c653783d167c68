import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { FakeTransport } from "../testing/fake-transport.ts";
import { memoryServer } from "../testing/memory-server.ts";
import { testHello } from "../testing/websocket-client.ts";
import { DEFAULT_SERVER_SETTINGS } from "./settings.ts";
import type { SyncServer } from "./sync-server.ts";

const CLIENTS = 120;
const STEP_MS = 100;

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A server with clients in sync, each of which hangs up as soon as it has its goodbye. */
class Crowd {
  readonly clock: ManualClock = new ManualClock(1_000_000);
  readonly server: SyncServer;
  readonly #waiting = new Map<string, FakeTransport>();
  /** When each goodbye came, to a tenth of a second. */
  readonly goodbyesMs: number[] = [];
  readonly codes: Set<string> = new Set();

  constructor(options: { readonly upstreamAgeMs?: () => number; readonly namePeers?: () => readonly string[] } = {}) {
    const { cache, server } = memoryServer(this.clock, options);
    cache.publish({ updates: [], status: "in-sync", nowMs: this.clock.nowMs() });
    this.server = server;
  }

  async fill(): Promise<void> {
    for (let i = 0; i < CLIENTS; i++) {
      const client = new FakeTransport(`10.0.0.${i}:4000`);
      this.server.accept(client);
      client.send({ ...testHello(`node-${i}`), clientId: `client-${i}` });
      this.#waiting.set(`node-${i}`, client);
    }
    await turns();
    assert.equal(this.server.sessions().length, CLIENTS);
  }

  /** Lets time pass, and answers pings. */
  async pass(seconds: number): Promise<void> {
    for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
      await this.clock.advance(STEP_MS);
      for (const [name, client] of this.#waiting) this.#read(name, client);
    }
  }

  #read(name: string, client: FakeTransport): void {
    for (const message of client.messages.splice(0)) {
      if (message.type === "ping") client.send({ type: "pong", pingSentAtMs: message.sentAtMs });
      if (message.type !== "goodbye") continue;
      this.goodbyesMs.push(this.clock.nowMs());
      this.codes.add(message.code);
      this.#waiting.delete(name);
      client.hangUp();
    }
  }

  /** The most goodbyes in any time of this length. */
  mostWithin(ms: number): number {
    return Math.max(
      ...this.goodbyesMs.map((at) => this.goodbyesMs.filter((other) => other >= at && other < at + ms).length),
    );
  }
}

test("a drain sends its clients away one each second, and the last one within the budget", async () => {
  const crowd = new Crowd();
  await crowd.fill();
  let isOver = false;
  void crowd.server.drain().then(() => (isOver = true));
  await crowd.pass(CLIENTS + 5);
  assert.equal(crowd.goodbyesMs.length, CLIENTS);
  assert.deepEqual([...crowd.codes], ["draining"]);
  // With random = 0.5 the gap is just the most that is allowed: a second.
  assert.equal(crowd.mostWithin(DEFAULT_SERVER_SETTINGS.shutdownMaxGapMs), 1);
  assert.ok(isOver);
  crowd.server.close();
});

test("a stale server sends its clients away over a minute, and none before it knows a better one", async () => {
  let peers: readonly string[] = [];
  let ageMs = 0;
  const crowd = new Crowd({ upstreamAgeMs: () => ageMs, namePeers: () => peers });
  await crowd.fill();
  ageMs = DEFAULT_SERVER_SETTINGS.staleAfterMs + 1;
  await crowd.pass(20);
  assert.deepEqual(crowd.goodbyesMs, [], "nobody has a place to go to");
  peers = ["10.0.1.1:5473"];
  await crowd.pass(10);
  // Of 120 in a minute: two a second, at even distances; one more where the sweep does not fall on the second.
  const early = crowd.goodbyesMs.length;
  assert.ok(early >= 18 && early <= 22, `${early} after ten seconds`);
  assert.equal(crowd.mostWithin(400), 1);
  ageMs = 0;
  await crowd.pass(10);
  assert.ok(crowd.goodbyesMs.length <= early + 1, "and stays when the datastore answers again");
  ageMs = DEFAULT_SERVER_SETTINGS.staleAfterMs + 1;
  // Ever fewer are a share of ever fewer, but one a second at least.
  await crowd.pass(120);
  assert.equal(crowd.goodbyesMs.length, CLIENTS);
  assert.deepEqual([...crowd.codes], ["stale"]);
  crowd.server.close();
});
