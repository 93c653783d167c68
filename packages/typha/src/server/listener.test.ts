import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect as tlsConnect, type TLSSocket } from "node:tls";
import { ManualClock, systemClock } from "@bulrush/base";
import { encodeMessage, type IdentityRule, SYNC_SUBPROTOCOL } from "@bulrush/proto";
import { createMetrics, type MemoryLogger, memoryLogger } from "@bulrush/service";
import { serve } from "../testing/listening-server.ts";
import { settingUpdate } from "../testing/updates.ts";
import { certificateFile, clientTls, dial, testHello } from "../testing/websocket-client.ts";
import { SyncListener } from "./listener.ts";
import { createServerMetrics } from "./server-metrics.ts";
import type { SyncServerSettings } from "./settings.ts";

const URI = "spiffe://cluster/typha-client";

/** For clients that do not answer while hours pass. */
const NO_PINGS: Partial<SyncServerSettings> = { pingIntervalMs: 1e9 };

function warnings(logger: MemoryLogger): string[] {
  return logger.records
    .filter(({ level }) => level === "warn")
    .map(({ message, fields }) => `${message}: ${String(fields["reason"])}`);
}

test("SyncListener serves a plain client a snapshot and the deltas after it", async () => {
  const { port, cache } = await serve(undefined);
  cache.publish({ updates: [settingUpdate("x=1@1")], status: "in-sync", nowMs: 1 });
  const client = dial(port, undefined, testHello("a"));
  await client.next("status");
  assert.equal(client.socket.protocol, SYNC_SUBPROTOCOL);
  assert.equal(client.socket.extensions, "", "permessage-deflate stays off");
  cache.publish({ updates: [settingUpdate("x=2@2")], nowMs: 2 });
  await client.next("delta");
  assert.deepEqual(
    client.messages.map((message) => message.type),
    ["welcome", "snapshot", "snapshot-end", "status", "delta"],
  );
  client.socket.close();
  await client.closed;
});

const CN_RULE: IdentityRule = { commonName: "typha-client" };
const URI_RULE: IdentityRule = { uri: URI };
const EITHER_RULE: IdentityRule = { commonName: "typha-client", uri: URI };

/** Reject reason of each certificate under each rule; "": let in. */
const MATRIX: readonly [certificate: string, cn: RegExp | "", uri: RegExp | "", either: RegExp | ""][] = [
  ["client-cn", "", /has no URI, required is "spiffe:/, ""],
  ["client-uri", /has no common name, required is "typha-client"/, "", ""],
  ["client-both", "", "", ""],
  [
    "client-bad",
    /common name "someone", required is "typha-client"/,
    /URI "spiffe:\/\/cluster\/someone", required is/,
    /common name "someone" and URI .*, required is common name "typha-client" or URI/,
  ],
  ["client-untrusted", /does not chain to our CA/, /does not chain to our CA/, /does not chain to our CA/],
  ["client-expired", /has expired: it was valid until Feb {2}1 .* 2020/, /has expired/, /has expired/],
  ["none", /No client certificate/, /No client certificate/, /No client certificate/],
];

for (const [index, [name, rule]] of (
  [
    ["a common name", CN_RULE],
    ["a URI", URI_RULE],
    ["either", EITHER_RULE],
  ] as const
).entries()) {
  test(`SyncListener lets in who has a certificate that fits, with ${name} required, and tells the others why not`, async () => {
    const { port, logger } = await serve(rule);
    for (const [certificate, ...wants] of MATRIX) {
      const want = wants[index] ?? "";
      for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
        const tls = clientTls(certificate === "none" ? undefined : certificate);
        const client = dial(port, { ...tls, maxVersion }, testHello(certificate));
        if (want === "") {
          assert.equal((await client.next("welcome")).syncer, "felix", certificate);
          client.socket.terminate();
          continue;
        }
        const reject = await client.next("reject");
        assert.equal(reject.code, "identity");
        assert.match(reject.reason, want);
        assert.ok(reject.retryAfterMs > 0);
        assert.deepEqual(client.messages.length, 1, "nothing but the reject");
        await client.closed;
        const record = logger.records.findLast(({ level }) => level === "warn");
        assert.match(String(record?.fields["reason"]), want);
        assert.match(String(record?.fields["peer"]), /^127\.0\.0\.1:\d+$/);
      }
    }
  });
}

test("SyncListener refuses TLS 1.1, plain clients and rubbish on a TLS port, and names the peer", async () => {
  const { port, logger } = await serve(CN_RULE);
  const old = dial(port, { ...clientTls("client-cn"), minVersion: "TLSv1", maxVersion: "TLSv1.1" }, testHello("old"));
  assert.ok((await old.closed).error !== undefined);
  const plain = dial(port, undefined, testHello("plain"));
  assert.ok((await plain.closed).error !== undefined);
  const noise = connect(port, "127.0.0.1");
  noise.end("garbage garbage garbage");
  await once(noise.resume(), "close");
  const lines = logger.records.filter(({ message }) => message === "TLS handshake failed");
  assert.equal(lines.length, 3, warnings(logger).join("\n"));
  for (const { fields } of lines) assert.match(String(fields["peer"]), /^127\.0\.0\.1:\d+$/);
});

test("SyncListener cuts a half-open handshake, one without a request and one without a hello, others connect meanwhile", async () => {
  const clock = new ManualClock(Date.now());
  const { port, logger } = await serve(CN_RULE, { ...NO_PINGS, handshakeTimeoutMs: 100_000 }, clock);
  const silent = connect(port, "127.0.0.1").resume();
  const secured = tlsConnect({ port, host: "127.0.0.1", ...clientTls("client-cn") }).resume();
  secured.on("error", () => {});
  const upgraded = dial(port, clientTls("client-cn"));
  await Promise.all([once(silent, "connect"), once(secured, "secureConnect"), once(upgraded.socket, "open")]);
  const good = dial(port, clientTls("client-cn"), testHello("good"));
  // No time has passed: a stalled peer blocks nobody.
  await good.next("welcome");
  await clock.advance(99_000);
  const probe = dial(port, clientTls("client-cn"), testHello("probe"));
  await probe.next("welcome");
  assert.deepEqual([silent.closed, secured.closed, upgraded.messages.length], [false, false, 0], "nobody is cut early");
  const closed = Promise.all([once(silent, "close"), once(secured, "close"), upgraded.closed]);
  await clock.advance(2000);
  await closed;
  assert.equal(upgraded.messages[0]?.type, "reject");
  assert.equal((await upgraded.next("reject")).code, "handshake-timeout");
  assert.equal(logger.records.filter(({ message }) => message === "Handshake took too long").length, 2);
  assert.equal(good.socket.readyState, good.socket.OPEN);
});

test("SyncListener answers a wrong request with an HTTP error and the reason", async () => {
  const { port } = await serve(undefined);
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  assert.match(await readAll(socket), /^HTTP\/1\.1 404 Not Found\r\n[^]*nothing here but \/v1\/sync/);
});

test("SyncListener says goodbye to a client that sends a message over its bound, and others go on", async () => {
  const { port, cache } = await serve(undefined);
  const bad = dial(port, undefined, testHello("bad"));
  const good = dial(port, undefined, testHello("good"));
  await Promise.all([bad.next("status"), good.next("status")]);
  bad.socket.send(Buffer.alloc(40 * 1024));
  assert.equal((await bad.next("goodbye")).code, "message-too-big");
  assert.equal((await bad.closed).code, 1009);
  cache.publish({ updates: [settingUpdate("x=1@1")], nowMs: 1 });
  await good.next("delta");
});

test("SyncListener rejects an oversized first message before reading it", async () => {
  const { port } = await serve(undefined);
  const client = dial(port, undefined);
  await once(client.socket, "open");
  client.socket.send(Buffer.alloc(1024 * 1024));
  assert.equal((await client.next("reject")).code, "message-too-big");
});

test("SyncListener says goodbye when the websocket frames are broken", async () => {
  const { port } = await serve(undefined);
  const client = dial(port, undefined, testHello("a"));
  await client.next("status");
  const { _socket: raw } = client.socket as unknown as { _socket: Socket };
  // Not masked, which RFC 6455 section 5.1 forbids to clients.
  raw.write(Buffer.from([0x82, 0x01, 0x00]));
  assert.equal((await client.next("goodbye")).code, "bad-message");
  await client.closed;
});

test("SyncListener does not blame a client that leaves because of what it calls a breach of ours", async () => {
  const { port, logger, metrics } = await serve(undefined);
  for (const code of [1002, 1003, 1008, 1009]) {
    const client = dial(port, undefined, testHello("a"));
    await client.next("status");
    client.socket.close(code, "why");
    assert.equal((await client.closed).code, code, "it is answered");
  }
  assert.deepEqual(warnings(logger), []);
  assert.doesNotMatch(await metrics.text(), /bulrush_typha_goodbyes\{/);
});

test("SyncListener takes a message that comes in fragments, and hello bytes right behind the request", async () => {
  const { port } = await serve(undefined);
  const client = dial(port, undefined);
  await once(client.socket, "open");
  const hello = encodeMessage(testHello("fragments"));
  client.socket.send(hello.subarray(0, 10), { fin: false });
  client.socket.send(hello.subarray(10), { fin: true });
  assert.equal((await client.next("welcome")).resume, "snapshot");
});

test("SyncListener reports what keeps it from listening and goes on trying", async () => {
  const first = await serve(undefined);
  const logger = memoryLogger();
  const clock = systemClock();
  const metrics = createMetrics();
  const second = new SyncListener({
    host: "127.0.0.1",
    port: first.port,
    tls: undefined,
    handshakeTimeoutMs: 1000,
    clock,
    random: () => 0.9,
    logger,
    log: first.server.log,
    metrics: createServerMetrics(metrics),
    onAccepted: () => {},
    onRefused: () => {},
  });
  while (!second.problem()?.includes("EADDRINUSE")) await new Promise((resolve) => setImmediate(resolve));
  first.listener.close();
  const { port } = await second.listening;
  assert.equal(port, first.port);
  assert.equal(second.problem(), undefined);
  assert.match(await metrics.text(), /bulrush_typha_accept_errors [1-9]/);
  second.close();
});

test("SyncListener names the file that spoils TLS", async () => {
  const { server } = await serve(undefined);
  const listener = new SyncListener({
    host: "127.0.0.1",
    port: 0,
    tls: {
      keyFile: certificateFile("client-cn.key"),
      certFile: certificateFile("server.crt"),
      caFile: certificateFile("ca.crt"),
      clientRule: CN_RULE,
    },
    handshakeTimeoutMs: 1000,
    clock: systemClock(),
    random: Math.random,
    logger: memoryLogger(),
    log: server.log,
    metrics: createServerMetrics(createMetrics()),
    onAccepted: () => {},
    onRefused: () => {},
  });
  assert.match(listener.problem() ?? "", /The key in .*client-cn\.key is not that of the certificate in .*server\.crt/);
  listener.close();
});

test("SyncListener counts open connections down to zero", async () => {
  const { port, metrics } = await serve(CN_RULE);
  const client = dial(port, clientTls("client-cn"), testHello("a"));
  await client.next("status");
  assert.match(await metrics.text(), /^typha_connections_active 1$/m);
  client.socket.close();
  await client.closed;
  while (!/^typha_connections_active 0$/m.test(await metrics.text()))
    await new Promise((resolve) => setImmediate(resolve));
  assert.match(await metrics.text(), /^typha_connections_accepted 1$/m);
  assert.match(await metrics.text(), /^typha_connections_streaming\{syncer="felix"\} 0$/m);
});

async function readAll(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += String(chunk);
  return text;
}

/** The common name of the certificate that a new connection is shown. */
async function shownName(port: number): Promise<string> {
  const socket: TLSSocket = tlsConnect({ port, host: "127.0.0.1", ...clientTls("client-cn") });
  await once(socket, "secureConnect");
  const name = String(socket.getPeerCertificate().subject.CN);
  socket.destroy();
  return name;
}

test("SyncListener takes new certificates for new connections, and keeps the old ones where the new are bad", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "typha-tls-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const file = (name: string): string => join(directory, name);
  for (const name of ["server.key", "server.crt", "ca.crt"]) copyFileSync(certificateFile(name), file(name));
  const clock = new ManualClock(Date.now());
  const { port, cache, logger, listener, metrics } = await serve({ commonName: "typha-client" }, NO_PINGS, clock, file);
  const look = async (done: () => boolean): Promise<void> => {
    await clock.advance(10_000);
    while (!done()) await new Promise((resolve) => setImmediate(resolve));
  };
  const said = (text: string) => (): boolean => logger.records.some(({ message }) => message.startsWith(text));
  const old = dial(port, clientTls("client-cn"), testHello("old"));
  await old.next("status");
  const before = await shownName(port);

  copyFileSync(certificateFile("client-both.key"), file("server.key"));
  copyFileSync(certificateFile("client-both.crt"), file("server.crt"));
  await look(said("New certificates are served"));
  assert.notEqual(await shownName(port), before);
  cache.publish({ updates: [settingUpdate("x=1@1")], nowMs: 1 });
  await old.next("delta");

  // A key without its certificate: half a change at the first look, a mistake at the second.
  const served = await shownName(port);
  copyFileSync(certificateFile("client-cn.key"), file("server.key"));
  let reads = 0;
  await look(() => reads++ > 500);
  await look(said("New certificates are not fit"));
  assert.match(
    listener.certificateProblem() ?? "",
    /key in .*server\.key is not that of the certificate in .*server\.crt/,
  );
  assert.equal(await shownName(port), served);

  copyFileSync(certificateFile("client-expired.key"), file("server.key"));
  copyFileSync(certificateFile("client-expired.crt"), file("server.crt"));
  reads = 0;
  while (!/expired at/.test(listener.certificateProblem() ?? "")) await look(() => reads++ > 5);
  assert.equal(await shownName(port), served);

  // Nothing that can be parsed, in the CA's file; then all is good again.
  copyFileSync(certificateFile("server.key"), file("server.key"));
  copyFileSync(certificateFile("server.crt"), file("server.crt"));
  writeFileSync(file("ca.crt"), "nothing");
  while (!/ca\.crt holds nothing/.test(listener.certificateProblem() ?? "")) await look(() => reads++ > 5);
  copyFileSync(certificateFile("ca.crt"), file("ca.crt"));
  while (listener.certificateProblem() !== undefined) await look(() => reads++ > 5);
  assert.equal(await shownName(port), before);
  const text = await metrics.text();
  assert.match(text, /bulrush_typha_certificate_reloads\{result="reloaded"\} 2/);
  assert.match(text, /bulrush_typha_certificate_reloads\{result="refused"\} 3/);
  cache.publish({ updates: [settingUpdate("x=2@2")], nowMs: 1 });
  await old.when((message) => message.type === "delta" && message.sequence === 2);
});

test("SyncListener lets streams and newcomers through while many peers stall in their handshakes", async () => {
  const { port, metrics } = await serve({ commonName: "typha-client" });
  const stalled: Socket[] = [];
  for (let i = 0; i < 200; i++) stalled.push(connect(port, "127.0.0.1"));
  await Promise.all(stalled.map((socket) => once(socket, "connect")));
  const client = dial(port, clientTls("client-cn"), testHello("a"));
  await client.next("status");
  assert.match(await metrics.text(), /typha_connections_active 201/);
  for (const socket of stalled) socket.destroy();
});
