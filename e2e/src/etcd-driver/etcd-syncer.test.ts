import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { seededRandom, systemClock } from "@bulrush/base";
import {
  convertResources,
  createSyncer,
  type DatastoreDriver,
  type DatastoreWriter,
  ensureInitialized,
  resourceIdOf,
  type Syncer,
} from "@bulrush/datastore";
import { formatKey, type Resource, type SyncStatus, type SyncerType, type Update } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { Choices } from "../random/choices.ts";
import { TcpProxy } from "./tcp-proxy.ts";
import { calico, openDriver, openWriter, soon } from "./world.ts";

const clock = systemClock({ keepAlive: true });

/** Far more than it takes on a busy machine. */
const LIMIT_MS = 60_000;

/** What is waited for, and wakes who waits. */
class Changes {
  #next = Promise.withResolvers<void>();

  happen(): void {
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }

  /** Returns once `isSo`, asked now and after each change. Rejects in the end with what `isSo` threw last. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const signal = AbortSignal.timeout(LIMIT_MS);
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    signal.addEventListener("abort", () => reject(new Error("It did not happen in time")));
    for (;;) {
      const next = this.#next.promise;
      if (await isSo()) return;
      await Promise.race([next, promise]);
    }
  }
}

/** What a client of a syncer knows. */
class Follower {
  readonly state = new Map<string, unknown>();
  readonly deleted: string[] = [];
  readonly statuses: SyncStatus[] = [];
  readonly syncer: Syncer;
  readonly #changes = new Changes();

  constructor(type: SyncerType, driver: DatastoreDriver, nodeName = "") {
    const callbacks = {
      onStatusUpdated: (status: SyncStatus) => {
        this.statuses.push(status);
        this.#changes.happen();
      },
      onUpdates: (updates: readonly Update[]) => {
        for (const update of updates) this.#apply(update);
        this.#changes.happen();
      },
    };
    this.syncer = createSyncer(type, { driver, clock, callbacks, nodeName });
    this.syncer.start();
  }

  /** Waits until it is in sync and what it knows is `want`; says what it knows instead. */
  async reaches(want: () => Promise<ReadonlyMap<string, unknown>>): Promise<void> {
    try {
      await this.#changes.until(
        async () => this.statuses.at(-1) === "in-sync" && isDeepStrictEqual(this.state, await want()),
      );
    } catch {
      assert.equal(this.statuses.at(-1), "in-sync");
      assert.deepEqual(this.state, await want());
    }
  }

  /** Waits until it is in sync; it must know exactly these then. */
  async hasKeys(want: readonly string[]): Promise<void> {
    await this.#changes.until(() => this.statuses.at(-1) === "in-sync");
    assert.deepEqual([...this.state.keys()].sort(), [...want].sort());
  }

  #apply({ key, value }: Update): void {
    const path = formatKey(key);
    if (value === undefined) {
      this.state.delete(path);
      this.deleted.push(path);
    } else this.state.set(path, value);
  }
}

/** A driver that says when somebody watches. */
function withWatchCount(driver: DatastoreDriver, onWatch: () => void): DatastoreDriver {
  return {
    type: driver.type,
    ...(driver.usePodCIDR !== undefined && { usePodCIDR: driver.usePodCIDR }),
    list: (request) => driver.list(request),
    watch: (request) => {
      onWatch();
      return driver.watch(request);
    },
    probe: (kind, signal) => driver.probe(kind, signal),
    problems: () => driver.problems(),
    close: () => driver.close(),
  };
}

const KINDS = ["GlobalNetworkPolicy", "NetworkPolicy", "GlobalNetworkSet", "NetworkSet", "Tier", "Profile", "IPPool"];

describe("a syncer on a real etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let proxy: TcpProxy;
  let writer: DatastoreWriter;
  let driver: DatastoreDriver;
  let watches = 0;
  const watched = new Changes();
  const syncers: Syncer[] = [];
  const follow = (type: SyncerType, nodeName?: string): Follower => {
    const follower = new Follower(type, driver, nodeName);
    syncers.push(follower.syncer);
    return follower;
  };

  before(async () => {
    etcd = await EtcdServer.start();
    proxy = await TcpProxy.start(etcd.port);
    writer = await openWriter({ endpoints: [etcd.endpoint] });
    const settings = { endpoints: [proxy.endpoint], watchIdleMs: 200, watchAnswerTimeoutMs: 500, pageItems: 20 };
    driver = withWatchCount(await openDriver(settings), () => {
      watches++;
      watched.happen();
    });
    await ensureInitialized(writer, {
      version: "v3.32.0",
      clusterType: "lab",
      clock,
      signal: soon(),
      newGuid: () => "0".repeat(32),
    });
  });
  after(async () => {
    await Promise.all(syncers.map((syncer) => syncer.stop()));
    await driver.close();
    await writer.close();
    proxy.stop();
    await etcd.stop();
  });

  const stored = async (): Promise<Resource[]> => {
    const all: Resource[] = [];
    for (const kind of [...KINDS, "ClusterInformation", "Node", "IPAMBlock", "BlockAffinity"]) {
      const type = { apiVersion: "projectcalico.org/v3", kind };
      for await (const page of writer.list(type, soon())) all.push(...page.map(({ resource }) => resource));
    }
    return all;
  };

  /** What a fresh look at the store says that the felix syncer must have sent. */
  const wanted = async (): Promise<Map<string, unknown>> =>
    new Map(convertResources(await stored()).updates.map(({ path, value }) => [path, value]));

  test("felix: after random changes, restarts, silence and compactions it knows what a fresh list says", async () => {
    const choices = new Choices(seededRandom(7));
    const felix = follow("felix");
    await felix.reaches(wanted);
    const removed = new Set<string>();
    for (let i = 0; i < 300; i++) {
      if (i === 80) await etcd.daemon.restart();
      if (i === 160) {
        await felix.reaches(wanted);
        etcd.daemon.pause();
        // The silence is noticed: somebody watches anew.
        const before = watches;
        await watched.until(() => watches > before);
        etcd.daemon.resume();
      }
      // Changes that nobody sees, and that are forgotten before somebody asks.
      if (i === 220) proxy.cut();
      if (i === 280) {
        await etcd.compact();
        proxy.mend();
      }
      const kind = choices.pick(KINDS);
      const n = choices.below(12);
      const resource = randomResource(kind, n, i);
      const id = resourceIdOf(resource);
      const known = await writer.get(id, soon());
      if (known === undefined) await writer.create(resource, soon());
      else if (choices.chance(2 / 3)) await writer.update(resource, known.revision, soon());
      else {
        for (const { path } of convertResources([known.resource]).updates) removed.add(path);
        await writer.delete(id, known.revision, soon());
      }
    }
    await felix.reaches(wanted);
    for (const path of felix.deleted) assert.ok(removed.has(path), `${path} was deleted by nobody`);
    assert.ok(felix.deleted.length > 0);
    // The compaction was felt: kinds had to list again.
    assert.ok(felix.statuses.filter((status) => status === "resync").length > 1, felix.statuses.join());
  });

  test("bgp and tunnel-ip-allocation: pools, nodes and the affinities of one node", async () => {
    for (const name of ["n1", "n2"]) {
      await writer.create(calico("Node", name), soon());
      const affinity = {
        node: name,
        type: "host",
        state: "confirmed",
        cidr: name === "n1" ? "10.1.0.0/26" : "10.2.0.0/26",
      };
      await writer.create(calico("BlockAffinity", `${name}-x`, "", affinity), soon());
    }
    await writer.create(calico("BGPPeer", "peer", "", { peerIP: "10.0.0.9", asNumber: 64_512 }), soon());
    const bgp = follow("bgp", "n1");
    const tunnel = follow("tunnel-ip-allocation", "n2");
    const pools = [...(await wanted()).keys()].filter((path) => path.startsWith("/calico/v1/ipam/"));
    const v3 = "/calico/resources/v3/projectcalico.org";
    await bgp.hasKeys([
      ...pools,
      `${v3}/nodes/n1`,
      `${v3}/nodes/n2`,
      `${v3}/bgppeers/peer`,
      "/calico/ipam/v2/host/n1/ipv4/block/10.1.0.0-26",
    ]);
    await tunnel.hasKeys([...pools, `${v3}/nodes/n2`]);
  });
});

function randomResource(kind: string, n: number, salt: number): Resource {
  const name = `r${n}`;
  switch (kind) {
    case "GlobalNetworkPolicy":
      return calico(kind, name, "", { order: salt, selector: `x == "${salt}"`, ingress: [{ action: "Allow" }] });
    case "NetworkPolicy":
      return calico(kind, name, `ns${n % 3}`, { order: salt, egress: [{ action: "Deny" }] });
    case "NetworkSet":
      return calico(kind, name, `ns${n % 3}`, { nets: [`10.${n}.${salt % 200}.0/24`] });
    case "GlobalNetworkSet":
      return calico(kind, name, "", { nets: [`10.${n}.${salt % 200}.0/24`] }, { salt: String(salt) });
    case "Tier":
      return calico(kind, name, "", { order: salt, defaultAction: "Pass" });
    case "Profile":
      return calico(kind, name, "", { labelsToApply: { salt: String(salt) }, ingress: [{ action: "Allow" }] });
    default:
      // Some share a CIDR.
      return calico(kind, name, "", { cidr: `10.${n % 5}.0.0/16`, natOutgoing: salt % 2 === 0, blockSize: 26 });
  }
}
