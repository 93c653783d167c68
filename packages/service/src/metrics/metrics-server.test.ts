import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { messageOf, systemClock } from "@bulrush/base";
import type { ClientAuthMode } from "../http/tls.ts";
import { memoryLogger } from "../log/memory-logger.ts";
import { serveMetrics } from "./metrics-server.ts";
import { createMetrics } from "./prometheus.ts";

const TESTDATA = join(import.meta.dirname, "../../testdata");
const data = (name: string): string => join(TESTDATA, name);
const directory = mkdtempSync(join(tmpdir(), "bulrush-metrics-"));
after(() => rmSync(directory, { recursive: true }));

function start(clientAuth: ClientAuthMode, files = { keyFile: data("server.key"), certFile: data("server.pem") }) {
  const metrics = createMetrics();
  metrics.counter({ name: "x_total", help: "x" }).inc();
  const logger = memoryLogger();
  const tls = { ...files, caFile: data("ca.pem"), clientAuth };
  return { logger, server: serveMetrics({ metrics, host: "localhost", port: 0, tls, clock: systemClock(), logger }) };
}

/** The status and the server's name, or "refused". */
function scrape(
  port: number,
  client: "none" | "client" | "stranger",
): Promise<{ status: number | "refused"; peer: string }> {
  const identity =
    client === "none" ? {} : { key: readFileSync(data(`${client}.key`)), cert: readFileSync(data(`${client}.pem`)) };
  return new Promise((resolve) => {
    const request = get(
      { host: "localhost", port, path: "/metrics", rejectUnauthorized: false, agent: false, ...identity },
      (response) => {
        const peer = String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
        response.resume().on("end", () => resolve({ status: response.statusCode ?? 0, peer }));
      },
    );
    request.on("error", (error) => resolve({ status: "refused", peer: messageOf(error) }));
  });
}

test("serveMetrics() serves the page over plain HTTP", async () => {
  const metrics = createMetrics();
  metrics.counter({ name: "x_total", help: "x" }).inc();
  const server = serveMetrics({ metrics, host: "localhost", port: 0, clock: systemClock(), logger: memoryLogger() });
  const { port } = await server.listening;
  try {
    const response = await fetch(`http://localhost:${port}/metrics`);
    assert.match(response.headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
    assert.match(await response.text(), /^x_total 1$/m);
    assert.equal((await fetch(`http://localhost:${port}/other`)).status, 404);
  } finally {
    await server.close();
  }
});

const rows: readonly [mode: ClientAuthMode, none: number | "refused", signed: number, stranger: number | "refused"][] =
  [
    ["NoClientCert", 200, 200, 200],
    ["RequireAnyClientCert", 403, 200, 200],
    ["VerifyClientCertIfGiven", 200, 200, 403],
    ["RequireAndVerifyClientCert", "refused", 200, "refused"],
  ];
for (const [mode, none, signed, stranger] of rows) {
  test(`serveMetrics() with ${mode} serves whom it says`, async () => {
    const { server } = start(mode);
    const { port } = await server.listening;
    try {
      assert.equal((await scrape(port, "none")).status, none);
      assert.equal((await scrape(port, "client")).status, signed);
      assert.equal((await scrape(port, "stranger")).status, stranger);
    } finally {
      await server.close();
    }
  });
}

test("serveMetrics() uses a renewed certificate at the next connection and keeps the old one, when the new is bad", async () => {
  const files = { keyFile: join(directory, "tls.key"), certFile: join(directory, "tls.crt") };
  copyFileSync(data("server.key"), files.keyFile);
  copyFileSync(data("server.pem"), files.certFile);
  const { server, logger } = start("NoClientCert", files);
  const { port } = await server.listening;
  try {
    assert.equal((await scrape(port, "none")).peer, "server");
    copyFileSync(data("client.key"), files.keyFile);
    copyFileSync(data("client.pem"), files.certFile);
    assert.equal((await scrape(port, "none")).peer, "client");
    writeFileSync(files.certFile, "not a certificate");
    assert.equal((await scrape(port, "none")).peer, "client");
    assert.ok(logger.records.some((record) => record.level === "warn" && record.message.includes("does not load")));
  } finally {
    await server.close();
  }
});

test("serveMetrics() names the file, when a certificate is missing at the start", async () => {
  const { server, logger } = start("NoClientCert", { keyFile: "/nonexistent.key", certFile: data("server.pem") });
  const failure = logger.records.find((record) => record.level === "warn");
  assert.match(messageOf(failure?.fields["error"]), /^Read key file "\/nonexistent\.key"/);
  await server.close();
});
