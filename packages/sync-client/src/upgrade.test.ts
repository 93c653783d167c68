import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { WebSocketServer } from "ws";
import { startClient } from "./testing/fixture.ts";
import { until } from "./testing/scripted-server.ts";

async function failure(t: TestContext, server: Server): Promise<{ code: string; message: string }> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { client } = startClient([{ host: "127.0.0.1", port: (server.address() as AddressInfo).port }]);
  t.after(async () => {
    await client.stop();
    server.closeAllConnections();
    server.close();
  });
  await until(() => client.state().lastError !== undefined, "the client gave up");
  const { lastError } = client.state();
  assert.ok(lastError);
  return lastError;
}

test("a web server that is no sync server is named", async (t) => {
  const { code, message } = await failure(
    t,
    createServer((_request, response) => response.writeHead(404).end()),
  );
  assert.equal(code, "SYNC_CLIENT_UPGRADE");
  assert.match(message, /404/);
});

test("what speaks no HTTP is named", async (t) => {
  const server = createServer();
  server.on("connection", (socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
  const { code, message } = await failure(t, server);
  assert.equal(code, "SYNC_CLIENT_UPGRADE");
  assert.match(message, /127\.0\.0\.1:\d+.*HTTP/);
});

test("a redirect is not followed", async (t) => {
  const server = createServer((_request, response) => response.writeHead(302, { location: "ws://127.0.0.1:1/" }).end());
  assert.equal((await failure(t, server)).code, "SYNC_CLIENT_UPGRADE");
});

test("a websocket without the subprotocol is refused", async (t) => {
  const server = createServer();
  new WebSocketServer({ server, handleProtocols: () => false });
  const { code, message } = await failure(t, server);
  assert.equal(code, "SYNC_CLIENT_UPGRADE");
  assert.match(message, /subprotocol/);
});
