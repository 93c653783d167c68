import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { ManualClock, must } from "@bulrush/base";
import { BucketDigests, encodeMessage, frameMessage, hashValue, type Hello } from "@bulrush/proto";
import type { SyncStatus } from "@bulrush/model";
import { createMetrics, memoryLogger } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import { FakeTransport } from "../testing/fake-transport.ts";
import { threadlessWorkers } from "../testing/threadless-workers.ts";
import { runTranscript } from "../testing/transcript.ts";
import { settingUpdate } from "../testing/updates.ts";
import { createServerMetrics } from "./server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS, type SyncServerSettings } from "./settings.ts";
import { OwnThread } from "../workers/own-thread.ts";
import type { Serving } from "../workers/serving.ts";
import { WorkerPool, type WorkerPoolOptions } from "../workers/worker-pool.ts";
import type { SyncServer } from "./sync-server.ts";

const DIRECTORY = new URL("testdata/", import.meta.url);

/** Goodbyes to all, which each worker paces over its own clients. */
const PACED_BY_EACH_WORKER = ["session-drain.txt", "session-stale.txt"];

for (const name of readdirSync(DIRECTORY).filter((file) => file.startsWith("session-")))
  for (const workers of PACED_BY_EACH_WORKER.includes(name) ? [0, 1] : [0, 1, 2]) {
    test(`SyncServer behaves as in ${name}${workers === 0 ? "" : `, with ${workers} worker${workers === 1 ? "" : "s"}`}`, async () => {
      const world = new World(workers);
      await runTranscript(new URL(name, DIRECTORY), (command, args) => world.run(command, args));
      await world.close();
    });
  }

interface Served {
  readonly serving: Serving;
  /** The server of the next connection. */
  readonly next: () => SyncServer;
}

/** A server with fake clients; commands as in the transcripts. */
class World {
  readonly clock: ManualClock = new ManualClock(1_000_000);
  readonly logger = memoryLogger();
  readonly metrics = createMetrics();
  readonly cache: SnapshotCache;
  readonly #workers: number;
  #serving: Serving;
  /** A new connection's server. */
  #next: () => SyncServer;
  readonly clients = new Map<string, FakeTransport>();
  upstreamAgeMs = 250;
  peers: readonly string[] = [];
  reached: Reached | undefined = undefined;
  #readRecords = 0;
  #onFacts: () => void = () => {};

  /** With this many workers; 0: the server has no threads but this one. */
  constructor(workers: number) {
    this.#workers = workers;
    this.cache = new SnapshotCache({
      syncer: "felix",
      epoch: "first",
      nowMs: this.clock.nowMs(),
      encodeFrame: frameMessage,
      yieldTurn: settle,
      slotsPerChunk: 2,
      reuseBytes: 0,
      retainBytes: 2000,
    });
    ({ serving: this.#serving, next: this.#next } = this.#serve({}));
  }

  async close(): Promise<void> {
    await this.#serving.close();
  }

  #serve(changed: Partial<SyncServerSettings>): Served {
    const settings = { ...DEFAULT_SERVER_SETTINGS, serverName: "typha-1", ...changed };
    const { cache, clock, logger } = this;
    const random = (): number => 0.5;
    const streams = [{ cache, upstreamAgeMs: () => this.upstreamAgeMs, reached: () => this.reached }];
    if (this.#workers > 0) return this.#serveInWorkers({ settings, streams, clock, random, logger });
    const metrics = createServerMetrics(createMetrics());
    const { handshakeTimeoutMs } = settings;
    const serving = new OwnThread({
      server: { settings, streams, clock, random, defer: setImmediate, logger, metrics, namePeers: () => this.peers },
      listener: { host: "", port: 0, tls: undefined, handshakeTimeoutMs, clock, random, logger, metrics },
    });
    return { serving, next: () => serving.server };
  }

  #serveInWorkers(options: Pick<WorkerPoolOptions, "settings" | "streams" | "clock" | "random" | "logger">): Served {
    const { startThread, workers } = threadlessWorkers(this.clock, options.random);
    const metrics = createMetrics();
    const pool = new WorkerPool({
      ...options,
      count: this.#workers,
      host: "",
      port: 0,
      tls: undefined,
      yieldTurn: settle,
      metrics,
      serverMetrics: createServerMetrics(metrics),
      startThread,
      load: () => "null",
      peerTargets: () => this.peers.map((address, index) => ({ address, weight: 1000 ** -index })),
      sentTo: () => {},
      onTlsReloaded: () => {},
    });
    pool.start();
    let turn = 0;
    this.#onFacts = () => pool.postFacts();
    return {
      serving: pool,
      next: () => must(workers.get((turn++ % this.#workers) + 1), "a worker").server,
    };
  }

  async run(command: string, args: readonly string[]): Promise<string> {
    const [name = ""] = args;
    const client = this.clients.get(name);
    switch (command) {
      case "server":
        await this.#serving.close();
        ({ serving: this.#serving, next: this.#next } = this.#serve(numbers(args)));
        await turns();
        return "ok";
      case "publish": {
        const status = args.find((arg) => arg.startsWith("status="))?.slice("status=".length);
        const updates = args.filter((arg) => !arg.startsWith("status=")).map(settingUpdate);
        this.cache.publish({ updates, status: status as SyncStatus | undefined, nowMs: this.clock.nowMs() });
        break;
      }
      case "connect": {
        const transport = new FakeTransport(`10.0.0.${this.clients.size + 1}:4000`);
        this.clients.set(name, transport);
        this.#next().accept(transport);
        break;
      }
      case "refuse": {
        const transport = new FakeTransport(`10.0.0.${this.clients.size + 1}:4000`);
        this.clients.set(name, transport);
        this.#next().refuse(transport, "identity", 'Certificate has common name "x", required is "typha-client"');
        break;
      }
      case "hello":
        client?.send(helloOf(name, args.slice(1)));
        break;
      case "ack":
        client?.send({ type: "ack", sequence: Number(args[1]) });
        break;
      case "pong":
        client?.send({ type: "pong", pingSentAtMs: 0 });
        break;
      case "send":
        client?.sendBytes(...(RAW[args[1] ?? ""] ?? assert.fail(`Unknown bytes ${String(args[1])}`)));
        break;
      case "breach":
        client?.breach(args[1] as "message-too-big");
        break;
      case "pings":
        for (let i = 0; i < Number(args[1]); i++) client?.control();
        break;
      case "upstream-age":
        this.upstreamAgeMs = Number(name) * 1000;
        await this.#tellFacts();
        return "ok";
      case "revision":
        this.reached = { revision: Number(name), isWhole: args[1] !== "torn" };
        return "ok";
      case "peers":
        this.peers = args;
        await this.#tellFacts();
        return "ok";
      case "block":
        if (client !== undefined) client.reading = false;
        break;
      case "read":
        client?.read();
        break;
      case "hang-up":
        client?.hangUp();
        break;
      case "wait":
        await this.clock.advance(Number(name) * 1000);
        break;
      case "drain":
        void this.#serving.drain().then(() => this.logger.info("Drained"));
        break;
      case "places":
        return await this.#places();
      default:
        assert.fail(`Unknown command ${command}`);
    }
    await turns();
    return this.#report();
  }

  async #tellFacts(): Promise<void> {
    this.#onFacts();
    await turns();
  }

  /** What every client received and what was logged since the last report. */
  #report(): string {
    const lines: string[] = [];
    for (const [name, client] of this.clients)
      for (const line of client.takeReceived()) lines.push(`${name} < ${line}`);
    const records = this.logger.records
      .slice(this.#readRecords)
      .filter(({ level, message }) => level === "warn" || message === "Drained");
    this.#readRecords = this.logger.records.length;
    for (const { level, message, fields } of records) {
      const { peer, hostname, code, reason, otherPeers } = fields;
      const facts = Object.entries({ peer, hostname, code, reason, otherPeers }).filter(
        ([, value]) => value !== undefined,
      );
      lines.push(`${level}: ${message}${facts.map(([key, value]) => ` ${key}=${JSON.stringify(value)}`).join("")}`);
    }
    return lines.join("\n") || "silence";
  }

  async #places(): Promise<string> {
    const clients = await this.#serving.clients();
    const lines = clients.map(({ hostname, sentSequence, appliedSequence, lagMs, duplicate }) => {
      const place = `sent ${sentSequence} applied ${appliedSequence ?? "none"} lag ${lagMs} ms`;
      return `${hostname} ${place}${duplicate ? ", duplicate" : ""}`;
    });
    return lines.join("\n") || "nobody";
  }
}

function numbers(args: readonly string[]): Partial<SyncServerSettings> {
  return Object.fromEntries(args.map((arg) => [arg.split("=")[0], Number(arg.split("=")[1])]));
}

function helloOf(name: string, args: readonly string[]): Hello {
  const facts = new Map(args.map((arg): [string, string] => [arg.split("=")[0] ?? "", arg.split("=")[1] ?? ""]));
  const held = facts.get("holds")?.split(",");
  const [epoch, sequence] = (facts.get("resume") ?? "").split("/");
  return {
    type: "hello",
    version: Number(facts.get("version") ?? 1),
    hostname: facts.get("hostname") ?? name,
    syncer: (facts.get("syncer") ?? "felix") as Hello["syncer"],
    info: "test",
    clientId: facts.get("id") ?? name,
    ...(epoch && { resume: { epoch, sequence: Number(sequence) } }),
    ...(held !== undefined && { digests: digestsOf(held) }),
    ...(facts.has("revision") && { revision: Number(facts.get("revision")) }),
  };
}

/** Of settings `name:value`, in 16 buckets. */
function digestsOf(held: readonly string[]): string {
  const digests = new BucketDigests(16);
  for (const [path = "", value] of held.map((text) => text.split(":"))) digests.add(path, hashValue(path, value));
  return digests.encode();
}

const HELLO = encodeMessage(helloOf("x", []));
const RAW: Readonly<Record<string, [bytes: Uint8Array, binary?: boolean]>> = {
  nothing: [Buffer.alloc(0)],
  truncated: [HELLO.subarray(0, HELLO.length - 3)],
  garbage: [Buffer.from("ffffffffff", "hex")],
  text: [Buffer.from("hello"), false],
  "server-message": [encodeMessage({ type: "status", sequence: 1, status: "in-sync" })],
};

/** Enough for everything that needs no time, messages between workers included. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await settle();
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
