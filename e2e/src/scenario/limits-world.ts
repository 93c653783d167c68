import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ManualClock, must, systemClock } from "@bulrush/base";
import {
  type DatastoreDriver,
  type DatastoreWriter,
  type KubernetesDatastoreConfig,
  openDatastore,
  openDatastoreWriter,
} from "@bulrush/datastore";
import { CALICO_V3 } from "@bulrush/model";
import { createMetrics, HealthAggregator, silentLogger } from "@bulrush/service";
import { createSyncClient, type ServerAddress, type SyncClient } from "@bulrush/sync-client";
import { createTypha, loadTyphaConfig, RANDOM_PORT, type StatusView, type Typha } from "@bulrush/typha";
import type { KubeObject } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";

const NAMESPACE = "calico-system";
const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
/** Of the lab's clock, between two looks at the sockets. */
const STEP_MS = 200;
/** Turns of the event loop in which everybody in this process reads and writes what is there. */
const TURNS = 20;
const REAL_LIMIT_MS = 120_000;

interface LimitsTypha {
  readonly name: string;
  readonly typha: Typha;
  readonly port: number;
  readonly adminPort: number;
}

/**
 * Typhas and clients in this process, on real sockets and with a real kube-apiserver, on one clock that moves only when
 * everybody has had their turn: five minutes pass in seconds, and nothing times out because a machine is slow.
 *
 *     KubeServer <-- EndpointSlices (written here, as the controller would), Nodes
 *         ^   \--watch--> Typha 1..3 <--felix streams-- clients
 *         |                  \-- load of one another --/
 *     ManualClock: pass(minutes) in steps of 200 ms
 */
export class LimitsWorld {
  readonly clock: ManualClock = new ManualClock(Date.now());
  readonly #kube: KubeServer;
  readonly #config: KubernetesDatastoreConfig;
  readonly #typhas: LimitsTypha[] = [];
  readonly #clients: SyncClient[] = [];
  #servers: readonly ServerAddress[] = [];
  #serial = 0;
  #nodes = 0;
  /** Requests to the API server that the clock waits for. */
  #underWay = 0;

  private constructor(kube: KubeServer) {
    this.#kube = kube;
    this.#config = { type: "kubernetes", kubeconfig: [kube.kubeconfig], apiGroup: CALICO_V3, qps: 1000, burst: 1000 };
  }

  static async start(): Promise<LimitsWorld> {
    const kube = await KubeServer.start();
    for (const group of ["projectcalico.org", "policy.networking.k8s.io"])
      await kube.admin.installCrds(join(CRDS, group));
    await kube.admin.createNamespace(NAMESPACE);
    return new LimitsWorld(kube);
  }

  get typhas(): number {
    return this.#typhas.length;
  }

  get nodes(): number {
    return this.#nodes;
  }

  /** A new Typha; resolves when its endpoint is ready. */
  async startTypha(settings: Readonly<Record<string, string>>): Promise<void> {
    const name = `typha-${++this.#serial}`;
    const health = new HealthAggregator(this.clock);
    const { values } = loadTyphaConfig({
      env: {
        TYPHA_CONNECTIONREBALANCINGMODE: "kubernetes",
        TYPHA_K8SNAMESPACE: NAMESPACE,
        TYPHA_STALEAFTERSECS: "0",
        TYPHA_SHUTDOWNTIMEOUTSECS: "60",
        ...settings,
      },
    });
    const typha = createTypha(
      { ...values, ServerHost: FABRIC_ADDRESS, ServerPort: RANDOM_PORT, AdminPort: RANDOM_PORT },
      {
        clock: this.clock,
        random: Math.random,
        newEpoch: () => `${name}-${Math.random()}`,
        logger: silentLogger,
        metrics: createMetrics(),
        health,
        openDatastore: async () => withoutProbes(await openDatastore(this.#config, { clock: systemClock() })),
        openWriter: () => openDatastoreWriter(this.#config, { clock: systemClock() }),
        openServices: async () => this.#counted(await openDatastoreWriter(this.#config, { clock: systemClock() })),
        serverName: name,
      },
    );
    typha.start();
    const [{ port }, admin] = await Promise.all([typha.listening, typha.adminListening]);
    this.#typhas.push({ name, typha, port, adminPort: must(admin, "an admin API").port });
    await this.until(`${name} is ready`, () => health.summary().ready);
    await this.#kube.admin.create(sliceOf(name, port, true));
    this.#servers = [...this.#servers, { host: FABRIC_ADDRESS, port }];
  }

  /** The oldest one ends, as Kubernetes ends it. */
  async stopTypha(): Promise<void> {
    const { name, typha, port } = must(this.#typhas.shift(), "a Typha");
    this.#servers = this.#servers.filter((server) => server.port !== port);
    await this.#kube.admin.replace(sliceOf(name, port, false));
    let isOver = false;
    const stopped = typha.stop().then(() => (isOver = true));
    await this.until(`${name} has ended`, () => isOver);
    await stopped;
    await this.#kube.admin.delete(sliceOf(name, port, false));
  }

  /** As many nodes, known to all Typhas. */
  async setNodes(count: number): Promise<void> {
    const step = async (from: number, to: number, act: (name: string) => Promise<unknown>): Promise<void> => {
      for (let at = from; at < to; at += 32) {
        const names = Array.from({ length: Math.min(32, to - at) }, (_, i) => `node-${at + i}`);
        await Promise.all(names.map(act));
      }
    };
    const { admin } = this.#kube;
    await step(this.#nodes, count, (name) => admin.create({ apiVersion: "v1", kind: "Node", metadata: { name } }));
    await step(count, this.#nodes, (name) => admin.delete({ apiVersion: "v1", kind: "Node", metadata: { name } }));
    this.#nodes = count;
  }

  addClients(count: number): void {
    for (let i = 0; i < count; i++) {
      const client = createSyncClient({
        servers: () => Promise.resolve(this.#servers),
        hostname: `host-${this.#clients.length}`,
        info: "limits",
        syncer: "felix",
        clock: this.clock,
        random: Math.random,
        callbacks: {
          onUpdates: () => undefined,
          onStatusUpdated: () => undefined,
          onSequence: (sequence) => client.ack(sequence),
        },
      });
      this.#clients.push(client);
      client.start();
    }
  }

  /** How often each client has been taken by a server. */
  connects(): readonly number[] {
    return this.#clients.map((client) => client.state().counts.connects);
  }

  /** How many times clients have gone from one server to another without a moment in between. */
  get moves(): number {
    return this.#clients.reduce((sum, client) => sum + client.state().counts.moves, 0);
  }

  /** Keys that clients had to remove because a new server did not have them. */
  get madeUpDeletes(): number {
    return this.#clients.reduce((sum, client) => sum + client.state().counts.madeUpDeletes, 0);
  }

  async statuses(): Promise<readonly StatusView[]> {
    const answers = this.#typhas.map(async ({ adminPort }) => fetch(`http://127.0.0.1:${adminPort}/api/v1/status`));
    return Promise.all(answers.map(async (answer) => (await (await answer).json()) as StatusView));
  }

  /** All Typhas have counted what there is. */
  async counted(): Promise<void> {
    await this.until(`${this.typhas} Typhas and ${this.#nodes} nodes are counted`, async () => {
      const statuses = await this.statuses();
      return statuses.every(({ balance }) => balance?.typhas === this.typhas && balance.nodes === this.#nodes);
    });
  }

  async pass(minutes: number): Promise<void> {
    for (let ms = 0; ms < minutes * 60_000; ms += STEP_MS) await this.#step();
  }

  /** Lets time pass until something holds. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    for (const startMs = performance.now(); !(await holds()); await this.#step())
      if (performance.now() - startMs > REAL_LIMIT_MS) throw new Error(`Waited in vain until ${what}`);
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) await client.stop();
    while (this.#typhas.length > 0) await this.stopTypha();
    await this.#kube.stop();
  }

  async #step(): Promise<void> {
    await this.clock.advance(STEP_MS);
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    const endMs = performance.now() + REAL_LIMIT_MS;
    for (let turn = 1; this.#underWay > 0 || this.#clients.some((client) => isBusy(client)); turn++) {
      if (performance.now() > endMs) throw new Error("Somebody is busy for ever");
      await nextTurn();
      // A server may wait a few milliseconds before it goes on.
      if (turn % TURNS === 0) await this.clock.advance(1);
    }
  }

  /** A reader whose lists the clock waits for. */
  #counted(writer: DatastoreWriter): DatastoreWriter {
    const begin = (): void => void this.#underWay++;
    const end = (): void => void this.#underWay--;
    return Object.assign(Object.create(writer) as DatastoreWriter, {
      async *list(request: Parameters<DatastoreWriter["list"]>[0], signal: AbortSignal) {
        begin();
        try {
          yield* writer.list(request, signal);
        } finally {
          end();
        }
      },
      close: () => writer.close(),
    });
  }
}

function isBusy(client: SyncClient): boolean {
  const { phase } = client.state();
  return phase === "connecting" || phase === "handshake" || phase === "snapshot";
}

/** On the lab's clock half a minute of silence comes twice a second: nobody is asked for a sign of life. */
function withoutProbes(driver: DatastoreDriver): DatastoreDriver {
  return {
    type: driver.type,
    list: (request) => driver.list(request),
    watch: (request) => driver.watch(request),
    probe: () => Promise.resolve(),
    problems: () => driver.problems(),
    close: () => driver.close(),
  };
}

function sliceOf(name: string, port: number, ready: boolean): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: NAMESPACE, labels: { "kubernetes.io/service-name": "calico-typha" } },
    addressType: "IPv4",
    ports: [{ name: "calico-typha", protocol: "TCP", port }],
    endpoints: [
      { addresses: [FABRIC_ADDRESS], conditions: { ready }, targetRef: { kind: "Pod", namespace: NAMESPACE, name } },
    ],
  };
}
