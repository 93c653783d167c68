import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ManualClock } from "@bulrush/base";
import type { ListPage, WatchEvent } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { datastoreCodeOf } from "../errors.ts";
import { ALL_WATCHES, type Event, EVENT_DELETE, EVENT_PUT } from "./client/messages.ts";
import { EtcdDriver } from "./etcd-driver.ts";
import { parseRevision } from "./revision.ts";
import { CLUSTER_ID, header, ScriptedEtcd, type ScriptedWatch, type Script } from "./testing/scripted-etcd.ts";

const NEVER = new AbortController().signal;
const IDLE_MS = 30_000;
const ANSWER_TIMEOUT_MS = 10_000;

interface World {
  readonly etcd: ScriptedEtcd;
  readonly driver: EtcdDriver;
  readonly clock: ManualClock;
}

const worlds: World[] = [];

async function makeWorld(script: Script = {}): Promise<World> {
  const etcd = await ScriptedEtcd.start({ onRange: () => ({ header: header(100) }), ...script });
  const clock = new ManualClock();
  const driver = new EtcdDriver({ type: "etcdv3", endpoints: [etcd.endpoint] }, { clock, random: () => 0 });
  const world = { etcd, driver, clock };
  worlds.push(world);
  return world;
}

after(async () => {
  for (const { etcd, driver } of worlds) {
    await driver.close();
    etcd.stop();
  }
});

/** A watch that stands at revision 100, and its server's end. */
async function openWatch(
  { etcd, driver }: World,
  revision = "100",
): Promise<{ readonly stream: Awaited<ReturnType<EtcdDriver["watch"]>>; readonly server: ScriptedWatch }> {
  const index = etcd.watches.length;
  const opening = driver.watch({ kind: "Tier", revision, signal: NEVER });
  const server = await etcd.watch(index);
  server.send({ created: true, header: header(100) });
  return { stream: await opening, server };
}

function put(name: string, mod_revision: number, create_revision: number = mod_revision): Event {
  const value = JSON.stringify({ kind: "Tier", apiVersion: "projectcalico.org/v3", metadata: { name }, spec: {} });
  const key = Buffer.from(`/calico/resources/v3/projectcalico.org/tiers/${name}`);
  return { type: EVENT_PUT, kv: { key, value: Buffer.from(value), mod_revision, create_revision } };
}

function gone(name: string, mod_revision: number): Event {
  const key = Buffer.from(`/calico/resources/v3/projectcalico.org/tiers/${name}`);
  return { type: EVENT_DELETE, kv: { key, value: Buffer.alloc(0), mod_revision, create_revision: 0 } };
}

function shown(events: readonly WatchEvent[] | undefined): string {
  return (events ?? [])
    .map((event) => {
      if (event.type === "error") return `error ${datastoreCodeOf(event.error)}`;
      const at = parseRevision(event.revision ?? "");
      assert.equal(at.clusterId, CLUSTER_ID);
      return event.type === "bookmark" ? `bookmark ${at.revision}` : `${event.type} ${event.item?.name}@${at.revision}`;
    })
    .join(", ");
}

test("watch() asks for what comes after its revision, in pieces and with progress", async () => {
  const { server, stream } = await openWatch(await makeWorld());
  const { create_request } = server.requests[0] ?? {};
  assert.equal(create_request?.start_revision, 101);
  assert.equal(create_request?.progress_notify, true);
  assert.equal(create_request?.fragment, true);
  assert.equal(create_request?.key.toString(), "/calico/resources/v3/projectcalico.org/tiers/");
  stream.close();
});

test("next() tells what was added, modified and deleted, in order", async () => {
  const { server, stream } = await openWatch(await makeWorld());
  server.send({ header: header(104), events: [put("a", 101), put("b", 102, 50), gone("a", 104)] });
  assert.equal(shown(await stream.next()), "added a@101, modified b@102, deleted a@104");
  stream.close();
  assert.equal(await stream.next(), undefined);
});

test("next() never gives a part of a revision, however an answer is cut", async () => {
  const { server, stream } = await openWatch(await makeWorld());
  const at = header(103);
  server.send({ header: at, fragment: true, events: [put("a", 101), put("b", 102)] });
  server.send({ header: at, fragment: true, events: [put("c", 102)] });
  server.send({ header: at, fragment: true, events: [put("d", 102), put("e", 103)] });
  server.send({ header: at, events: [put("f", 103)] });
  assert.equal(shown(await stream.next()), "added a@101");
  assert.equal(shown(await stream.next()), "added b@102, added c@102, added d@102");
  assert.equal(shown(await stream.next()), "added e@103, added f@103");
  stream.close();
});

test("next() of a stream that breaks between two pieces has given no part of a revision", async () => {
  const { server, stream } = await openWatch(await makeWorld());
  server.send({ header: header(103), fragment: true, events: [put("a", 101), put("b", 102)] });
  assert.equal(shown(await stream.next()), "added a@101");
  server.end();
  assert.equal(await stream.next(), undefined);
});

test("next() moves on with a bookmark when all events are of keys that are none of the kind", async () => {
  const { server, stream } = await openWatch(await makeWorld());
  server.send({ header: header(105), events: [put("a/b", 104)] });
  assert.equal(shown(await stream.next()), "bookmark 104");
  stream.close();
});

test("next() makes a bookmark of the progress that the server tells by itself", async () => {
  const { server, stream } = await openWatch(await makeWorld({ version: "3.4.1" }));
  server.send({ header: header(200) });
  assert.equal(shown(await stream.next()), "bookmark 200");
  stream.close();
});

// Before 3.4.25 and 3.5.8 a server could tell of its progress before it told of the events up to there.
for (const [version, isTrusted] of [
  ["3.4.24", false],
  ["3.4.25", true],
  ["3.5.7", false],
  ["3.5.8", true],
  ["3.6.0", true],
  ["gumbo", false],
] as const) {
  test(`next() asks a silent server for its progress, and ${isTrusted ? "takes" : "ignores"} the revision of ${version}`, async () => {
    const world = await makeWorld({ version });
    const { server, stream } = await openWatch(world);
    const next = stream.next();
    await world.clock.advance(IDLE_MS);
    await server.received(2);
    assert.deepEqual(server.requests[1]?.progress_request, {});
    server.send({ header: header(150), watch_id: ALL_WATCHES });
    server.send({ header: header(151), events: [put("a", 151)] });
    const first = shown(await next);
    assert.equal(first, isTrusted ? "bookmark 150" : "added a@151");
    stream.close();
  });
}

test("next() gives a half-open watch up, and the next one goes over a new connection", async () => {
  let revision = 100;
  const world = await makeWorld({ onRange: () => ({ header: header(revision) }) });
  const { stream } = await openWatch(world);
  const next = stream.next();
  // Something was written of which the watch does not tell.
  revision = 101;
  await world.clock.advance(IDLE_MS + ANSWER_TIMEOUT_MS);
  assert.equal(shown(await next), "error DATASTORE_TIMEOUT");
  assert.equal(await stream.next(), undefined);
  // The driver pauses after a failure; nothing failed that it knows of.
  const { stream: second, server } = await openWatch(world);
  server.send({ header: header(101), events: [put("a", 101)] });
  assert.equal(shown(await second.next()), "added a@101");
  second.close();
});

// A real etcd does so until the first write after the list.
test("next() stays with a server that tells no progress while nothing was written", async () => {
  const world = await makeWorld();
  const { stream, server } = await openWatch(world);
  const next = stream.next();
  await world.clock.advance(IDLE_MS + ANSWER_TIMEOUT_MS);
  // Its second question comes after it has learnt that nothing was written.
  await server.received(3);
  server.send({ header: header(101), events: [put("a", 101)] });
  assert.equal(shown(await next), "added a@101");
  stream.close();
});

test("next() does not count the time in which nobody reads as silence", async () => {
  const world = await makeWorld();
  const { stream, server } = await openWatch(world);
  await world.clock.advance(10 * IDLE_MS);
  server.send({ header: header(101), events: [put("a", 101)] });
  assert.equal(shown(await stream.next()), "added a@101");
  assert.equal(server.requests.length, 1);
  stream.close();
});

test("watch() that the server does not answer ends in time", async () => {
  const world = await makeWorld();
  const opening = world.driver.watch({ kind: "Tier", revision: "100", signal: NEVER });
  await world.etcd.watch(0);
  await Promise.all([
    assert.rejects(opening, (error) => datastoreCodeOf(error) === "DATASTORE_TIMEOUT"),
    world.clock.advance(ANSWER_TIMEOUT_MS),
  ]);
});

/** How a server ends a watch: what it sends, and what the reader is told. */
const ENDINGS: readonly (readonly [string, Parameters<ScriptedWatch["send"]>[0], string])[] = [
  ["compacted", { canceled: true, compact_revision: 120 }, "DATASTORE_EXPIRED"],
  ["refused", { canceled: true, cancel_reason: "rpc error: etcdserver: permission denied" }, "DATASTORE_UNAUTHORIZED"],
  ["for another reason", { canceled: true, cancel_reason: "gumbo" }, "DATASTORE_FAILED"],
];

for (const [name, response, code] of ENDINGS) {
  test(`next() says ${code} of a watch that ends: ${name}`, async () => {
    const { server, stream } = await openWatch(await makeWorld());
    server.send({ header: header(130), ...response });
    assert.equal(shown(await stream.next()), `error ${code}`);
    assert.equal(await stream.next(), undefined);
  });

  test(`watch() that is not to be is refused with ${code}: ${name}`, async () => {
    const world = await makeWorld();
    const opening = world.driver.watch({ kind: "Tier", revision: "100", signal: NEVER });
    (await world.etcd.watch(0)).send({ created: true, header: header(130), ...response });
    await assert.rejects(opening, (error) => datastoreCodeOf(error) === code);
  });
}

test("watch() of another cluster than the list was is refused, though its revision is higher", async () => {
  const world = await makeWorld();
  let revision = "";
  for await (const page of world.driver.list({ kind: "Tier", revision: "0", signal: NEVER })) ({ revision } = page);
  assert.equal(revision, `100@${CLUSTER_ID.toString(16)}`);
  const opening = world.driver.watch({ kind: "Tier", revision, signal: NEVER });
  (await world.etcd.watch(0)).send({ created: true, header: header(200, 7n) });
  await assert.rejects(opening, (error) => datastoreCodeOf(error) === "DATASTORE_EXPIRED");
});

test("list() that is to be newer than the cluster is refused, but not for the revision of another cluster", async () => {
  const { driver } = await makeWorld();
  const list = async (revision: string): Promise<void> => {
    for await (const page of driver.list({ kind: "Tier", revision, signal: NEVER })) assert.ok(page);
  };
  await list("100");
  await list("500@7");
  await assert.rejects(list("500"), (error) => datastoreCodeOf(error) === "DATASTORE_REVISION_TOO_LARGE");
});

test("full lists run one at a time; one of a single item does not wait", async () => {
  const asked: string[] = [];
  const { driver } = await makeWorld({
    onRange: ({ key }) => {
      asked.push(key.toString("utf8").split("/").slice(5).join("/"));
      return { header: header(100) };
    },
  });
  const list = (kind: DatastoreKind, name?: string): AsyncIterator<ListPage> =>
    driver.list({ kind, revision: "0", signal: NEVER, ...(name !== undefined && { name }) })[Symbol.asyncIterator]();
  const first = list("Tier");
  assert.equal((await first.next()).done, false);
  // The first is not at its end.
  const second = list("IPPool");
  const waiting = second.next();
  await list("BGPPeer", "p").next();
  assert.deepEqual(asked, ["tiers/", "bgppeers/p"]);
  assert.equal((await first.next()).done, true);
  await waiting;
  assert.deepEqual(asked, ["tiers/", "bgppeers/p", "ippools/"]);
  // One that its reader leaves is over as well.
  await second.return?.();
  assert.equal((await list("GlobalNetworkSet").next()).done, false);
});

test("watch() from a revision that the cluster has not reached is refused: it was set back", async () => {
  const world = await makeWorld();
  const opening = world.driver.watch({ kind: "Tier", revision: "500", signal: NEVER });
  (await world.etcd.watch(0)).send({ created: true, header: header(100) });
  await assert.rejects(opening, (error) => datastoreCodeOf(error) === "DATASTORE_REVISION_TOO_LARGE");
});

test("watch() at a member that lags behind its cluster stands", async () => {
  const world = await makeWorld({ onRange: () => ({ header: header(500) }) });
  const opening = world.driver.watch({ kind: "Tier", revision: "500", signal: NEVER });
  (await world.etcd.watch(0)).send({ created: true, header: header(100) });
  (await opening).close();
});

test("watch() from the beginning tells what is there first", async () => {
  const world = await makeWorld({
    onRange: () => ({
      header: header(100),
      kvs: [put("a", 90).kv, put("b", 95, 80).kv].filter((kv) => kv !== undefined),
    }),
  });
  const { server, stream } = await openWatch(world, "0");
  assert.equal(server.requests[0]?.create_request?.start_revision, 101);
  const events = await stream.next();
  assert.equal(shown(events), "added a@100, added b@100");
  assert.ok(events?.every((event) => event.type === "added" && event.revision === `100@${CLUSTER_ID.toString(16)}`));
  server.send({ header: header(101), events: [put("c", 101)] });
  assert.equal(shown(await stream.next()), "added c@101");
  stream.close();
});

test("a signal that aborts ends a watch that waits", async () => {
  const world = await makeWorld();
  const abort = new AbortController();
  const opening = world.driver.watch({ kind: "Tier", revision: "100", signal: abort.signal });
  (await world.etcd.watch(0)).send({ created: true, header: header(100, CLUSTER_ID) });
  const stream = await opening;
  const next = stream.next();
  abort.abort(new Error("Stopped"));
  assert.equal(await next, undefined);
});
