import { CLIENT_MESSAGE_LIMITS, encodeMessage, type Hello } from "@bulrush/proto";
import type { Identity } from "../lab/certificates.ts";
import { clientFrame, RawClient, textFrame, upgradeRequest } from "./raw-client.ts";

/** Certificates to come with. */
export interface Identities {
  readonly good: Identity;
  readonly wrongName: Identity;
  readonly otherAuthority: Identity;
  readonly expired: Identity;
}

/** A peer that does something wrong, and how that is answered. */
export interface BadClient {
  readonly name: string;
  /** Connects and misbehaves. */
  readonly come: (identities: Identities) => Promise<RawClient>;
  /** In Typha's log, with the peer's address. */
  readonly code: string;
  readonly reason?: RegExp;
  /** The last thing that the peer is told: a status line, or a message with this code. */
  readonly answer?: RegExp;
}

const HELLO: Hello = {
  type: "hello",
  version: 1,
  hostname: "intruder",
  syncer: "felix",
  info: "raw",
  clientId: "raw-client",
};

async function afterTls(identities: Identities, bytes: Buffer | string): Promise<RawClient> {
  const client = await RawClient.tls(identities.good);
  client.send(bytes);
  return client;
}

/** After a good upgrade. */
async function afterUpgrade(identities: Identities, ...frames: readonly Buffer[]): Promise<RawClient> {
  const client = await RawClient.tls(identities.good);
  await client.upgraded();
  for (const frame of frames) client.send(frame);
  return client;
}

/**
 * In a stream that began well, with nothing being written: a goodbye does not wait behind a write. Each under a name of
 * its own, so that they are no duplicates.
 */
async function inStream(identities: Identities, hostname: string, frame: Buffer): Promise<RawClient> {
  const client = await afterUpgrade(identities, messageFrame({ ...HELLO, hostname, clientId: hostname }));
  await client.following();
  client.send(frame);
  return client;
}

async function withCertificate(identity: Identity | undefined): Promise<RawClient> {
  const client = await RawClient.tls(identity);
  await client.upgraded();
  client.send(messageFrame(HELLO));
  return client;
}

function messageFrame(message: Parameters<typeof encodeMessage>[0]): Buffer {
  return clientFrame(encodeMessage(message));
}

/** Every way in which a peer of the sync port can be wrong. */
export const BAD_CLIENTS: readonly BadClient[] = [
  {
    name: "no certificate",
    come: () => withCertificate(undefined),
    code: "identity",
    reason: /No client certificate was sent/,
    answer: /^reject identity/,
  },
  {
    name: "another common name",
    come: ({ wrongName }) => withCertificate(wrongName),
    code: "identity",
    reason: /typha-client.*somebody|somebody.*typha-client/,
    answer: /^reject identity/,
  },
  {
    name: "another CA",
    come: ({ otherAuthority }) => withCertificate(otherAuthority),
    code: "identity",
    reason: /CN=typha-client, issued by CN=Somebody's CA.*does not chain to our CA/,
    answer: /^reject identity/,
  },
  {
    name: "an expired certificate",
    come: ({ expired }) => withCertificate(expired),
    code: "identity",
    reason: /CN=typha-client.*has expired/,
    answer: /^reject identity/,
  },
  {
    name: "no certificate, and gone without a word",
    async come() {
      const client = await RawClient.tls(undefined);
      client.hangUp();
      return client;
    },
    code: "identity",
    reason: /No client certificate was sent/,
  },
  {
    name: "garbage in place of TLS",
    async come() {
      const client = await RawClient.plain();
      client.send(Buffer.from("\x00\x01\x02 this is no ClientHello".repeat(10)));
      return client;
    },
    code: "tls",
  },
  {
    name: "plain HTTP in place of TLS",
    async come() {
      const client = await RawClient.plain();
      client.send(upgradeRequest());
      return client;
    },
    code: "tls",
    reason: /http request/,
  },
  {
    name: "half of a ClientHello",
    async come() {
      const client = await RawClient.plain();
      client.send(Buffer.from("16030100f8010000f40303", "hex"));
      return client;
    },
    code: "handshake-timeout",
  },
  {
    name: "TLS, then silence",
    come: ({ good }) => RawClient.tls(good),
    code: "handshake-timeout",
  },
  {
    name: "TLS, then garbage",
    come: (identities) => afterTls(identities, Buffer.from("\x80\x81garbage")),
    code: "upgrade",
    reason: /not an HTTP request/,
    answer: /^HTTP\/1\.1 400 /,
  },
  {
    name: "half of a request",
    come: (identities) => afterTls(identities, upgradeRequest().slice(0, 60)),
    code: "handshake-timeout",
  },
  {
    name: "a request without end",
    come: (identities) => afterTls(identities, upgradeRequest({ more: `X: ${"x".repeat(9000)}\r\n` })),
    code: "upgrade",
    reason: /over 8192 bytes/,
    answer: /^HTTP\/1\.1 431 /,
  },
  {
    name: "HTTP in place of a websocket",
    come: (identities) => afterTls(identities, upgradeRequest({ upgrade: "h2c" })),
    code: "upgrade",
    reason: /websocket endpoint/,
    answer: /^HTTP\/1\.1 426 /,
  },
  {
    name: "another method",
    come: (identities) => afterTls(identities, upgradeRequest({ method: "POST" })),
    code: "upgrade",
    reason: /Use GET, not POST/,
    answer: /^HTTP\/1\.1 405 /,
  },
  {
    name: "another path",
    come: (identities) => afterTls(identities, upgradeRequest({ path: "/v2/sync" })),
    code: "upgrade",
    reason: /nothing here but \/v1\/sync/,
    answer: /^HTTP\/1\.1 404 /,
  },
  {
    name: "another subprotocol",
    come: (identities) => afterTls(identities, upgradeRequest({ protocol: "bulrush.sync.v9" })),
    code: "upgrade",
    reason: /subprotocol bulrush\.sync\.v1 is required/,
    answer: /^HTTP\/1\.1 400 /,
  },
  {
    name: "a hello that never comes",
    come: (identities) => afterUpgrade(identities),
    code: "handshake-timeout",
    answer: /^reject handshake-timeout/,
  },
  {
    name: "half of a websocket frame",
    come: (identities) => afterUpgrade(identities, clientFrame(encodeMessage(HELLO), { length: 1000 })),
    code: "handshake-timeout",
    answer: /^reject handshake-timeout/,
  },
  {
    name: "a truncated message",
    come: (identities) => afterUpgrade(identities, clientFrame(encodeMessage(HELLO).subarray(0, 20))),
    code: "bad-message",
    reason: /ends inside a value/,
    answer: /^reject bad-message/,
  },
  {
    name: "a message over the bound",
    come: (identities) => afterUpgrade(identities, clientFrame(Buffer.alloc(CLIENT_MESSAGE_LIMITS.maxFrameBytes + 1))),
    code: "message-too-big",
    answer: /^reject message-too-big/,
  },
  {
    name: "a frame that says it is enormous",
    come: (identities) => afterUpgrade(identities, clientFrame(Buffer.alloc(10), { length: 2 ** 40 })),
    code: "message-too-big",
    answer: /^reject message-too-big/,
  },
  {
    name: "a frame without a mask",
    come: (identities) => afterUpgrade(identities, clientFrame(encodeMessage(HELLO), { isMasked: false })),
    code: "bad-message",
    answer: /^reject bad-message/,
  },
  {
    name: "text",
    come: (identities) => afterUpgrade(identities, textFrame("hello")),
    code: "bad-message",
    reason: /binary/,
    answer: /^reject bad-message/,
  },
  {
    name: "another codec",
    come: (identities) => afterUpgrade(identities, clientFrame(Buffer.from([9, 1, 2, 3]))),
    code: "bad-message",
    answer: /^reject bad-message/,
  },
  {
    name: "another first message",
    come: (identities) => afterUpgrade(identities, messageFrame({ type: "ack", sequence: 1 })),
    code: "bad-hello",
    reason: /first message is a ack, not a hello/,
    answer: /^reject bad-hello/,
  },
  {
    name: "what only a server says",
    come: (identities) => afterUpgrade(identities, messageFrame({ type: "status", sequence: 1, status: "in-sync" })),
    code: "bad-message",
    answer: /^reject bad-message/,
  },
  {
    name: "an unknown syncer",
    come: (identities) => afterUpgrade(identities, messageFrame({ ...HELLO, syncer: "gossip" as "felix" })),
    code: "unknown-syncer",
    answer: /^reject unknown-syncer/,
  },
  {
    name: "no host name",
    come: (identities) => afterUpgrade(identities, messageFrame({ ...HELLO, hostname: "" })),
    code: "bad-message",
    reason: /hello\.hostname/,
    answer: /^reject bad-message/,
  },
  {
    name: "a second hello",
    come: (identities) => inStream(identities, "raw-1", messageFrame(HELLO)),
    code: "bad-message",
    reason: /second hello/,
    answer: /^goodbye bad-message/,
  },
  {
    name: "an ack of what was never sent",
    come: (identities) => inStream(identities, "raw-2", messageFrame({ type: "ack", sequence: 1_000_000 })),
    code: "bad-message",
    answer: /^goodbye bad-message/,
  },
  {
    name: "garbage in a stream",
    come: (identities) => inStream(identities, "raw-3", clientFrame(Buffer.from([0, 0xc1, 0xc1]))),
    code: "bad-message",
    answer: /^goodbye bad-message/,
  },
  {
    name: "a message over the bound in a stream",
    come: (identities) =>
      inStream(identities, "raw-4", clientFrame(Buffer.alloc(CLIENT_MESSAGE_LIMITS.maxFrameBytes + 1))),
    code: "message-too-big",
    answer: /^goodbye message-too-big/,
  },
];
