import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { BucketDigests, encodeMessage, frameMessage, hashValue, type Hello } from "@bulrush/proto";
import type { SyncStatus } from "@bulrush/model";
import { createMetrics, memoryLogger } from "@bulrush/service";
import { SnapshotCache } from "../cache/snapshot-cache.ts";
import type { Reached } from "../pipeline/reached-revision.ts";
import { FakeTransport } from "../testing/fake-transport.ts";
import { runTranscript } from "../testing/transcript.ts";
import { settingUpdate } from "../testing/updates.ts";
import { createServerMetrics } from "./server-metrics.ts";
import { DEFAULT_SERVER_SETTINGS, type SyncServerSettings } from "./settings.ts";
import { SyncServer } from "./sync-server.ts";

const DIRECTORY = new URL("testdata/", import.meta.url);

for (const name of readdirSync(DIRECTORY).filter((file) => file.startsWith("session-"))) {
  test(`SyncServer behaves as in ${name}`, async () => {
    const world = new World();
    await runTranscript(new URL(name, DIRECTORY), (command, args) => world.run(command, args));
    world.server.close();
  });
}

/** A server with fake clients; commands as in the transcripts. */
class World {
  readonly clock: ManualClock = new ManualClock(1_000_000);
  readonly logger = memoryLogger();
  readonly metrics = createMetrics();
  readonly cache: SnapshotCache;
  server: SyncServer;
  readonly clients = new Map<string, FakeTransport>();
  upstreamAgeMs = 250;
  peers: readonly string[] = [];
  reached: Reached | undefined = undefined;
  #readRecords = 0;

  constructor() {
    this.cache = new SnapshotCache({
      syncer: "felix",
      epoch: "first",
      nowMs: this.clock.nowMs(),
      encodeFrame: frameMessage,
      yieldTurn: settle,
      slotsPerChunk: 2,
      reuseBytes: 0,
      retainBytes: 3000,
    });
    this.server = this.#serve({});
  }

  #serve(settings: Partial<SyncServerSettings>): SyncServer {
    return new SyncServer({
      settings: { ...DEFAULT_SERVER_SETTINGS, serverName: "typha-1", ...settings },
      streams: [{ cache: this.cache, upstreamAgeMs: () => this.upstreamAgeMs, reached: () => this.reached }],
      clock: this.clock,
      random: () => 0.5,
      defer: setImmediate,
      logger: this.logger,
      metrics: createServerMetrics(createMetrics()),
      namePeers: () => this.peers,
    });
  }

  async run(command: string, args: readonly string[]): Promise<string> {
    const [name = ""] = args;
    const client = this.clients.get(name);
    switch (command) {
      case "server":
        this.server.close();
        this.server = this.#serve(numbers(args));
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
        this.server.accept(transport);
        break;
      }
      case "refuse": {
        const transport = new FakeTransport(`10.0.0.${this.clients.size + 1}:4000`);
        this.clients.set(name, transport);
        this.server.refuse(transport, "identity", 'Certificate has common name "x", required is "typha-client"');
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
        return "ok";
      case "revision":
        this.reached = { revision: Number(name), isWhole: args[1] !== "torn" };
        return "ok";
      case "peers":
        this.peers = args;
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
        void this.server.drain().then(() => this.logger.info("Drained"));
        break;
      case "places":
        return this.#places();
      default:
        assert.fail(`Unknown command ${command}`);
    }
    for (let turn = 0; turn < 20; turn++) await settle();
    return this.#report();
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

  #places(): string {
    const lines = this.server.sessions().map((session) => {
      const place = session.stream?.place();
      const duplicate = this.server.isDuplicate(session) ? ", duplicate" : "";
      return `${session.hello?.hostname} sent ${place?.sentSequence} applied ${place?.appliedSequence ?? "none"} lag ${place?.lagMs} ms${duplicate}`;
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

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
