import assert from "node:assert/strict";
import { get } from "node:https";
import { after, test } from "node:test";
import { systemClock } from "@bulrush/base";
import { createMetrics, type MemoryLogger, memoryLogger } from "@bulrush/service";
import { LimitedLog } from "../server/limited-log.ts";
import { SyncListener } from "../server/listener.ts";
import { createServerMetrics } from "../server/server-metrics.ts";
import type { SyncTlsSettings } from "../server/tls-material.ts";
import { certificateFile, clientTls } from "../testing/websocket-client.ts";
import { askLoad } from "./ask-load.ts";
import type { ServerLoad } from "./server-load.ts";

const LOAD: ServerLoad = { instance: "i", streams: 7, types: { felix: 7 }, limit: 400, takesClients: true };
const listeners: SyncListener[] = [];
const loggers: MemoryLogger[] = [];
after(() => {
  for (const listener of listeners) listener.close();
});

function tls(pair: string, ca = "ca"): SyncTlsSettings {
  return {
    keyFile: certificateFile(`${pair}.key`),
    certFile: certificateFile(`${pair}.crt`),
    caFile: certificateFile(`${ca}.crt`),
    clientRule: { commonName: "typha-client" },
  };
}

async function serve(
  settings: SyncTlsSettings | undefined,
  answer?: (reserve: string | undefined) => string,
): Promise<string> {
  const clock = systemClock();
  const logger = memoryLogger();
  loggers.push(logger);
  const listener = new SyncListener({
    host: "127.0.0.1",
    port: 0,
    tls: settings,
    handshakeTimeoutMs: 10_000,
    clock,
    random: Math.random,
    logger,
    log: new LimitedLog(clock, logger),
    metrics: createServerMetrics(createMetrics()),
    onAccepted: () => assert.fail("nobody asks for a stream"),
    onRefused: () => assert.fail("nobody asks for a stream"),
    ...(answer !== undefined && { load: answer }),
  });
  listeners.push(listener);
  const { port } = await listener.listening;
  return `127.0.0.1:${port}`;
}

const signal = new AbortController().signal;

test("a server that has asked is not taken for a client with a bad certificate when it leaves", async () => {
  const address = await serve(tls("server"), () => JSON.stringify(LOAD));
  const logger = loggers.at(-1);
  // Each handshake leaves time for the end of the connection before it.
  for (let i = 0; i < 5; i++) assert.deepEqual(await askLoad(address, undefined, tls("server"), signal), LOAD);
  assert.deepEqual(
    logger?.records.filter(({ level }) => level === "warn"),
    [],
  );
});

for (const [title, settings] of [
  ["plain TCP", undefined],
  ["mutual TLS between two server certificates", tls("server")],
] as const) {
  test(`askLoad() learns the load over ${title}, and can reserve`, async () => {
    const asked: (string | undefined)[] = [];
    const address = await serve(settings, (reserve) => {
      asked.push(reserve);
      return JSON.stringify(LOAD);
    });
    for (const reserve of [undefined, "", "felix"])
      assert.deepEqual(await askLoad(address, reserve, settings, signal), LOAD);
    assert.deepEqual(asked, [undefined, "", "felix"]);
  });
}

test("askLoad() rejects where no load is told", async () => {
  await assert.rejects(askLoad(await serve(undefined), undefined, undefined, signal), /answers 403/);
  await assert.rejects(askLoad(await serve(undefined, () => "null"), undefined, undefined, signal), /and no load/);
  const long = JSON.stringify({ ...LOAD, more: "x".repeat(10_000) });
  await assert.rejects(
    askLoad(await serve(undefined, () => long), undefined, undefined, signal),
    /too long for a load/,
  );
  await assert.rejects(askLoad("127.0.0.1:1", undefined, undefined, signal), { code: "ECONNREFUSED" });
});

test("askLoad() takes nothing from a server of another name or CA", async () => {
  const strangers = await serve(tls("client-bad"), () => JSON.stringify(LOAD));
  await assert.rejects(
    askLoad(strangers, undefined, tls("server"), signal),
    /required is common name|required is "typha/,
  );
  const others = await serve(tls("server"), () => JSON.stringify(LOAD));
  await assert.rejects(askLoad(others, undefined, tls("server", "other-ca"), signal), {
    code: /SELF_SIGNED|UNABLE_TO/,
  });
});

test("a load is told to servers of the same name, which may reserve, to clients, and to nobody else", async () => {
  const asked: (string | undefined)[] = [];
  const address = await serve(tls("server"), (reserve) => {
    asked.push(reserve);
    return JSON.stringify(LOAD);
  });
  const rows: readonly [pair: string | undefined, want: number, reserved: readonly (string | undefined)[]][] = [
    ["server", 200, ["felix"]],
    ["client-cn", 200, [undefined]],
    ["client-bad", 403, []],
    ["client-untrusted", 403, []],
    ["client-expired", 403, []],
    [undefined, 403, []],
  ];
  for (const [pair, want, reserved] of rows) {
    const status = await new Promise((resolve, reject) => {
      const options = { agent: false, ...clientTls(pair) };
      get(`https://${address}/v1/load?reserve=felix`, options, (answer) => resolve(answer.resume().statusCode)).on(
        "error",
        reject,
      );
    });
    assert.equal(status, want, pair ?? "no certificate");
    assert.deepEqual(asked.splice(0), reserved, pair);
  }
});
