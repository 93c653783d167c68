import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createServer, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { DriftReport, FlowRecord, HostReport } from "@bulrush/dataplane";
import { memoryLogger } from "@bulrush/service";
import type { HostExplanation } from "../pipeline/live-dataplane.ts";
import { type AdminSocketOptions, serveAdminSocket } from "./admin-socket.ts";
import { FlowRing } from "./flow-ring.ts";

const REPORT: DriftReport = {
  ready: true,
  pending: false,
  differences: [{ kind: "set", name: "ip s", what: "changed", detail: "1 element missing" }],
  more: 0,
  problems: [],
  repairs: [],
};
const FLOW: FlowRecord = {
  verdict: "deny",
  direction: "ingress",
  tier: "default",
  policy: "np/default/p",
  rule: "rule 0",
  atMs: 1000,
  endpoint: "default/a",
  interfaceName: "calia",
  source: "10.65.0.2",
  destination: "10.65.0.3",
  protocol: "tcp",
  packets: 1,
};

const directory = mkdtempSync(join(tmpdir(), "bulrush-admin-"));
after(() => rmSync(directory, { recursive: true }));
let serial = 0;

interface Served {
  readonly path: string;
  readonly clock: ManualClock;
  readonly close: () => Promise<void>;
}

/** Listens when it resolves. */
async function serve(options: Partial<AdminSocketOptions> = {}): Promise<Served> {
  const path = options.path ?? join(directory, String(serial++), "agent.sock");
  const clock = new ManualClock();
  const close = serveAdminSocket({
    path,
    clock,
    logger: memoryLogger(),
    inspect: () => Promise.resolve(REPORT),
    report: () => undefined,
    explain: () => undefined,
    staged: () => undefined,
    flows: () => undefined,
    ...options,
  });
  await until(() => isThere(path));
  return { path, clock, close };
}

function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

function get(socketPath: string, path: string, method = "GET"): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path, method, agent: false }, resolve).on("error", reject).end();
  });
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8") as AsyncIterable<string>) text += piece;
  return text;
}

describe("serveAdminSocket()", { timeout: 120_000 }, () => {
  it("answers with the drift report, on a socket that is the owner's alone", async () => {
    const { close, path } = await serve();
    const answer = await get(path, "/api/v1/drift");
    assert.deepEqual([answer.statusCode, JSON.parse(await textOf(answer))], [200, REPORT]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await close();
    assert.equal(isThere(path), false);
  });

  it("answers with what the host guards", async () => {
    const report: HostReport = { phase: "in-sync", reason: "all is written", endpoints: [] };
    const staged = { judged: 1, left: 0, changes: [] };
    const { close, path } = await serve({ report: () => report, staged: () => Promise.resolve(staged) });
    for (const [name, found] of [
      ["endpoints", report],
      ["staged", staged],
    ] as const) {
      const answer = await get(path, `/api/v1/${name}`);
      assert.deepEqual([answer.statusCode, JSON.parse(await textOf(answer))], [200, found]);
    }
    await close();
  });

  it("explains the flow that is asked for, and says what is wrong with it", async () => {
    const asked: unknown[] = [];
    let answers: (() => HostExplanation)[] = [
      () => ({ verdict: { verdict: "deny", ipVersion: 4 } }),
      () => ({ problem: "Unknown pod" }),
      () => assert.fail("a bug"),
    ];
    const { close, path } = await serve({
      explain(flow) {
        asked.push(flow);
        const [next, ...rest] = answers;
        answers = rest;
        return next?.();
      },
    });
    const found: unknown[] = [];
    for (const query of ["from=a%2Fb&to=10.0.0.1&port=80", "from=a%2Fb&protocol=icmp&icmpType=8", ""]) {
      const answer = await get(path, `/api/v1/explain?${query}`);
      found.push([answer.statusCode, (await textOf(answer)).trimEnd()]);
    }
    assert.deepEqual(found, [
      [200, '{"verdict":"deny","ipVersion":4}'],
      [400, "Unknown pod"],
      [500, "a bug"],
    ]);
    assert.deepEqual(asked, [
      { from: "a/b", to: "10.0.0.1", protocol: "tcp", port: "80" },
      { from: "a/b", to: "", protocol: "icmp", icmpType: "8" },
      { from: "", to: "", protocol: "tcp" },
    ]);
    await close();
  });

  it("says what it has not", async () => {
    const { close, path } = await serve({ inspect: () => undefined });
    const answers: [string, string, number, RegExp][] = [
      ["GET", "/api/v1/drift", 503, /has not started/],
      ["GET", "/api/v1/endpoints", 503, /has not started/],
      ["GET", "/api/v1/staged", 503, /has not started/],
      ["GET", "/api/v1/explain?from=a/b&to=10.0.0.1&port=80", 503, /has not started/],
      ["GET", "/api/v1/flows", 404, /FlowLogsLocalReporter/],
      ["GET", "/else", 404, /\/api\/v1\/drift/],
      ["POST", "/api/v1/drift", 405, /Only GET/],
      ["GET", "//", 400, /Not a path/],
      ["GET", "/api/v1/drift", 503, /has not started/],
    ];
    for (const [method, target, status, text] of answers) {
      const answer = await get(path, target, method);
      assert.equal(answer.statusCode, status);
      assert.match(await textOf(answer), text);
    }
    await close();
  });

  it("answers with 500 where the kernel cannot be inspected, and goes on", async () => {
    let fails = true;
    const logger = memoryLogger();
    const inspect = () => (fails ? Promise.reject(new Error("List rules failed: EINTR")) : Promise.resolve(REPORT));
    const { close, path } = await serve({ inspect, logger });
    const failed = await get(path, "/api/v1/drift");
    assert.deepEqual([failed.statusCode, await textOf(failed)], [500, "List rules failed: EINTR\n"]);
    assert.ok(logger.records.some(({ message }) => message === "Cannot inspect the kernel"));
    fails = false;
    assert.equal((await get(path, "/api/v1/drift")).statusCode, 200);
    await close();
  });

  it("gives the last flows, and to those who follow what comes", async () => {
    const ring = new FlowRing();
    ring.add({ flows: [FLOW], lost: 0 });
    const { close, path } = await serve({ flows: () => ring });
    assert.equal(await textOf(await get(path, "/api/v1/flows")), `${JSON.stringify(FLOW)}\n`);

    const answer = (await get(path, "/api/v1/flows?follow=1")).setEncoding("utf8");
    let text = "";
    answer.on("data", (piece: string) => (text += piece));
    answer.on("error", () => {});
    await until(() => text.endsWith("\n"));
    ring.add({ flows: [{ ...FLOW, atMs: 2000 }], lost: 3 });
    await until(() => text.split("\n").length > 3);
    assert.deepEqual(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
      [FLOW, { ...FLOW, atMs: 2000 }, { lost: 3 }],
    );
    await close();
  });

  it("takes the place of a socket that a dead process has left, and waits for a living one to go", async () => {
    const path = join(directory, "shared.sock");
    const living = createServer();
    await new Promise<void>((resolve) => void living.listen(path, resolve));
    const logger = memoryLogger();
    const { clock, close } = await serve({ path, logger });
    await until(() => logger.records.some(({ message }) => /Cannot open the admin socket/.test(message)));
    await new Promise((resolve) => void living.close(resolve));
    await clock.advance(10_000);
    await until(() => isThere(path));
    assert.equal((await get(path, "/api/v1/drift")).statusCode, 200);
    await close();
  });
});

describe("FlowRing", () => {
  it("keeps the last 1,000 flows, and tells nothing to those who have stopped following", () => {
    const ring = new FlowRing();
    const seen: unknown[] = [];
    const stop = ring.follow((lines) => seen.push(...lines));
    ring.add({ flows: Array.from({ length: 1500 }, (_, i) => ({ ...FLOW, atMs: i })), lost: 0 });
    stop();
    ring.add({ flows: [FLOW], lost: 1 });
    assert.equal(seen.length, 1500);
    assert.deepEqual([ring.recent().length, ring.recent()[0]?.atMs, ring.recent().at(-1)], [1000, 501, FLOW]);
  });
});
