import {
  encodeMessage,
  frameMessage,
  type KV,
  type ServerMessage,
  type SnapshotEnd,
  type Status,
  type Welcome,
} from "@bulrush/proto";
import type { Behaviour, FakeConnection } from "./fake-server.ts";

/** A server that does something wrong, and the code that the agent's log must name it with. */
export interface BadServer {
  readonly name: string;
  readonly code: string;
  readonly reason?: RegExp;
  readonly certificate?: "wrongName" | "otherAuthority";
  readonly behaviour: Behaviour;
}

const EPOCH = "made up";

function welcome(more: Partial<Welcome> = {}): Welcome {
  return {
    type: "welcome",
    version: 1,
    epoch: EPOCH,
    syncer: "felix",
    resume: "snapshot",
    sequence: 10,
    connectionId: "fake",
    serverName: "fake",
    ...more,
  };
}

const END: SnapshotEnd = { type: "snapshot-end", sequence: 10, count: 0 };
const RESYNC: Status = { type: "status", sequence: 10, status: "resync" };

function delta(fromSequence: number, sequence: number, kvs: readonly KV[] = []): ServerMessage {
  return { type: "delta", fromSequence, sequence, kvs, seenAtMs: 0 };
}

function afterHello(act: (connection: FakeConnection) => void): Behaviour {
  return { at: "hello", act };
}

function says(...messages: readonly ServerMessage[]): Behaviour {
  return afterHello((connection) => connection.send(...messages).end());
}

/** A server's websocket frame around any bytes (RFC 6455 section 5.2). */
function frame(payload: Buffer, opcode = 2): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);
}

function isPolicyOrTier({ path }: KV): boolean {
  return /^\/calico\/v1\/policy\/(?!profile\/)/.test(path);
}

/** Deletes of everything that the agents have. */
function deletesOf(paths: Iterable<string>): KV[] {
  return [...paths].map((path) => ({ path, value: undefined, revision: "", updateType: "deleted" }));
}

/**
 * Every way in which a server can be wrong. `present`: what the agents have. None of them says in-sync but the last,
 * which is in sync with values that mean nothing.
 */
export function badServers(present: readonly KV[]): readonly BadServer[] {
  const deletes = deletesOf(present.map(({ path }) => path));
  const garbled = present.map((kv) => (isPolicyOrTier(kv) ? { ...kv, value: { selector: 7, order: "x" } } : kv));
  return [
    {
      name: "garbage in place of TLS",
      code: "SYNC_CLIENT_UPGRADE",
      behaviour: { at: "tcp", act: (socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n") },
    },
    {
      name: "a certificate of another name",
      code: "SYNC_CLIENT_TLS_IDENTITY",
      certificate: "wrongName",
      behaviour: says(welcome(), END),
    },
    {
      name: "a certificate of another CA",
      code: "SYNC_CLIENT_TLS_UNTRUSTED",
      certificate: "otherAuthority",
      behaviour: says(welcome(), END),
    },
    {
      name: "a web server",
      code: "SYNC_CLIENT_UPGRADE",
      behaviour: { at: "http", act: (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi") },
    },
    {
      name: "no HTTP",
      code: "SYNC_CLIENT_UPGRADE",
      behaviour: { at: "http", act: (socket) => socket.end("\x00\x01\x02\r\n\r\n") },
    },
    {
      name: "a frame that breaks the rules of websockets",
      code: "SYNC_CLIENT_PROTOCOL",
      behaviour: afterHello((connection) => connection.sendRaw(Buffer.from([0xff, 0xff, 0xff, 0xff])).end()),
    },
    {
      name: "a frame that says it is enormous",
      code: "SYNC_CLIENT_PROTOCOL",
      behaviour: afterHello((connection) =>
        connection.send(welcome()).sendRaw(Buffer.from([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0])),
      ),
    },
    {
      name: "a truncated message",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /ends inside a value/,
      behaviour: afterHello((connection) => connection.sendRaw(frame(encodeMessage(welcome()).subarray(0, 20))).end()),
    },
    {
      name: "text in place of a message",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /text message/,
      behaviour: afterHello((connection) => connection.sendRaw(frame(Buffer.from("welcome"), 1)).end()),
    },
    {
      name: "a stream cut inside a frame",
      code: "SYNC_CLIENT_CLOSED",
      behaviour: afterHello((connection) => connection.sendRaw(frameMessage(welcome()).subarray(0, 12)).end()),
    },
    {
      name: "changes before the welcome",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /delta during handshake/,
      behaviour: says(delta(1, 2, deletes)),
    },
    {
      name: "a resume that nobody asked for",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /resumes at 10/,
      behaviour: says(welcome({ resume: "deltas" }), delta(10, 11, deletes)),
    },
    {
      name: "a snapshot that is not whole",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /0 KVs of a snapshot of 7/,
      behaviour: says(welcome(), { ...END, count: 7 }, { ...RESYNC, status: "in-sync" }),
    },
    {
      name: "a gap between changes",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /from 12 to 13 after 10/,
      behaviour: says(welcome(), END, RESYNC, delta(12, 13, deletes)),
    },
    {
      name: "a status that is ahead of its KVs",
      code: "SYNC_CLIENT_PROTOCOL",
      reason: /status of 99 at 10/,
      behaviour: says(welcome(), END, { type: "status", sequence: 99, status: "in-sync" }),
    },
    {
      name: "deletes of everything before in-sync",
      code: "SYNC_CLIENT_CLOSED",
      behaviour: says(welcome(), END, { ...RESYNC, status: "wait-for-ready" }, RESYNC, delta(10, 11, deletes)),
    },
    {
      name: "policies that mean nothing",
      code: "SYNC_CLIENT_CLOSED",
      behaviour: says(
        welcome(),
        {
          type: "snapshot",
          kvs: [...garbled, { path: "/calico/v1/no/such", value: {}, revision: "", updateType: "new" }],
        },
        { ...END, count: garbled.length + 1 },
        { ...RESYNC, status: "in-sync" },
      ),
    },
  ];
}
