import assert from "node:assert/strict";
import { test } from "node:test";
import { readArguments } from "./load-arguments.ts";
import { splitPlan } from "./load-plan.ts";

const SERVER = ["--server", "127.0.0.1:5473"] as const;

test("numbers, servers and TLS are read", () => {
  const args = readArguments([
    ...SERVER,
    ..."--server [::1]:5474 --clients 7 --flood 2 --storm-every 0.5 --processes 3".split(" "),
    ..."--ca a --cert b --key c --server-uri spiffe://x --json".split(" "),
  ]);
  assert.ok(args !== undefined);
  const { plan } = args;
  assert.deepEqual(plan.servers, [
    { host: "127.0.0.1", port: 5473 },
    { host: "::1", port: 5474 },
  ]);
  assert.deepEqual([plan.light, plan.bad.flood, plan.bad.garbage, plan.stormEveryMs], [7, 2, 0, 500]);
  assert.deepEqual([args.processes, args.isJSON, plan.tls.serverURISAN], [3, true, "spiffe://x"]);
});

test("help is asked for", () => {
  assert.equal(readArguments(["-h"]), undefined);
});

const bad: readonly [argv: readonly string[], message: RegExp][] = [
  [[], /--server HOST:PORT is needed/],
  [["--server", "x"], /"x" is not host:port/],
  [[...SERVER, "--clients", "many"], /--clients is 'many', expected a whole number from 0/],
  [[...SERVER, "--clients", "-1"], /--clients/],
  [[...SERVER, "--processes", "0"], /--processes is '0', expected a whole number from 1/],
  [[...SERVER, "--seconds", "soon"], /--seconds is 'soon', expected seconds/],
  [[...SERVER, "--syncer", "gossip"], /--syncer is 'gossip', expected one of felix, bgp/],
  [[...SERVER, "--ca", "ca.crt"], /TLS is set in part: certificate file, key file, server common name or URI missing/],
  [[...SERVER, "--no-such"], /no-such/],
];
for (const [argv, message] of bad) {
  test(`refused: ${argv.join(" ") || "nothing"}`, () => {
    assert.throws(() => readArguments(argv), message);
  });
}

test("processes share every sort of client, evenly, under names of their own", () => {
  const args = readArguments([...SERVER, "--clients", "11", "--judged", "2", "--garbage", "5", "--storm", "4"]);
  assert.ok(args !== undefined);
  const parts = splitPlan(args.plan, 3);
  assert.deepEqual(
    parts.map(({ light }) => light).toSorted((a, b) => a - b),
    [3, 4, 4],
  );
  assert.deepEqual(
    parts.map(({ judged }) => judged).toSorted((a, b) => a - b),
    [0, 1, 1],
  );
  assert.deepEqual(
    parts.map(({ bad: { garbage } }) => garbage).toSorted((a, b) => a - b),
    [1, 2, 2],
  );
  assert.deepEqual(
    parts.map(({ storm }) => storm).toSorted((a, b) => a - b),
    [1, 1, 2],
  );
  assert.equal(new Set(parts.map(({ namePrefix }) => namePrefix)).size, 3);
});
