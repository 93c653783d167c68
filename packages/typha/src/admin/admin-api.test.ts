import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { get, request } from "node:http";
import { get as getSecure } from "node:https";
import { test } from "node:test";
import { connect, type ConnectionOptions } from "node:tls";
import { hasCode } from "@bulrush/base";
import { certificateFile, clientTls } from "../testing/websocket-client.ts";
import { type AdminApiOptions, serveAdminApi } from "./admin-api.ts";
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
