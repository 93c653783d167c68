import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SyncStatus, Update } from "@bulrush/model";
import { createSyncer, type Syncer } from "../../syncer/syncer.ts";
import { type DriverFixture, driverFixture, service, SERVICES, tier, TIERS, until } from "../testing/driver-fixture.ts";
import { type FakeApiServer, status } from "../testing/fake-api-server.ts";
import type { StoredObject } from "../testing/fake-objects.ts";

const V1 = "/apis/crd.projectcalico.org/v1";

interface Running extends DriverFixture {
  readonly syncer: Syncer;
  readonly statuses: SyncStatus[];
  /** Paths and types of updates, oldest first. */
  readonly updates: string[];
  /** What the updates so far come to: path to value. */
  readonly state: Map<string, Update["value"]>;
}

/** A felix syncer on a fake API server, prepared by `prepare`. */
async function running(t: TestContext, prepare: (fixture: DriverFixture) => void): Promise<Running> {
  const fixture = await driverFixture(t, { burst: 1000 });
  prepare(fixture);
  const statuses: SyncStatus[] = [];
  const updates: string[] = [];
  const state = new Map<string, Update["value"]>();
  const syncer = createSyncer("felix", {
    driver: fixture.driver,
    clock: fixture.clock,
    callbacks: {
      onStatusUpdated: (status) => {
        statuses.push(status);
      },
      onUpdates: (batch) => {
        for (const { path, type, value } of batch) {
          updates.push(`${type} ${path}`);
          if (value === undefined) state.delete(path);
          else state.set(path, value);
        }
      },
    },
  });
  syncer.start();
  t.after(() => syncer.stop());
  return { ...fixture, syncer, statuses, updates, state };
}

/** How often a list was read; a probe is none. */
function listsOf(server: FakeApiServer, root: string): number {
  const lists = server.requests.filter(({ path, query }) => path === root && !query.has("watch"));
  return lists.filter(({ query }) => query.get("limit") !== "1").length;
}

/** Where the watches of a list began, oldest first. */
function watchedFrom(server: FakeApiServer, root: string): (string | null)[] {
  return server.requests
    .filter(({ path, query }) => path === root && query.has("watch"))
    .map(({ query }) => query.get("resourceVersion"));
}

function policy(name: string, spec: unknown): StoredObject {
  return {
    apiVersion: "crd.projectcalico.org/v1",
    kind: "GlobalNetworkPolicy",
    metadata: { name },
    spec,
  } as StoredObject;
}

test("half of the CRDs missing, one kind forbidden and one malformed object: the rest flows, and each is said in words", async (t) => {
  const { server, syncer, statuses, state } = await running(t, ({ server: api }) => {
    for (const plural of ["ippools", "hostendpoints", "networksets", "bgppeers", "globalnetworksets"])
      api.served.delete(`${V1}/${plural}`);
    api.forbidden.add(SERVICES);
    api.put(tier("prod"));
    api.put(policy("good", { selector: "all()", tier: "prod", ingress: [{ action: "Allow" }] }));
    api.put(policy("bad", { selector: "a ==", tier: "prod", ingress: [{ action: "Allow" }] }));
  });
  const kinds = () => new Map(syncer.report().map((entry) => [entry.kind, entry] as const));
  await until("all but one kind is in sync", () => {
    const notYet = [...kinds().values()].filter(({ status }) => status !== "in-sync");
    return notYet.length === 1;
  });
  assert.equal(statuses.includes("in-sync"), false);
  const report = kinds();
  assert.match(report.get("KubernetesService")?.reason ?? "", /^List failed: List services: services is forbidden/);
  assert.equal(report.get("KubernetesService")?.sinceMs, 1_000_000);
  assert.equal(report.get("IPPool")?.reason, "The server has no ippools of crd.projectcalico.org/v1");
  assert.match(
    report.get("LiveMigration")?.reason ?? "",
    /The server has no virtualmachineinstancemigrations of kubevirt\.io\/v1/,
  );
  assert.equal(report.get("Tier")?.reason, undefined);
  assert.deepEqual(
    syncer.problems().map(({ kind, name, field }) => `${kind ?? ""} ${name ?? ""} ${field ?? ""}`),
    ["GlobalNetworkPolicy bad spec.selector"],
  );
  server.put(tier("more"));
  await until("a change arrives", () => state.has("/calico/v1/policy/tier/more/metadata"));
  assert.ok(state.has("/calico/v1/policy/GlobalNetworkPolicy//good"));
  // Closed, not absent: what it would have stopped stays stopped.
  assert.ok(state.has("/calico/v1/policy/GlobalNetworkPolicy//bad"));
});

test("a CRD that is installed later is read within seconds; its reason goes away", async (t) => {
  const { server, clock, syncer, statuses, state } = await running(t, ({ server: api }) => {
    api.served.delete(TIERS);
  });
  const reason = (): string | undefined => syncer.report().find(({ kind }) => kind === "Tier")?.reason;
  await until("in sync", () => statuses.at(-1) === "in-sync");
  await until("it says so", () => reason() === "The server has no tiers of crd.projectcalico.org/v1");
  server.served.set(TIERS, {
    apiVersion: "crd.projectcalico.org/v1",
    kind: "Tier",
    plural: "tiers",
    namespaced: false,
  });
  server.put(tier("late"));
  await clock.advance(5000);
  await until("it is read", () => state.has("/calico/v1/policy/tier/late/metadata"));
  await until("nothing is amiss", () => reason() === undefined);
  assert.equal(statuses.at(-1), "in-sync");
});

test("a black-holed watch is replaced in time, and nothing is listed or deleted for it", async (t) => {
  const { server, clock, statuses, updates, state } = await running(t, ({ server: api }) => {
    api.put(service("a"));
    api.put(service("b"));
  });
  await until("in sync", () => statuses.at(-1) === "in-sync");
  await until("watched", () => server.watchesOf(SERVICES) === 1);
  const before = updates.length;
  server.blackHole(SERVICES);
  server.remove(service("a"));
  for (let i = 0; i < 10; i++) await clock.advance(10_000);
  await until("the change is there", () => updates.length > before);
  const path = "/calico/resources/v3/projectcalico.org/kubernetesservices/n/a";
  assert.deepEqual(updates.slice(before), [`deleted ${path}`]);
  assert.ok(state.has(path.replace(/a$/, "b")));
  assert.equal(listsOf(server, SERVICES), 1);
});

test("an API server that goes away and comes back costs no deletes, and what changed meanwhile is told", async (t) => {
  const { server, clock, statuses, updates } = await running(t, ({ server: api }) => {
    for (let i = 0; i < 20; i++) api.put(service(`s-${i}`));
  });
  await until("in sync", () => statuses.at(-1) === "in-sync");
  await until("watched", () => server.watchesOf(SERVICES) === 1);
  const before = updates.length;
  const { port } = server;
  await server.stop();
  for (let i = 0; i < 30; i++) await clock.advance(1000);
  server.remove(service("s-3"));
  server.put(service("s-new"));
  await server.start(port);
  for (let i = 0; i < 30; i++) await clock.advance(1000);
  await until("the changes are there", () => updates.length >= before + 2);
  const prefix = "/calico/resources/v3/projectcalico.org/kubernetesservices/n/";
  assert.deepEqual(updates.slice(before), [`deleted ${prefix}s-3`, `new ${prefix}s-new`]);
  // Nothing was listed again: the watch goes on where it was.
  assert.equal(listsOf(server, SERVICES), 1);
});

test("a history that is forgotten costs a list, and only real changes are told", async (t) => {
  const { server, clock, statuses, updates } = await running(t, ({ server: api }) => {
    for (let i = 0; i < 20; i++) api.put(service(`s-${i}`));
  });
  await until("in sync", () => statuses.at(-1) === "in-sync");
  await until("watched", () => server.watchesOf(SERVICES) === 1);
  const before = updates.length;
  server.blackHole(SERVICES);
  server.remove(service("s-3"));
  server.put(service("s-new"));
  server.objects.compact();
  for (let i = 0; i < 100; i++) await clock.advance(1000);
  await until("the changes are there", () => updates.length >= before + 2);
  const prefix = "/calico/resources/v3/projectcalico.org/kubernetesservices/n/";
  assert.deepEqual(updates.slice(before).sort(), [`deleted ${prefix}s-3`, `new ${prefix}s-new`]);
});

test("a watch that ends after a bookmark goes on from the bookmark", async (t) => {
  const { server, clock, statuses } = await running(t, ({ server: api }) => {
    api.put(service("a"));
  });
  await until("in sync", () => statuses.at(-1) === "in-sync");
  await until("watched", () => server.watchesOf(SERVICES) === 1);
  for (let i = 0; i < 5; i++) server.put(tier(`t-${i}`));
  server.bookmark(SERVICES);
  server.endWatches(SERVICES);
  await until("ended", () => server.watchesOf(SERVICES) === 0);
  for (let i = 0; i < 5; i++) await clock.advance(500);
  await until("watched again", () => server.watchesOf(SERVICES) === 1);
  assert.equal(watchedFrom(server, SERVICES).at(-1), String(server.objects.revision));
  assert.equal(listsOf(server, SERVICES), 1);
});

test("five watch errors at one revision cost a list, with growing pauses between them", async (t) => {
  const { server, clock, statuses } = await running(t, ({ server: api }) => {
    api.put(service("a"));
    api.faults.push((request, answer) => {
      if (request.path !== SERVICES || !request.query.has("watch")) return undefined;
      status(answer, 500, "InternalError", "no");
      return true;
    });
  });
  await until("in sync", () => statuses.at(-1) === "in-sync");
  const watches = (): number => watchedFrom(server, SERVICES).length;
  // Each try must have been answered before time goes on.
  for (let want = 1; want <= 5; want++) {
    for (let i = 0; i < 30 && watches() < want; i++) await clock.advance(500);
    await until("it was tried", () => watches() >= want);
    assert.equal(listsOf(server, SERVICES), 1);
  }
  for (let i = 0; i < 30 && listsOf(server, SERVICES) < 2; i++) await clock.advance(500);
  await until("listed again", () => listsOf(server, SERVICES) === 2);
  assert.equal(new Set(watchedFrom(server, SERVICES).slice(0, 5)).size, 1);
});

test("a native kind that the server does not have counts as empty, and is asked for once", async (t) => {
  const { server, clock, syncer, statuses } = await running(t, () => undefined);
  await until("in sync", () => statuses.at(-1) === "in-sync");
  assert.deepEqual(statuses, ["wait-for-ready", "resync", "in-sync"]);
  const path = "/apis/kubevirt.io/v1/virtualmachineinstancemigrations";
  await until("it says so", () => syncer.report().find(({ kind }) => kind === "LiveMigration")?.reason !== undefined);
  assert.equal(listsOf(server, path), 1);
  await clock.advance(20_000);
  assert.equal(listsOf(server, path), 1);
});
