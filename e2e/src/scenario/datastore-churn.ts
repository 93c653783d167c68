import assert from "node:assert/strict";
import { seededRandom, sleep, systemClock } from "@bulrush/base";
import type { SyncerType } from "@bulrush/model";
import {
  type Evidence,
  type Fault,
  FAULTS,
  type FaultContext,
  missingEvidence,
  until,
} from "../datastore-churn/faults.ts";
import { freshList, type Wanted } from "../datastore-churn/fresh-list.ts";
import { Judge } from "../datastore-churn/judge.ts";
import { memoryGrowth, type MemorySample } from "../datastore-churn/memory-rule.ts";
import type { SyncerSettings } from "../datastore-churn/messages.ts";
import type { Counts } from "../datastore-churn/objects.ts";
import { patiently } from "../datastore-churn/patient.ts";
import { SyncerProcess } from "../datastore-churn/syncer-process.ts";
import { ChurnWriter } from "../datastore-churn/writer.ts";
import { TcpProxy } from "../etcd-driver/tcp-proxy.ts";
import { ApiProxy } from "../kube/api-proxy.ts";
import { KubernetesStore } from "../lab/kubernetes-store.ts";
import { LabNetwork } from "../lab/network.ts";
import { Choices } from "../random/choices.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const CLOCK = systemClock({ keepAlive: true });
const NEVER = new AbortController().signal;
const DEFAULT_MINUTES = 3;
/** Changes go on for so long between two faults. */
const CALM_MS = { quick: 300, whole: 4000 };
/** Faults between two looks at where the syncers are, all at rest. */
const FAULTS_A_CHECK = 4;
const SETTLE_LIMIT_MS = 90_000;
/** No syncer waits for longer after a fault: 90 s is the default, but then silence would take most of a run. */
const WATCH_IDLE_MS = 15_000;

/** 300 policies, of all kinds together. */
const WHOLE: Counts = {
  Namespace: 200,
  ServiceAccount: 100,
  Pod: 2000,
  KubernetesNetworkPolicy: 120,
  NetworkPolicy: 80,
  GlobalNetworkPolicy: 60,
  StagedNetworkPolicy: 40,
  NetworkSet: 20,
  GlobalNetworkSet: 10,
  HostEndpoint: 20,
  Node: 20,
  Service: 30,
  EndpointSlice: 30,
  IPPool: 10,
  BGPPeer: 20,
  BGPFilter: 10,
  BlockAffinity: 40,
  IPAMBlock: 40,
  CalicoNodeStatus: 20,
};
const QUICK: Counts = {
  ...WHOLE,
  Namespace: 12,
  ServiceAccount: 8,
  Pod: 120,
  KubernetesNetworkPolicy: 12,
  NetworkPolicy: 8,
  GlobalNetworkPolicy: 6,
  StagedNetworkPolicy: 4,
  Node: 7,
  Service: 6,
  EndpointSlice: 6,
  BlockAffinity: 10,
  IPAMBlock: 10,
};

/** The four syncers; felix twice, as its lists are read in two ways. */
const SYNCERS: SyncerSettings["syncers"] = [
  { name: "felix (streamed)", type: "felix", driver: 0 },
  { name: "tunnel-ip-allocation", type: "tunnel-ip-allocation", driver: 0 },
  { name: "felix (paged)", type: "felix", driver: 1 },
  { name: "bgp", type: "bgp", driver: 1 },
  { name: "node-status", type: "node-status", driver: 1 },
];
const DRIVERS: SyncerSettings["drivers"] = [{ listMode: "auto" }, { listMode: "paged" }];

/** Without a watch cache in the API server, so that a compaction is felt by their watches and lists. */
const UNCACHED = ["pods", "namespaces", "serviceaccounts", "networkpolicies.networking.k8s.io"];

/**
 * ```
 *   writer ──────────────────────────────────────> kube-apiserver ─> etcd
 *     │ "this is about to change"                       ^   faults: kill, pause, compact, other features
 *     v                                                 │
 *   judge <── what is told ── syncers ──> wire ──> proxy┘
 *     ^                       (a process)  faults: cut, silence; hold a list up in its middle, count what gets 410
 *     └── a fresh list, when all is at rest
 * ```
 */
class Churn {
  readonly #options: ScenarioOptions;
  readonly #store: KubernetesStore;
  readonly #judge: Judge;
  readonly #writer: ChurnWriter;
  readonly #syncers: SyncerProcess;
  readonly #faults: FaultContext;
  readonly #evidence: Evidence = {
    cutWatches: 0,
    restarts: 0,
    compactions: 0,
    expiredWatches: 0,
    expiredContinuations: 0,
    streamedLists: 0,
    refusedStreams: 0,
    pagedLists: 0,
    namespacesGone: 0,
  };
  readonly #memory: MemorySample[] = [];
  #settleMs = 0;
  #keys = 0;
  #made = 0;

  private constructor(options: ScenarioOptions, store: KubernetesStore, wire: TcpProxy, proxy: ApiProxy) {
    const { seed, quick } = options;
    this.#options = options;
    this.#store = store;
    this.#judge = new Judge(SYNCERS.map(({ name }) => name));
    this.#writer = new ChurnWriter({
      admin: store.server.admin,
      clock: CLOCK,
      choices: new Choices(seededRandom(seed)),
      judge: this.#judge,
      counts: quick ? QUICK : WHOLE,
    });
    this.#syncers = new SyncerProcess(
      {
        kubeconfig: store.server.kubeconfig,
        server: `https://127.0.0.1:${wire.port}`,
        watchIdleTimeoutMs: WATCH_IDLE_MS,
        seed,
        drivers: DRIVERS,
        syncers: SYNCERS,
      },
      this.#judge,
    );
    this.#faults = { server: store.server, wire, proxy, clock: CLOCK, changes: (count) => this.#moreChanges(count) };
  }

  static async start(options: ScenarioOptions): Promise<Churn> {
    const store = await KubernetesStore.start({ uncached: UNCACHED });
    const { server } = store;
    await store.sync([]);
    const proxy = await ApiProxy.start({ url: server.url, files: server.files, maxPage: options.quick ? 25 : 100 });
    return new Churn(options, store, await TcpProxy.start(proxy.port), proxy);
  }

  async run(): Promise<ScenarioFigures> {
    const { quick, minutes = DEFAULT_MINUTES, seed, progress } = this.#options;
    const startMs = CLOCK.monotonicMs();
    await this.#writer.fill();
    progress(`${this.#writer.changes} objects made`);
    await this.#check();
    const order = FAULTS.filter(({ isLong = false, isLast = false }) => !isLast && !(quick && isLong));
    const choices = new Choices(seededRandom(seed + 1));
    // Each once in their order, then in any; at last those after which nothing is as it was.
    for (let i = 0; i < order.length || (!quick && CLOCK.monotonicMs() - startMs < minutes * 60_000); i++) {
      await this.#make(order[i] ?? choices.pick(order));
      if ((i + 1) % FAULTS_A_CHECK === 0) await this.#check();
    }
    for (const fault of FAULTS.filter(({ isLast = false }) => isLast)) await this.#make(fault);
    await this.#check();
    return this.#verdict();
  }

  async stop(): Promise<void> {
    await this.#syncers.stop();
    this.#faults.wire.stop();
    this.#faults.proxy.stop();
    await this.#store.stop();
  }

  /** Changes, and a fault in the middle of them. */
  async #make(fault: Fault): Promise<void> {
    const { quick, progress } = this.#options;
    let isOver = false;
    const writing = this.#write(() => isOver);
    await Promise.race([sleep(CLOCK, quick ? CALM_MS.quick : CALM_MS.whole, NEVER), writing]);
    progress(`${this.#writer.changes} changes; ${fault.name}`);
    try {
      await Promise.race([fault.run(this.#faults, this.#evidence), writing]);
    } finally {
      isOver = true;
    }
    this.#made++;
    await writing;
  }

  async #write(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      await this.#writer.batch();
      this.#syncers.check();
    }
  }

  #moreChanges(count: number): Promise<void> {
    const wanted = this.#writer.changes + count;
    return until(CLOCK, `${count} changes`, () => this.#writer.changes >= wanted);
  }

  /** Nothing is written: the syncers come to where a fresh list is, and nothing that they told was wrong. */
  async #check(): Promise<void> {
    const { seed, progress } = this.#options;
    const startMs = CLOCK.monotonicMs();
    const { admin } = this.#store.server;
    const wanted = await patiently(CLOCK, async () => freshList(admin, await this.#store.list()));
    while (this.#differences(wanted).length > 0 && CLOCK.monotonicMs() - startMs < SETTLE_LIMIT_MS) {
      this.#syncers.check();
      await sleep(CLOCK, 50, NEVER);
    }
    const settleMs = Math.round(CLOCK.monotonicMs() - startMs);
    this.#settleMs = Math.max(this.#settleMs, settleMs);
    this.#keys = SYNCERS.reduce((sum, { type }) => sum + wanted[type].size, 0);
    const differences = this.#differences(wanted);
    if (differences.length > 0) progress(JSON.stringify(await this.#syncers.report(), null, 1));
    assert.deepEqual(differences, [], `A syncer is not where a fresh list is (seed ${seed})`);
    assert.deepEqual(this.#judge.faults.slice(0, 10), [], `What was told is wrong (seed ${seed})`);
    const memory = await this.#syncers.memory();
    this.#memory.push(memory);
    const mib = (bytes: number): string => (bytes / (1 << 20)).toFixed(1);
    progress(
      `all is well after ${settleMs} ms: ${this.#keys} keys, heap ${mib(memory.heapBytes)} MiB, resident ${mib(memory.rssBytes)} MiB`,
    );
  }

  #differences(wanted: Wanted): string[] {
    return SYNCERS.flatMap(({ name, type }: { readonly name: string; readonly type: SyncerType }, index) => {
      const status = this.#judge.statusOf(index);
      const found = this.#judge.differences(index, wanted[type]);
      return [...(status === "in-sync" ? [] : [`is ${status ?? "without a status"}`]), ...found].map(
        (line) => `${name}: ${line}`,
      );
    });
  }

  #verdict(): ScenarioFigures {
    const { seed } = this.#options;
    const { traffic } = this.#faults.proxy;
    const evidence: Evidence = {
      ...this.#evidence,
      expiredWatches: traffic.expiredWatches,
      expiredContinuations: traffic.expiredContinuations,
      streamedLists: traffic.streams,
      refusedStreams: traffic.refusedStreams,
      pagedLists: traffic.lists,
      namespacesGone: this.#writer.namespacesGone,
    };
    assert.deepEqual(missingEvidence(evidence), [], "This never happened, so that the run says nothing");
    // The first sample is of a process that has listed everything once and done nothing else.
    const samples = this.#memory.slice(1);
    assert.equal(memoryGrowth(samples), undefined, `The memory of the syncers is not flat (seed ${seed})`);
    return {
      seed,
      changes: this.#writer.changes,
      faults: this.#made,
      keys: this.#keys,
      told: SYNCERS.reduce((sum, _, index) => sum + this.#judge.told(index), 0),
      ...evidence,
      settleMs: this.#settleMs,
      heapBytes: samples.map(({ heapBytes }) => heapBytes).join(" "),
      rssBytes: samples.map(({ rssBytes }) => rssBytes).join(" "),
    };
  }
}

async function run(options: ScenarioOptions): Promise<ScenarioFigures> {
  options.progress(`seed ${options.seed}`);
  const network = new LabNetwork();
  const churn = await Churn.start(options);
  const figures = await churn.run();
  await churn.stop();
  network.close();
  return figures;
}

export const datastoreChurn: Scenario = {
  name: "datastore-churn",
  summary: "A real kube-apiserver is changed, killed and compacted; all syncers end where a fresh list is",
  needsKube: true,
  run,
};
