/** Connections that swallow everything and stay open, between a syncer and a real kube-apiserver or etcd. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@bulrush/base";
import {
  createSyncer,
  type DatastoreConfig,
  type DatastoreDriver,
  type DatastoreLogger,
  openDatastore,
  openDatastoreWriter,
  resourceIdOf,
  type Syncer,
} from "@bulrush/datastore";
import { CALICO_CRD_V1, CALICO_V3, type Resource, type SyncStatus, type Update } from "@bulrush/model";
import { CutProxy } from "../bad-input/cut-proxy.ts";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { KubeServer } from "../kube/kube-server.ts";

const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds", "crd.projectcalico.org");
const HOST = "127.0.0.1";
const clock = systemClock({ keepAlive: true });
/** Silence that counts as death. */
const IDLE_MS = 3000;
/** Until what was missed is there. Without a replacement it would take at least as long as an answer may, a minute. */
const LIMIT_MS = 40_000;

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function loggerTo(lines: Line[]): DatastoreLogger {
  const write = (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
    lines.push({ message, fields });
  };
  return { debug: write, info: write, warn: write, error: write };
}

/** A syncer of the felix stream, what it has told, and its log. */
class Follower {
  readonly known: Set<string> = new Set<string>();
  readonly deleted: string[] = [];
  readonly statuses: SyncStatus[] = [];
  readonly log: readonly Line[];
  readonly driver: DatastoreDriver;
  readonly syncer: Syncer;

  private constructor(driver: DatastoreDriver, logger: DatastoreLogger, log: readonly Line[]) {
    this.driver = driver;
    this.log = log;
    this.syncer = createSyncer("felix", {
      driver,
      clock,
      logger,
      callbacks: {
        onStatusUpdated: (status) => void this.statuses.push(status),
        onUpdates: (updates) => updates.forEach((update) => this.#take(update)),
      },
    });
    this.syncer.start();
  }

  static async start(config: DatastoreConfig): Promise<Follower> {
    const log: Line[] = [];
    const logger = loggerTo(log);
    return new Follower(await openDatastore(config, { clock, logger }), logger, log);
  }

  #take({ path, value }: Update): void {
    if (value !== undefined) this.known.add(path);
    else {
      this.known.delete(path);
      this.deleted.push(path);
    }
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    for (const startMs = performance.now(); !holds(); await sleep(20))
      assert.ok(performance.now() - startMs < LIMIT_MS, `In vain for ${LIMIT_MS / 1000} s: ${what}`);
  }

  /** Everything goes into black holes; meanwhile things change; what changed is told, and nothing else. */
  async survives(proxy: CutProxy, change: () => Promise<void>, made: readonly string[], gone: string): Promise<void> {
    await this.until("in sync", () => this.statuses.at(-1) === "in-sync");
    await this.until("the first state", () => this.known.has(gone));
    const statuses = this.statuses.length;
    assert.ok(proxy.blackHole() > 0);
    await change();
    await this.until("what was made meanwhile", () => made.every((path) => this.known.has(path)));
    await this.until("what was deleted meanwhile", () => this.deleted.includes(gone));
    assert.deepEqual(this.deleted.splice(0), [gone]);
    assert.deepEqual(this.statuses.slice(statuses), [], "A state that is known does not become unknown");
  }

  async stop(): Promise<void> {
    await this.syncer.stop();
    await this.driver.close();
  }
}

const tierPath = (name: string): string => `/calico/v1/policy/tier/${name}/metadata`;
const setPath = (name: string): string => `/calico/v1/netset/${name}`;

describe("a black-holed connection to a kube-apiserver", { skip: skipWithoutKube() }, () => {
  let kube: KubeServer;
  let proxy: CutProxy;
  before(async () => {
    kube = await KubeServer.start();
    await kube.admin.installCrds(CRDS);
    proxy = await CutProxy.start(0, { host: HOST, target: { host: HOST, port: kube.port } });
  });
  after(async () => {
    proxy.close();
    await kube.stop();
  });

  for (const listMode of ["auto", "paged"] as const) {
    test(`watches that are silent are replaced at once on connections that are new, lists ${listMode}`, async () => {
      const calico = (kind: string, name: string, spec: object = {}) => ({
        apiVersion: CALICO_CRD_V1,
        kind,
        metadata: { name: `${name}-${listMode}` },
        spec,
      });
      await kube.admin.create(calico("Tier", "old", { order: 1 }));
      const follower = await Follower.start({
        type: "kubernetes",
        kubeconfig: [kube.kubeconfig],
        server: `https://${HOST}:${proxy.port}`,
        watchIdleTimeoutMs: IDLE_MS,
        listMode,
        qps: 100,
      });
      try {
        await follower.until("in sync", () => follower.statuses.at(-1) === "in-sync");
        // Connections that wait for their next request go down with the rest.
        await Promise.all(
          Array.from({ length: 12 }, () => follower.driver.probe("Node", AbortSignal.timeout(LIMIT_MS))),
        );
        await follower.survives(
          proxy,
          async () => {
            await kube.admin.create(calico("Tier", "new", { order: 2 }));
            await kube.admin.create(calico("GlobalNetworkSet", "new", { nets: ["10.0.0.0/8"] }));
            await kube.admin.delete(calico("Tier", "old"));
          },
          [tierPath(`new-${listMode}`), setPath(`new-${listMode}`)],
          tierPath(`old-${listMode}`),
        );
        const said = follower.log.filter(({ message }) => message === "A watch was silent and is replaced");
        assert.ok(said.length > 0);
        for (const { fields } of said) assert.equal(fields["idleMs"], IDLE_MS);
      } finally {
        await follower.stop();
      }
    });
  }
});

describe("a black-holed connection to an etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let proxy: CutProxy;
  before(async () => {
    etcd = await EtcdServer.start();
    proxy = await CutProxy.start(0, { host: HOST, target: { host: HOST, port: etcd.port } });
  });
  after(async () => {
    proxy.close();
    await etcd.stop();
  });

  test("watches that do not say how far they are are replaced", async () => {
    const resource = (kind: string, name: string, spec: object): Resource =>
      ({ apiVersion: CALICO_V3, kind, metadata: { name }, spec }) as Resource;
    const writer = await openDatastoreWriter({ type: "etcdv3", endpoints: [etcd.endpoint] }, { clock });
    const soon = (): AbortSignal => AbortSignal.timeout(LIMIT_MS);
    const old = resource("Tier", "old", { order: 1 });
    await writer.create(old, soon());
    const follower = await Follower.start({
      type: "etcdv3",
      endpoints: [`http://${HOST}:${proxy.port}`],
      watchIdleMs: IDLE_MS / 3,
      watchAnswerTimeoutMs: IDLE_MS / 3,
    });
    try {
      await follower.survives(
        proxy,
        async () => {
          await writer.create(resource("Tier", "new", { order: 2 }), soon());
          await writer.create(resource("GlobalNetworkSet", "new", { nets: ["10.0.0.0/8"] }), soon());
          await writer.delete(resourceIdOf(old), undefined, soon());
        },
        [tierPath("new"), setPath("new")],
        tierPath("old"),
      );
      const said = follower.log.filter(({ fields }) => fields["code"] === "DATASTORE_TIMEOUT");
      assert.ok(said.length > 0, "Nobody said what was wrong");
      await follower.until("all in order again", () =>
        follower.syncer.report().every(({ reason, code }) => reason === undefined || code === "DATASTORE_NOT_FOUND"),
      );
    } finally {
      await follower.stop();
      await writer.close();
    }
  });
});
