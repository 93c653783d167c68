import assert from "node:assert/strict";
import dns from "node:dns";
import { createServer } from "node:net";
import { test } from "node:test";
import { ManualClock, systemClock } from "@bulrush/base";
import { memoryLogger } from "../log/memory-logger.ts";
import { HealthAggregator } from "./aggregator.ts";
import { serveHealth } from "./health-server.ts";

test("serveHealth() answers 204, 200 and 503 with words", async () => {
  const health = new HealthAggregator(new ManualClock());
  const server = serveHealth({ health, host: "localhost", port: 0, clock: systemClock(), logger: memoryLogger() });
  const { port } = await server.listening;
  const get = async (path: string): Promise<[number, string]> => {
    const response = await fetch(`http://localhost:${port}${path}`);
    return [response.status, await response.text()];
  };
  try {
    assert.deepEqual(await get("/readiness"), [204, ""]);
    const reporter = health.register("cache");
    reporter.report({ live: true, ready: false, detail: "resync" });
    const [status, body] = await get("/readiness");
    assert.equal(status, 503);
    assert.match(body, /cache .* NOT READY +resync/);
    assert.equal((await get("/liveness?verbose"))[0], 200);
    reporter.report({ live: true, ready: true });
    assert.equal((await get("/readiness"))[0], 200);
    assert.equal((await get("/"))[0], 404);
    const posted = await fetch(`http://localhost:${port}/liveness`, { method: "POST" });
    assert.equal(posted.status, 405);
  } finally {
    await server.close();
  }
});

test("serveHealth() asks no resolver what localhost is", async (t) => {
  const { mock } = t.mock.method(dns, "lookup");
  const clock = systemClock();
  const health = new HealthAggregator(clock);
  const server = serveHealth({ health, host: "localhost", port: 0, clock, logger: memoryLogger() });
  const { address } = await server.listening;
  await server.close();
  assert.equal(address, "127.0.0.1");
  assert.ok(!mock.calls.some(({ arguments: [name] }) => name === "localhost"));
});

test("serveHealth() tries again every second and says so once, when the port is taken", async () => {
  const blocker = createServer();
  await new Promise<void>((resolve) => blocker.listen(0, "127.0.0.1", resolve));
  const { port } = blocker.address() as { port: number };
  const clock = new ManualClock();
  const logger = memoryLogger();
  const server = serveHealth({ health: new HealthAggregator(clock), host: "127.0.0.1", port, clock, logger });
  const failed = async (): Promise<void> => {
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  };
  await failed();
  await clock.advance(1000);
  await failed();
  await new Promise<void>((resolve) => blocker.close(() => resolve()));
  await clock.advance(1000);
  assert.equal((await server.listening).port, port);
  assert.equal(logger.records.filter((record) => record.level === "warn").length, 1);
  await server.close();
});
