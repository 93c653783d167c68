import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get, type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { get as getSecure } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, type ConnectionOptions } from "node:tls";
import { hasCode } from "@bulrush/base";
import { decodeServerMessage, type KV, type ServerMessage } from "@bulrush/proto";
import { certificateFile, clientTls } from "../testing/websocket-client.ts";
import { type AdminApiOptions, serveAdminApi } from "./admin-api.ts";
import { readConsole } from "./console-files.ts";
import type { SnapshotView } from "./snapshot-body.ts";
import type { StatusView } from "./views.ts";

const STATUS: StatusView = {
  name: "typha-1",
  version: "0",
  startedAt: "2026-01-01T00:00:00.000Z",
  state: "running",
  ready: true,
  live: true,
  health: "",
  connections: { open: 0, streaming: 0, limit: 10 },
  balance: null,
  problems: [],
};

/** More than one frame of them, with Maps in the values as the cache has them. */
const SOME_KVS: readonly KV[] = Array.from({ length: 600 }, (_, i) => ({
  path: `/calico/v1/netset/set-${i}`,
  value: { nets: [`10.0.${i >> 8}.${i & 255}/32`], labels: new Map([["number", String(i)]]) },
  revision: String(i),
  updateType: "new",
}));

const OPTIONS: AdminApiOptions = {
  host: "127.0.0.1",
  port: 0,
  tls: undefined,
  clients: () => ({ clients: [] }),
  caches: () => ({ caches: [] }),
  status: () => STATUS,
  compare: ({ syncer, kvs }) =>
    syncer === "felix"
      ? { epoch: "e", sequence: 7, status: "in-sync", differing: kvs.map(({ path }) => path) }
      : undefined,
  snapshot: (syncer) =>
    syncer === "felix" ? { epoch: "e", sequence: 7, status: "in-sync", kvs: SOME_KVS } : undefined,
  console: undefined,
};

const TLS = {
  keyFile: certificateFile("server.key"),
  certFile: certificateFile("server.crt"),
  caFile: certificateFile("ca.crt"),
  clientRule: { commonName: "typha-client" },
};

interface Answer {
  readonly code: number;
  readonly body: unknown;
}

function fetchJson(port: number, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, body: JSON.parse(text) }));
    }).on("error", reject);
  });
}

test("serveAdminApi() serves clients, caches and status as JSON on loopback", async () => {
  const api = await serveAdminApi(OPTIONS);
  const { port } = api.address;
  assert.deepEqual(await fetchJson(port, "/api/v1/clients"), { code: 200, body: { clients: [] } });
  assert.deepEqual(await fetchJson(port, "/api/v1/caches"), { code: 200, body: { caches: [] } });
  assert.deepEqual(await fetchJson(port, "/api/v1/status"), { code: 200, body: STATUS });
  assert.equal((await fetchJson(port, "/api/v1/other")).code, 404);
  await api.close();
});

test("serveAdminApi() refuses a Host header that is not this machine, as a rebound name would send", async () => {
  const api = await serveAdminApi(OPTIONS);
  const { port } = api.address;
  assert.equal((await fetchJson(port, "/api/v1/status", { host: `evil.example:${port}` })).code, 403);
  assert.equal((await fetchJson(port, "/api/v1/status", { host: `localhost:${port}` })).code, 200);
  await api.close();
});

test("serveAdminApi() is not served to others without TLS", async () => {
  await assert.rejects(serveAdminApi({ ...OPTIONS, host: "0.0.0.0" }), (error) => hasCode(error, "TYPHA_ADMIN_LISTEN"));
});

test("serveAdminApi() names the port that is taken", async () => {
  const api = await serveAdminApi(OPTIONS);
  await assert.rejects(serveAdminApi({ ...OPTIONS, port: api.address.port }), (error) => {
    assert.ok(hasCode(error, "TYPHA_ADMIN_LISTEN"));
    assert.match(String(error), new RegExp(`port ${api.address.port}`));
    return true;
  });
  await api.close();
});

test("serveAdminApi() wants a client certificate of the CA elsewhere than on loopback", async () => {
  const api = await serveAdminApi({ ...OPTIONS, host: "0.0.0.0", tls: TLS });
  const status = (tls: ConnectionOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = { port: api.address.port, host: "127.0.0.1", path: "/api/v1/status", agent: false, ...tls };
      getSecure(options, (response) => resolve(response.resume().statusCode ?? 0)).on("error", reject);
    });
  assert.equal(await status(clientTls("client-cn")), 200);
  await assert.rejects(status(clientTls(undefined)));
  await assert.rejects(status(clientTls("client-untrusted")));
  await api.close();
});

function post(port: number, body: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request({ port, host: "127.0.0.1", path: "/api/v1/compare", method: "POST", headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += String(chunk)));
      response.on("end", () => resolve({ code: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

test("serveAdminApi() compares KVs with a stream, and says what is wrong with a question", async () => {
  const api = await serveAdminApi(OPTIONS);
  const { port } = api.address;
  const ask = (syncer: unknown, kvs: unknown): Promise<Answer> => post(port, JSON.stringify({ syncer, kvs }));
  assert.deepEqual(await ask("felix", [{ path: "/a", hash: "x" }]), {
    code: 200,
    body: { epoch: "e", sequence: 7, status: "in-sync", differing: ["/a"] },
  });
  assert.equal((await ask("gossip", [])).code, 404);
  const bad = [undefined, "x", [{ path: "/a" }], [{ path: 1, hash: "x" }], [null]];
  for (const kvs of bad) assert.equal((await ask("felix", kvs)).code, 400, JSON.stringify(kvs));
  assert.equal((await ask("felix", Array(10_001).fill({ path: "/a", hash: null }))).code, 400);
  assert.equal((await ask(7, [])).code, 400);
  await api.close();
});

interface RawAnswer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function fetchRaw(port: number, path: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (chunk: Buffer) => parts.push(chunk));
      response.on("end", () =>
        resolve({ code: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
      );
    }).on("error", reject);
  });
}

test("serveAdminApi() gives a stream's snapshot as frames that are not compressed", async () => {
  const api = await serveAdminApi(OPTIONS);
  const { code, headers, body } = await fetchRaw(api.address.port, "/api/v1/snapshot/felix");
  assert.equal(code, 200);
  assert.deepEqual(
    [headers["x-bulrush-epoch"], headers["x-bulrush-sequence"], headers["x-bulrush-keys"]],
    ["e", "7", "600"],
  );
  const messages: ServerMessage[] = [];
  for (let at = 0; at < body.length; ) {
    const length = body.readUInt32BE(at);
    const frame = body.subarray(at + 4, at + 4 + length);
    assert.equal(frame[0], 0, "the codec without compression");
    messages.push(decodeServerMessage(frame));
    at += 4 + length;
  }
  const kvs = messages.flatMap((message) => (message.type === "snapshot" ? message.kvs : []));
  assert.deepEqual(kvs, SOME_KVS);
  assert.deepEqual(messages.slice(-2), [
    { type: "snapshot-end", sequence: 7, count: 600 },
    { type: "status", sequence: 7, status: "in-sync" },
  ]);
  assert.equal((await fetchJson(api.address.port, "/api/v1/snapshot/gossip")).code, 404);
  await api.close();
});

/** Far more than the sockets' buffers hold, so that a reader who does not read keeps his place. */
const LARGE: SnapshotView = {
  epoch: "e",
  sequence: 1,
  status: "in-sync",
  kvs: Array<KV>(2000).fill({
    path: "/calico/v1/netset/big",
    value: "x".repeat(100_000),
    revision: "1",
    updateType: "new",
  }),
};

/** A reader who has the head of the answer, and nothing of its body before it asks. */
function beginSnapshot(port: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ port, host: "127.0.0.1", path: "/api/v1/snapshot/felix", agent: false }, (response) =>
      // Cut is an error to the one who reads.
      resolve(response.on("error", () => {})),
    ).on("error", reject);
  });
}

test("serveAdminApi() gives two snapshots at a time, and the next when one is read or left", async () => {
  const api = await serveAdminApi({ ...OPTIONS, snapshot: () => LARGE });
  const begin = (): Promise<IncomingMessage> => beginSnapshot(api.address.port);
  const [first, second] = [await begin(), await begin()];
  const third = await begin();
  assert.deepEqual([first.statusCode, second.statusCode, third.statusCode], [200, 200, 503]);
  third.resume();
  first.destroy();
  for (;;) {
    const next = await begin();
    const { statusCode } = next;
    next.destroy();
    if (statusCode === 200) break;
    await new Promise((resolve) => setImmediate(resolve));
  }
  second.destroy();
  await api.close();
});

test("serveAdminApi() cuts readers of a snapshot who do not read, and gives others their places", {
  timeout: 300_000,
}, async (t) => {
  const api = await serveAdminApi({ ...OPTIONS, snapshot: () => LARGE, stalledReaderMs: 1000 });
  t.after(() => api.close());
  const { port } = api.address;
  const stalled = [await beginSnapshot(port), await beginSnapshot(port)];
  t.after(() => {
    for (const response of stalled) response.destroy();
  });
  assert.deepEqual(
    stalled.map(({ statusCode }) => statusCode),
    [200, 200],
  );
  // They stay, and their places come free all the same.
  for (let got: number | undefined; got !== 200; ) {
    const next = await beginSnapshot(port);
    got = next.statusCode;
    next.destroy();
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test("serveAdminApi() says what the limit would be, as the server works it out", async () => {
  const api = await serveAdminApi(OPTIONS);
  const ask = (query: string): Promise<Answer> => fetchJson(api.address.port, `/api/v1/forecast?${query}`);
  // 4 * (1 + floor(1.2 * 1000 / 6)) is 804.
  const { code, body } = await ask("typhas=7&nodes=1000");
  const { limit, reason, connections, mean } = body as Record<string, unknown>;
  assert.deepEqual([code, limit, reason, connections], [200, 804, "fraction+20%", 4000]);
  assert.equal(Math.round(Number(mean)), 571);
  assert.equal(((await ask("typhas=3&nodes=1000&lower=5000")).body as { limit: number }).limit, 5000);
  const bad: readonly (readonly [string, RegExp])[] = [
    ["nodes=3", /typhas is needed/],
    ["typhas=1&nodes=-3", /nodes is not a whole number from 0/],
    ["typhas=1&nodes=3&lower=0", /lower is not a whole number from 1/],
    ["typhas=1&nodes=3&basis=guess", /basis is neither/],
    ["typhas=1&nodes=3&basis=observed", /connections is needed/],
    ["typhas=1&typhas=2&nodes=3", /typhas is not/],
  ];
  for (const [query, message] of bad) {
    const answer = await ask(query);
    assert.equal(answer.code, 400, query);
    assert.match((answer.body as { error: string }).error, message);
  }
  await api.close();
});

test("serveAdminApi() serves the console that it is given, which may load nothing from elsewhere", async (t) => {
  const none = await serveAdminApi(OPTIONS);
  const without = await fetchRaw(none.address.port, "/");
  assert.deepEqual([without.code, String(without.body).includes("TYPHA_CONSOLEDIR")], [404, true]);
  await none.close();
  const directory = mkdtempSync(join(tmpdir(), "bulrush-console-"));
  t.after(() => rmSync(directory, { recursive: true }));
  assert.throws(() => readConsole(directory), /index\.html/);
  for (const name of ["index.html", "console.css", "console.js", "graph-worker.js"])
    writeFileSync(join(directory, name), `the ${name}`);
  const api = await serveAdminApi({ ...OPTIONS, console: readConsole(directory) });
  for (const [path, name, type] of [
    ["/", "index.html", /^text\/html/],
    ["/console.js", "console.js", /^text\/javascript/],
    ["/console.css", "console.css", /^text\/css/],
  ] as const) {
    const { code, headers, body } = await fetchRaw(api.address.port, path);
    assert.deepEqual([code, String(body)], [200, `the ${name}`]);
    assert.match(String(headers["content-type"]), type);
    assert.match(String(headers["content-security-policy"]), /default-src 'none'/);
  }
  assert.equal((await fetchRaw(api.address.port, "/../package.json")).code, 404);
  await api.close();
});

test("serveAdminApi() serves new connections with the certificates that it is given", async () => {
  const api = await serveAdminApi({ ...OPTIONS, host: "0.0.0.0", tls: TLS });
  const shown = (): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ port: api.address.port, host: "127.0.0.1", ...clientTls("client-cn") }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN));
        socket.destroy();
      });
      socket.on("error", reject);
    });
  const before = await shown();
  const read = (name: string): Buffer => readFileSync(certificateFile(name));
  api.useCertificates({ key: read("client-both.key"), cert: read("client-both.crt"), ca: read("ca.crt") });
  assert.notEqual(await shown(), before);
  await api.close();
});
