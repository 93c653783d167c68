import assert from "node:assert/strict";
import { get } from "node:http";
import { get as getSecure } from "node:https";
import { test } from "node:test";
import type { ConnectionOptions } from "node:tls";
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
