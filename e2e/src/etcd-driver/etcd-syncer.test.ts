import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@bulrush/base";
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
import { TcpProxy } from "./tcp-proxy.ts";
import { calico, openDriver, openWriter, soon } from "./world.ts";

const clock = systemClock({ keepAlive: true });

/** What a client of a syncer knows. */
class Follower {
  readonly state = new Map<string, unknown>();
  readonly deleted: string[] = [];
  readonly statuses: SyncStatus[] = [];
  readonly syncer: Syncer;

  constructor(type: SyncerType, driver: DatastoreDriver, nodeName = "") {
    const callbacks = {
      onStatusUpdated: (status: SyncStatus) => void this.statuses.push(status),
      onUpdates: (updates: readonly Update[]) => updates.forEach((update) => this.#apply(update)),
    };
    this.syncer = createSyncer(type, { driver, clock, callbacks, nodeName });
    this.syncer.start();
  }

  /** Waits until what it knows is `want`. */
  async reaches(want: () => Promise<ReadonlyMap<string, unknown>>, limitMs = 30_000): Promise<void> {
    for (const startMs = performance.now(); ; ) {
      const wanted = await want();
      try {
        assert.equal(this.statuses.at(-1), "in-sync");
        assert.deepEqual(this.state, wanted);
        return;
      } catch (error) {
        if (performance.now() - startMs > limitMs) throw error;
      }
      await sleep(100);
    }
  }

  #apply({ key, value }: Update): void {
    const path = formatKey(key);
    if (value === undefined) {
      this.state.delete(path);
      this.deleted.push(path);
    } else this.state.set(path, value);
  }
}

const KINDS = ["GlobalNetworkPolicy", "NetworkPolicy", "GlobalNetworkSet", "NetworkSet", "Tier", "Profile", "IPPool"];

describe("a syncer on a real etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let proxy: TcpProxy;
  let writer: DatastoreWriter;
  let driver: DatastoreDriver;
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
    driver = await openDriver(settings);
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
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      return seed % below;
    };
    const felix = follow("felix");
    await felix.reaches(wanted);
    const removed = new Set<string>();
    for (let i = 0; i < 300; i++) {
      if (i === 80) await etcd.daemon.restart();
      if (i === 160) {
        etcd.daemon.pause();
        await sleep(1500);
        etcd.daemon.resume();
      }
      // Changes that nobody sees, and that are forgotten before somebody asks.
      if (i === 220) proxy.cut();
      if (i === 280) {
        await etcd.compact();
        proxy.mend();
      }
      const kind = KINDS[random(KINDS.length)] ?? "";
      const n = random(12);
      const resource = randomResource(kind, n, i);
      const id = resourceIdOf(resource);
      const known = await writer.get(id, soon());
      if (known === undefined) await writer.create(resource, soon());
      else if (random(3) > 0) await writer.update(resource, known.revision, soon());
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
    const keysOf = async (follower: Follower, want: readonly string[]): Promise<void> => {
      const sorted = [...want].sort();
      for (const startMs = performance.now(); performance.now() - startMs < 20_000; ) {
        if (follower.statuses.at(-1) === "in-sync") break;
        await sleep(50);
      }
      assert.deepEqual([...follower.state.keys()].sort(), sorted);
    };
    await keysOf(bgp, [
      ...pools,
      `${v3}/nodes/n1`,
      `${v3}/nodes/n2`,
      `${v3}/bgppeers/peer`,
      "/calico/ipam/v2/host/n1/ipv4/block/10.1.0.0-26",
    ]);
    await keysOf(tunnel, [...pools, `${v3}/nodes/n2`]);
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
