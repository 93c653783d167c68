import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, describe, it } from "node:test";
import { runCli } from "../testing/run-cli.ts";

const directory = mkdtempSync(join(tmpdir(), "bulrush-ctl-"));
after(() => rmSync(directory, { recursive: true }));
const SOCKET = join(directory, "agent.sock");
let server: Server | undefined;

/** An agent that answers these paths. */
async function agent(answers: Readonly<Record<string, string>>): Promise<void> {
  const next = createServer((request, response) => {
    const text = answers[request.url ?? ""];
    response.writeHead(text === undefined ? 404 : 200).end(text ?? "The flow log is off\n");
  });
  server = next;
  await new Promise<void>((resolve) => void next.listen(SOCKET, resolve));
}

afterEach(async () => {
  if (server?.listening === true) await new Promise((resolve) => void server?.close(resolve));
});

const REPORT = {
  ready: true,
  pending: false,
  differences: [{ kind: "route", name: "10.65.0.2/32", what: "missing", detail: "dev calia" }],
  more: 2,
  problems: ["nf_tables: Read failed"],
  repairs: [
    {
      atMs: Date.UTC(2030, 0, 2, 3, 4, 5),
      by: "nft (12)\u001b[2J",
      items: [{ kind: "table", name: "ip calico", what: "missing", detail: "14 chains, 1 set" }],
      more: 1,
    },
  ],
};
const FLOW = {
  verdict: "deny",
  direction: "ingress",
  tier: "default",
  policy: "np/shop/web",
  rule: "rule 0",
  atMs: Date.UTC(2030, 0, 2, 3, 4, 5),
  endpoint: "shop/web-0",
  interfaceName: "calia",
  source: "10.65.0.2",
  destination: "10.65.0.3",
  protocol: "tcp",
  sourcePort: 40000,
  destinationPort: 80,
  packets: 3,
};
const PING = {
  ...FLOW,
  verdict: "log",
  tier: "",
  policy: "profile kns.shop",
  source: "fd00::2",
  protocol: "icmpv6",
  icmp: { type: 128, code: 0 },
  sourcePort: undefined,
  destinationPort: undefined,
  packets: 1,
};

describe("drift", () => {
  it("prints differences, what could not be read, and the last repairs", async () => {
    await agent({ "/api/v1/drift": JSON.stringify(REPORT) });
    const { code, out } = await runCli(["drift", "--socket", SOCKET]);
    assert.equal(code, 0);
    assert.match(out, /^Not read: nf_tables: Read failed$/m);
    assert.match(out, /^route +10\.65\.0\.2\/32 +missing +dev calia$/m);
    assert.match(out, /^\.\.\. and 2 more$/m);
    assert.match(out, /^2030-01-02T03:04:05\.000Z +nft \(12\)\S* +table +ip calico +missing +14 chains, 1 set$/m);
    assert.match(out, /\.\.\. and 1 more/);
    assert.ok(!out.includes("\u001b"));
  });

  it("says that all is well", async () => {
    await agent({ "/api/v1/drift": JSON.stringify({ ...REPORT, differences: [], problems: [], repairs: [] }) });
    const { out } = await runCli(["drift", "--socket", SOCKET]);
    assert.equal(out, "The kernel has what is meant.\nNothing was repaired lately.\n");
  });

  it("gives the report as it is", async () => {
    await agent({ "/api/v1/drift": JSON.stringify(REPORT) });
    const { out } = await runCli(["drift", "--socket", SOCKET, "-o", "json"]);
    assert.deepEqual(JSON.parse(out), REPORT);
  });

  it("names the socket when nobody is there", async () => {
    const { code, err } = await runCli(["drift", "--socket", join(directory, "none.sock")]);
    assert.equal(code, 1);
    assert.match(err, /Ask the agent at .*none\.sock: .*ENOENT.*No agent listens there/);
  });
});

describe("endpoints", () => {
  const tier = (name: string, more: object): object => ({
    name,
    stage: "normal",
    ingress: [],
    egress: [],
    end: "Deny",
    ...more,
  });
  const pod = {
    kind: "workload",
    name: "shop/db",
    interfaceName: "cali1",
    addresses: ["10.65.0.2/32"],
    status: "up",
    tiers: [
      tier("platform", { ingress: ["GlobalNetworkPolicy/guard"], end: "Pass" }),
      tier("default", { ingress: ["NetworkPolicy/shop/a", "KubernetesNetworkPolicy/shop/b"] }),
      tier("default", { egress: ["StagedNetworkPolicy/shop/s"] }),
    ],
    profiles: ["kns.shop"],
  };
  const host = {
    kind: "host",
    name: "eth0",
    interfaceName: "",
    addresses: ["192.0.2.1"],
    tiers: [tier("default", { stage: "pre-dnat", ingress: ["GlobalNetworkPolicy/p"] })],
    profiles: [],
  };
  const report = { phase: "in-sync", reason: "all is written", endpoints: [host, pod] };

  it("prints what judges each endpoint, and whether it is in the kernel", async () => {
    await agent({ "/api/v1/endpoints": JSON.stringify(report) });
    const { code, out } = await runCli(["endpoints", "--socket", SOCKET]);
    assert.equal(code, 0);
    assert.deepEqual(out.split("\n"), [
      "in-sync: all is written",
      "",
      "host endpoint eth0  by address  192.0.2.1  not reported yet",
      "  ingress: pre-dnat tier default (GlobalNetworkPolicy/p); no profile: the rest is denied",
      "  egress: no policy; no profile: the rest is denied",
      "",
      "shop/db  cali1  10.65.0.2/32  up",
      "  ingress: tier platform (GlobalNetworkPolicy/guard, then passes); tier default (NetworkPolicy/shop/a, KubernetesNetworkPolicy/shop/b, then denies)",
      "  egress: tier default (StagedNetworkPolicy/shop/s); profiles kns.shop",
      "",
    ]);
  });

  it("shows the named ones, and says what the agent waits for where it has not got one", async () => {
    await agent({ "/api/v1/endpoints": JSON.stringify(report) });
    const one = await runCli(["endpoints", "shop/db", "--socket", SOCKET, "-o", "json"]);
    assert.deepEqual(JSON.parse(one.out), { ...report, endpoints: [pod] });
    const none = await runCli(["endpoints", "shop/web", "--socket", SOCKET]);
    assert.deepEqual([none.code, none.out], [1, ""]);
    assert.match(none.err, /no endpoint "shop\/web" \(it is in-sync: all is written\)/);
  });
});

describe("explain --agent", () => {
  const ingress = {
    verdict: "deny",
    tier: "default",
    policy: "NetworkPolicy/shop/p",
    rule: 2,
    why: "it denies",
    steps: [],
  };
  const verdict = { verdict: "deny", ipVersion: 4, ingress, notes: ["This may not be in the kernel yet"] };
  const flow = ["--from", "10.0.0.1", "--to", "shop/db", "--port", "80"];

  it("prints what the agent says of a flow", async () => {
    await agent({ "/api/v1/explain?from=10.0.0.1&to=shop%2Fdb&protocol=tcp&port=80": JSON.stringify(verdict) });
    const { code, out } = await runCli(["explain", "--agent", "--socket", SOCKET, ...flow]);
    assert.equal(code, 0);
    assert.match(out, /^deny {2}10\.0\.0\.1 -> shop\/db {2}TCP 80$/m);
    assert.match(out, /^ingress: deny by NetworkPolicy\/shop\/p, rule 2 \(tier default\)$/m);
    assert.match(out, /^note: This may not be in the kernel yet$/m);
    const json = await runCli(["explain", "--agent", "--socket", SOCKET, ...flow, "-o", "json"]);
    assert.deepEqual(JSON.parse(json.out), { verdict: "deny", ingress, notes: verdict.notes });
  });

  it("takes one source only", async () => {
    const { code, err } = await runCli(["explain", "--agent", "--live", "--socket", SOCKET, ...flow]);
    assert.equal(code, 2);
    assert.match(err, /--agent does not go with --live/);
  });
});

describe("staged", () => {
  const change = {
    from: "10.0.0.1",
    to: "10.0.0.9",
    protocol: 6,
    port: 5432,
    toPod: "shop/db",
    now: "allow",
    staged: "deny",
    by: "p, rule 1",
  };
  const report = { judged: 7, left: 3, changes: [change, { ...change, protocol: 250, port: undefined }] };

  it("prints what would change, by pod where it is one, and what was not looked at", async () => {
    await agent({ "/api/v1/staged": JSON.stringify(report) });
    const { code, out, err } = await runCli(["staged", "--socket", SOCKET]);
    assert.deepEqual([code, err], [0, "3 connections more were not looked at\n"]);
    const rows = out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    assert.deepEqual(rows.slice(1), [
      ["10.0.0.1", "shop/db", "tcp", "5432", "allow", "deny", "p, rule 1"],
      ["10.0.0.1", "shop/db", "250", "-", "allow", "deny", "p, rule 1"],
      ["2 of 7 connections would change"],
    ]);
  });

  it("gives the report as it is, and says that nothing changes", async () => {
    await agent({ "/api/v1/staged": JSON.stringify({ judged: 7, left: 0, changes: [] }) });
    assert.equal((await runCli(["staged", "--socket", SOCKET])).out, "0 of 7 connections would change\n");
    const { out } = await runCli(["staged", "--socket", SOCKET, "-o", "json"]);
    assert.deepEqual(JSON.parse(out), { judged: 7, left: 0, changes: [] });
  });
});

describe("flows", () => {
  const lines = [FLOW, PING, { lost: 7 }].map((line) => `${JSON.stringify(line)}\n`).join("");

  it("prints one line a flow, with tier, policy and rule", async () => {
    await agent({ "/api/v1/flows?follow=1": lines });
    const { code, out } = await runCli(["flows", "--follow", "--socket", SOCKET]);
    assert.equal(code, 0);
    assert.deepEqual(out.split("\n"), [
      "2030-01-02T03:04:05.000Z denied ingress shop/web-0 10.65.0.2:40000 -> 10.65.0.3:80 tcp by tier default np/shop/web rule 0 (3 packets)",
      "2030-01-02T03:04:05.000Z logged ingress shop/web-0 fd00::2 -> 10.65.0.3 icmpv6 type 128 code 0 by profile kns.shop rule 0",
      "(7 packets were not looked at)",
      "",
    ]);
  });

  it("gives JSON, a line each", async () => {
    await agent({ "/api/v1/flows": lines });
    const { out } = await runCli(["flows", "--socket", SOCKET, "-o", "json"]);
    assert.deepEqual(
      out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
      [FLOW, JSON.parse(JSON.stringify(PING)), { lost: 7 }],
    );
  });

  it("passes on what the agent says when the log is off", async () => {
    await agent({});
    const { code, err } = await runCli(["flows", "--socket", SOCKET]);
    assert.equal(code, 1);
    assert.match(err, /The flow log is off/);
  });
});
