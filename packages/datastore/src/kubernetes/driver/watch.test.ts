import assert from "node:assert/strict";
import { test } from "node:test";
import type { DatastoreDriver, WatchStream } from "../../driver/driver.ts";
import { asked, codeOf, driverFixture, follow, listAll, tier, TIERS, until } from "../testing/driver-fixture.ts";
import { type FakeApiServer, status } from "../testing/fake-api-server.ts";
import type { StoredObject } from "../testing/fake-objects.ts";

const { signal } = new AbortController();

function watchTiers(driver: DatastoreDriver, revision: string): Promise<WatchStream> {
  return driver.watch({ kind: "Tier", revision, signal });
}

/** How long the server was asked to keep its watches of the tiers, in seconds, oldest first. */
function lengths(server: FakeApiServer): (string | null)[] {
  const watches = server.requests.filter(({ path, query }) => path === TIERS && query.has("watch"));
  return watches.map(({ query }) => query.get("timeoutSeconds"));
}

test("watch() is short until bookmarks are known to come, and after every end that was not proper", async (t) => {
  const { server, driver } = await driverFixture(t);
  const next = async (end: () => void): Promise<void> => {
    const seen = follow(await watchTiers(driver, String(server.objects.revision)));
    await until("the server has it", () => server.watchesOf(TIERS) === 1);
    end();
    await until("it is over", () => seen.at(-1) === "end" && server.watchesOf(TIERS) === 0);
  };
  const endQuiet = (): void => server.endWatches(TIERS);
  const endBookmarked = (): void => {
    server.bookmark(TIERS);
    server.endWatches(TIERS);
  };
  await next(endQuiet);
  await next(endBookmarked);
  await next(endBookmarked);
  await next(endQuiet);
  await next(endBookmarked);
  await next(() => server.resetConnections());
  await next(endQuiet);
  assert.deepEqual(lengths(server), ["72", "72", "300", "300", "72", "300", "72"]);
  const { query } = server.requests.findLast(({ path }) => path === TIERS) ?? { query: new URLSearchParams() };
  assert.equal(query.get("allowWatchBookmarks"), "true");
});

test("a watch that a dead connection has left silent ends, and another one goes on where it was", async (t) => {
  const { server, driver, clock, logged } = await driverFixture(t);
  const stream = await watchTiers(driver, String(server.objects.revision));
  const seen = follow(stream);
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  server.put(tier("a"));
  await until("the event is there", () => seen.length === 1);
  const { revision } = server.objects;
  server.blackHole(TIERS);
  server.put(tier("b"));
  await clock.advance(89_000);
  assert.deepEqual(seen, ["added a"]);
  await clock.advance(1000);
  await until("the watch is over", () => seen.length === 2);
  assert.deepEqual(seen, ["added a", "end"]);
  assert.deepEqual(logged, ["A watch was silent and is replaced"]);
  const next = await watchTiers(driver, String(revision));
  const more = follow(next);
  await until("what was missed is there", () => more.length === 1);
  assert.deepEqual(more, ["added b"]);
  next.close();
});

test("after a silent watch no request goes out on a connection that has waited since before", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const used: unknown[] = [];
  server.faults.push((_, { socket }) => {
    used.push(socket);
    return undefined;
  });
  // Several connections, so that some wait for a request.
  await Promise.all(Array.from({ length: 4 }, () => driver.probe("Tier", signal)));
  const seen = follow(await watchTiers(driver, String(server.objects.revision)));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  server.blackHole(TIERS);
  await clock.advance(90_000);
  await until("the watch is over", () => seen.at(-1) === "end");
  const before = new Set(used.splice(0));
  assert.ok(before.size > 1, "Nothing waited");
  const next = await watchTiers(driver, String(server.objects.revision));
  next.close();
  assert.equal(used.length, 1);
  assert.ok(!before.has(used[0]), "An old connection was taken");
});

test("a watch whose answer does not begin is given up as early as one that is silent", async (t) => {
  const { server, driver, clock } = await driverFixture(t, { watchIdleTimeoutMs: 20_000 });
  let asked = false;
  server.faults.push(({ query }) => {
    if (!query.has("watch")) return undefined;
    asked = true;
    return true;
  });
  const code = codeOf(watchTiers(driver, String(server.objects.revision)));
  await until("the server has it", () => asked);
  await clock.advance(20_000);
  assert.equal(await code, "DATASTORE_TIMEOUT");
});

test("a quiet watch that hears bookmarks goes on, and its revision with them", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const stream = await watchTiers(driver, String(server.objects.revision));
  const seen = follow(stream);
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  for (let i = 1; i <= 5; i++) {
    await clock.advance(60_000);
    server.bookmark(TIERS);
    await until("the bookmark is there", () => seen.length === i);
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 5 }, () => `bookmark ${server.objects.revision}`),
  );
  stream.close();
  await until("it is over", () => seen.at(-1) === "end");
});

test("a connection that is cut ends a watch without an error", async (t) => {
  const { server, driver } = await driverFixture(t);
  const seen = follow(await watchTiers(driver, String(server.objects.revision)));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  server.resetConnections();
  await until("it is over", () => seen.length > 0);
  assert.deepEqual(seen, ["end"]);
});

test("a watch gives what came before its end", async (t) => {
  const { server, driver } = await driverFixture(t);
  const stream = await watchTiers(driver, String(server.objects.revision));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  server.put(tier("a"));
  server.endWatches(TIERS);
  await until("the server has ended it", () => server.watchesOf(TIERS) === 0);
  const seen = follow(stream);
  await until("it is over", () => seen.at(-1) === "end");
  assert.deepEqual(seen, ["added a", "end"]);
});

const ERRORS: readonly (readonly [what: string, line: string, want: string])[] = [
  [
    "an expired revision",
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}',
    "DATASTORE_EXPIRED",
  ],
  ["an error of the server", '{"type":"ERROR","object":{"kind":"Status","code":500}}', "DATASTORE_FAILED"],
  ["an error without a status", '{"type":"ERROR","object":null}', "DATASTORE_FAILED"],
  ["no JSON", '{"type":', "DATASTORE_MALFORMED"],
  ["no object", "7", "DATASTORE_MALFORMED"],
  ["an unknown type", '{"type":"RENAMED","object":{}}', "DATASTORE_MALFORMED"],
  ["a bookmark without revision", '{"type":"BOOKMARK","object":{}}', "DATASTORE_MALFORMED"],
];

for (const [what, line, want] of ERRORS) {
  test(`a watch ends with ${want} after ${what}, and what came before it counts`, async (t) => {
    const { server, driver } = await driverFixture(t);
    const seen = follow(await watchTiers(driver, String(server.objects.revision)));
    await until("the server has it", () => server.watchesOf(TIERS) === 1);
    const object = { ...tier("a"), metadata: { name: "a", resourceVersion: "9" } };
    server.sendToWatches(TIERS, `${JSON.stringify({ type: "ADDED", object })}\n${line}\n`);
    await until("the error is there", () => seen.length >= 2);
    assert.deepEqual(seen.slice(0, 2), ["added a", `error ${want}`]);
  });
}

test("events that come in pieces, or many at once, are the same events", async (t) => {
  const { server, driver } = await driverFixture(t);
  const seen = follow(await watchTiers(driver, String(server.objects.revision)));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  const names = Array.from({ length: 50 }, (_, i) => `é-${i}`);
  const text = names
    .map((name, i) => JSON.stringify({ type: "ADDED", object: { metadata: { name, resourceVersion: `${10 + i}` } } }))
    .join("\n");
  const bytes = Buffer.from(`${text}\n`);
  for (let at = 0; at < bytes.length; at += 37) {
    server.sendToWatches(TIERS, bytes.subarray(at, at + 37));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until("they are there", () => seen.length === names.length);
  assert.deepEqual(
    seen,
    names.map((name) => `added ${name}`),
  );
});

test("an object without a name is reported and skipped; of a deleted one the reader is told that it is not known", async (t) => {
  const { server, driver, problems } = await driverFixture(t);
  const seen = follow(await watchTiers(driver, String(server.objects.revision)));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  const events = [
    { type: "ADDED", object: { metadata: { resourceVersion: "7" } } },
    { type: "ADDED", object: 5 },
    { type: "MODIFIED", object: { metadata: { name: "a", resourceVersion: "8" } } },
    { type: "DELETED", object: {} },
  ];
  server.sendToWatches(TIERS, events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  await until("all is read", () => seen.length === 3);
  assert.deepEqual(seen, ["bookmark 7", "modified a", "deleted ?"]);
  assert.equal(problems().length, 3);
});

test("pods that have no endpoint move the revision on, and many of them only once", async (t) => {
  const { server, driver } = await driverFixture(t);
  const pod = (name: string): StoredObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "n" },
    spec: {},
  });
  const seen = follow(await driver.watch({ kind: "WorkloadEndpoint", revision: "1", signal }));
  await until("the server has it", () => server.watchesOf("/api/v1/pods") === 1);
  const lines = Array.from({ length: 20 }, (_, i) => {
    const object = { ...pod(`p-${i}`), metadata: { name: `p-${i}`, namespace: "n", resourceVersion: `${i + 2}` } };
    return `${JSON.stringify({ type: "ADDED", object })}\n`;
  });
  server.sendToWatches("/api/v1/pods", lines.join(""));
  await until("they are read", () => seen.length === 1);
  assert.deepEqual(seen, ["bookmark 21"]);
});

const REFUSALS: readonly (readonly [code: number, reason: string, want: string])[] = [
  [410, "Expired", "DATASTORE_EXPIRED"],
  [429, "TooManyRequests", "DATASTORE_TOO_MANY_REQUESTS"],
  [403, "Forbidden", "DATASTORE_UNAUTHORIZED"],
  [404, "NotFound", "DATASTORE_NOT_FOUND"],
  [503, "ServiceUnavailable", "DATASTORE_CONNECTION_REFUSED"],
  [500, "InternalError", "DATASTORE_FAILED"],
];

for (const [code, reason, want] of REFUSALS) {
  test(`watch() rejects with ${want} when the server answers ${code}`, async (t) => {
    const { server, driver } = await driverFixture(t);
    server.faults.push((request, answer) => {
      if (request.path !== TIERS) return undefined;
      status(answer, code, reason, "no");
      return true;
    });
    assert.equal(await codeOf(watchTiers(driver, "1")), want);
  });
}

test("watch() of a kind from two lists closes the one when the other is refused", async (t) => {
  const { server, driver } = await driverFixture(t);
  server.forbidden.add("watch /api/v1/serviceaccounts");
  const { revision } = await listAll(driver, "Profile");
  assert.equal(await codeOf(driver.watch({ kind: "Profile", revision, signal })), "DATASTORE_UNAUTHORIZED");
  await until("the first one is closed", () => server.watchesOf("/api/v1/namespaces") === 0);
});

test("a watch of two lists ends when one of them does, and each goes on from its own part", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const object = (kind: string, name: string): StoredObject => ({
    apiVersion: "v1",
    kind,
    metadata: { name, ...(kind === "ServiceAccount" && { namespace: "n" }) },
  });
  server.put(object("Namespace", "n"));
  const { revision } = await listAll(driver, "Profile");
  const stream = await driver.watch({ kind: "Profile", revision, signal });
  await until("both are there", () => server.watchesOf("/api/v1/serviceaccounts") === 1);
  server.blackHole("/api/v1/serviceaccounts");
  server.put(object("ServiceAccount", "lost"));
  await clock.advance(60_000);
  server.put(object("Namespace", "m"));
  const [event] = (await stream.next()) ?? [];
  assert.ok(event?.type === "added");
  await clock.advance(30_000);
  assert.equal(await stream.next(), undefined);
  const parts = (event.revision ?? "").split("/");
  assert.deepEqual(parts, [String(server.objects.revision), revision.split("/")[1]]);
  const seen = follow(await driver.watch({ kind: "Profile", revision: event.revision ?? "", signal }));
  await until("what was missed is there", () => seen.length === 1);
  assert.deepEqual(seen, ["added ksa.n.lost"]);
});

test("a reader that does not read holds the server up, and loses nothing", async (t) => {
  const { server, driver, clock } = await driverFixture(t);
  const stream = await watchTiers(driver, String(server.objects.revision));
  await until("the server has it", () => server.watchesOf(TIERS) === 1);
  const filler = "x".repeat(100_000);
  const count = 300;
  for (let i = 0; i < count; i++) {
    const object = { metadata: { name: `t-${i}`, resourceVersion: `${10 + i}`, annotations: { filler } } };
    server.sendToWatches(TIERS, `${JSON.stringify({ type: "ADDED", object })}\n`);
  }
  let [unsent, turns] = [0, 0];
  await until("the server cannot send more", () => {
    const now = server.unsentBytes(TIERS);
    turns = now > 0 && now === unsent ? turns + 1 : 0;
    unsent = now;
    return turns > 200;
  });
  // This silence is not the server's.
  for (let i = 0; i < 5; i++) await clock.advance(100_000);
  const seen = follow(stream);
  await until("all is read", () => seen.length === count);
  assert.equal(seen.at(-1), `added t-${count - 1}`);
  stream.close();
});

test("probe() asks for as little as there is, past the limit of requests", async (t) => {
  const { server, driver } = await driverFixture(t, { qps: 0.001, burst: 1 });
  await driver.probe("KubernetesService", signal);
  await driver.probe("KubernetesService", signal);
  assert.deepEqual(asked(server.requests, "/api/v1/services"), ["list limit=1", "list limit=1"]);
});
