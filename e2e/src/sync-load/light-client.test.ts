import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { after, test } from "node:test";
import { decodeClientMessage, frameMessage, type Hello, type KV, type ServerMessage } from "@bulrush/proto";
import { Dialer } from "./dialer.ts";
import { FrameDecoder } from "./frame-decoder.ts";
import { FrameReader } from "./frame-reader.ts";
import { LightClient } from "./light-client.ts";
import { LoadRecord } from "./load-record.ts";

const KVS: readonly KV[] = [
  { path: "/calico/v1/config/LogSeverityScreen", value: "Info", revision: "1", updateType: "new" },
];

/** A server that takes one client at a time, and says what it is told to. */
class Script {
  readonly #server: Server;
  readonly #sockets: Socket[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Script> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Script(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The next client: its hello has come. */
  async accept(): Promise<{ readonly hello: Hello; say(...messages: ServerMessage[]): void; ended: Promise<unknown> }> {
    const [socket] = (await once(this.#server, "connection")) as [Socket];
    this.#sockets.push(socket);
    const ended = once(socket, "close");
    socket.on("error", () => {});
    const hello = await new Promise<Hello>((resolve) => {
      let head = "";
      const frames = new FrameReader();
      socket.on("data", (chunk) => {
        if (!head.endsWith("\r\n\r\n")) {
          head += chunk.toString("latin1");
          assert.match(head, /^GET \/v1\/sync HTTP\/1\.1\r\n/);
          socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
          return;
        }
        // The mask is zeros: without its bit and bytes it is what a server sends.
        const short = (chunk[1] ?? 0) & 127;
        const header = short === 126 ? 4 : 2;
        const plain = Buffer.concat([
          Buffer.from([0x82, short]),
          chunk.subarray(2, header),
          chunk.subarray(header + 4),
        ]);
        frames.push(plain, (_, frame) => {
          const message = decodeClientMessage(frame);
          if (message.type === "hello") resolve(message);
        });
      });
    });
    return {
      hello,
      ended,
      say: (...messages) => void socket.write(Buffer.concat(messages.map((m) => frameMessage(m)))),
    };
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }
}

function welcome(resume: "snapshot" | "deltas", sequence: number): ServerMessage {
  return {
    type: "welcome",
    version: 2,
    epoch: "e1",
    syncer: "felix",
    resume,
    sequence,
    connectionId: "c1",
    serverName: "s1",
  };
}
const inSync: ServerMessage = { type: "status", sequence: 5, status: "in-sync" };
const delta = (fromSequence: number, sequence: number, seenAtMs: number): ServerMessage => ({
  type: "delta",
  fromSequence,
  sequence,
  kvs: KVS,
  seenAtMs,
});

const script: Script = await Script.start();
const other: Script = await Script.start();
after(() => {
  script.close();
  other.close();
});

function clientOf(...ports: readonly number[]): { readonly client: LightClient; readonly record: LoadRecord } {
  const record = new LoadRecord();
  const client = new LightClient({
    name: "light",
    servers: ports.map((port) => ({ host: "127.0.0.1", port })),
    first: 0,
    dialer: new Dialer(undefined),
    decoder: new FrameDecoder(),
    syncer: "felix",
    record,
    random: () => 0,
    isCold: false,
  });
  client.start();
  return { client, record };
}

/** Far enough in the future for any pause to be over. */
const LATER_MS = 1e15;

test("a light client counts what it gets, and resumes where it was", async () => {
  const { client, record } = clientOf(script.port);
  const accepted = script.accept();
  client.tick(Date.now(), true);
  const first = await accepted;
  assert.equal(first.hello.resume, undefined);
  const future = Date.now() + 60_000;
  first.say(
    welcome("snapshot", 5),
    { type: "snapshot", kvs: KVS },
    { type: "snapshot-end", sequence: 5, count: 1 },
    inSync,
    delta(5, 6, 1), // made before the client was there
    delta(6, 8, future),
    { type: "goodbye", code: "draining", reason: "", retryAfterMs: 0, peers: [] },
  );
  await first.ended;
  assert.deepEqual(record.endings, { "goodbye draining": 1 });
  assert.deepEqual([record.gaps, record.kvs], [0, 3]);
  assert.deepEqual([record.connect.percentiles().count, record.latency.percentiles().count], [1, 1]);
  assert.equal(client.isInSync, false);

  const again = script.accept();
  assert.equal(client.tick(LATER_MS, false), false);
  assert.equal(client.tick(LATER_MS, true), true);
  const second = await again;
  assert.deepEqual(second.hello.resume, { epoch: "e1", sequence: 8 });
  client.stop();
  await second.ended;
});

test("a delta that leaves something out is a gap; the next server is asked for everything", async () => {
  const { client, record } = clientOf(script.port, other.port);
  const accepted = script.accept();
  client.tick(Date.now(), true);
  const first = await accepted;
  first.say(welcome("snapshot", 5), { type: "snapshot-end", sequence: 5, count: 0 }, delta(6, 7, 1));
  await first.ended;
  assert.deepEqual([record.gaps, record.endings], [1, { gap: 1 }]);
  const next = other.accept();
  client.tick(LATER_MS, true);
  const second = await next;
  assert.equal(second.hello.resume, undefined);
  client.stop();
  await second.ended;
});
