/**
 * The clients and the driver of the fan-out bench, in one process: light clients that find frames and look for the
 * tick's marker, and a lock-step that sends the next tick only after every client has the last.
 * argv: control socket path, sync port, floor port, clients, ticks a repetition, repetitions, first tick. Prints a line
 * of JSON: CPU microseconds per client and message of each repetition, ours and the floor's.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { connect as tlsConnect, type TLSSocket } from "node:tls";
import { zstdDecompressSync } from "node:zlib";
import { decodeServerMessage, encodeMessage, SYNC_PATH, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import { clientTls, testHello } from "../src/testing/websocket-client.ts";
import { type Answer, type Command, onLines } from "./control.ts";
import { marker } from "./workload.ts";

const [controlPath = "", ...rest] = process.argv.slice(2);
const [syncPort = 0, floorPort = 0, clientCount = 0, tickCount = 0, repetitions = 0] = rest.map(Number);

const control = connect(controlPath);
await once(control, "connect");
const answers: ((answer: Answer) => void)[] = [];
onLines(control, (message) => answers.shift()?.(message as Answer));
const tell = (command: Command): void => void control.write(`${JSON.stringify(command)}\n`);
const ask = (command: Command): Promise<Answer> =>
  new Promise((resolve) => {
    answers.push(resolve);
    tell(command);
  });

// Lock-step: `arrived` is called once per client and round.
let missing = 0;
let onRound: () => void = () => {};
const arrived = (): void => {
  if (--missing === 0) onRound();
};
const round = (command: Command): Promise<void> =>
  new Promise((resolve) => {
    missing = clientCount;
    onRound = resolve;
    tell(command);
  });

/** Pings and statuses are smaller than this, deltas are not. */
const PING_BYTES = 64;

let wanted = Buffer.from("snapshot-end");
let received = 0;

/** A websocket client of few words: enough to be served, and to see each tick. */
async function lightClient(index: number): Promise<TLSSocket> {
  const socket = tlsConnect({ port: syncPort, host: "127.0.0.1", ...clientTls("client-cn") });
  await once(socket, "secureConnect");
  socket.setNoDelay(true);
  failOnClose(socket);
  socket.write(
    `GET ${SYNC_PATH} HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Protocol: ${SYNC_SUBPROTOCOL}\r\n\r\n`,
  );
  const [head] = (await once(socket, "data")) as [Buffer];
  let waiting = head.subarray(head.indexOf("\r\n\r\n") + 4);
  const ready = Promise.withResolvers<void>();
  socket.on("data", (chunk: Buffer) => {
    received += chunk.length;
    waiting = waiting.length === 0 ? chunk : Buffer.concat([waiting, chunk]);
    for (;;) {
      if (waiting.length < 2) return;
      const short = waiting[1] ?? 0;
      const header = short < 126 ? 2 : short === 126 ? 4 : 10;
      if (waiting.length < header) return;
      const length = short < 126 ? short : short === 126 ? waiting.readUInt16BE(2) : Number(waiting.readBigUInt64BE(2));
      if (waiting.length < header + length) return;
      const frame = waiting.subarray(header, header + length);
      waiting = waiting.subarray(header + length);
      if (length < PING_BYTES) answerPing(socket, frame);
      if (frame.includes("in-sync")) ready.resolve();
      const body = frame[0] === 1 && length < 8192 ? zstdDecompressSync(frame.subarray(1)) : frame;
      if (body.includes(wanted)) arrived();
    }
  });
  socket.write(maskedFrame(encodeMessage(testHello(`node-${index}`))));
  await ready.promise;
  return socket;
}

function answerPing(socket: TLSSocket, frame: Buffer): void {
  const message = decodeServerMessage(frame);
  if (message.type === "ping")
    socket.write(maskedFrame(encodeMessage({ type: "pong", pingSentAtMs: message.sentAtMs })));
}

/** A lost connection would leave the lock-step waiting for ever. */
function failOnClose(socket: TLSSocket): void {
  socket.on("close", () => {
    process.stderr.write("A bench connection was lost\n");
    process.exit(1);
  });
}

/** A client's frame with a mask of zeros (RFC 6455 section 5.3). */
function maskedFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x82, 0x80 | payload.length, 0, 0, 0, 0]), payload]);
}

/** A client of the floor: counts bytes. */
async function floorClient(): Promise<{ expect(bytes: number): void }> {
  const socket = tlsConnect({ port: floorPort, host: "127.0.0.1", ...clientTls("client-cn") });
  await once(socket, "secureConnect");
  failOnClose(socket);
  let left = 0;
  socket.on("data", (chunk: Buffer) => {
    left -= chunk.length;
    if (left === 0) arrived();
  });
  return { expect: (bytes) => (left = bytes) };
}

for (let i = 0; i < clientCount; i += 32)
  await Promise.all(Array.from({ length: Math.min(32, clientCount - i) }, (_, j) => lightClient(i + j)));
const floorClients: { expect(bytes: number): void }[] = [];
for (let i = 0; i < clientCount; i++) floorClients.push(await floorClient());

let t = 1;
const ours: number[] = [];
const floor: number[] = [];
const bytes: number[] = [];
// One repetition more than is counted: the first warms the code up. Ours and the floor take turns.
for (let repetition = 0; repetition <= repetitions; repetition++) {
  await ask({ do: "prepare", from: t, count: tickCount + 1 });
  // A first tick, and a pause for the acknowledgements that a kernel delays after a client has sent something.
  wanted = Buffer.from(marker(t));
  await round({ do: "tick", t: t++ });
  await new Promise((resolve) => setTimeout(resolve, 150));
  await ask({ do: "cpu" });
  received = 0;
  for (let i = 0; i < tickCount; i++) {
    wanted = Buffer.from(marker(t));
    await round({ do: "tick", t: t++ });
  }
  const { cpuUs, frameBytes } = await ask({ do: "cpu" });
  bytes.push(received / (tickCount * clientCount));
  await ask({ do: "prepare", from: t, count: 0 });
  const floorRound = (): Promise<void> => {
    for (const client of floorClients) client.expect(frameBytes);
    return round({ do: "floor" });
  };
  await floorRound();
  await new Promise((resolve) => setTimeout(resolve, 150));
  await ask({ do: "cpu" });
  for (let i = 0; i < tickCount; i++) await floorRound();
  const floorCpu = await ask({ do: "cpu" });
  if (repetition === 0) continue;
  ours.push(cpuUs / (tickCount * clientCount));
  floor.push(floorCpu.cpuUs / (tickCount * clientCount));
}
process.stdout.write(`${JSON.stringify({ ours, floor, bytes: bytes.at(-1) })}\n`);
process.exit(0);
