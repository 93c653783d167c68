import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { seededRandom, sleep, systemClock } from "@bulrush/base";
import { convertResources, felixSyncer, openDatastore } from "@bulrush/datastore";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { hashValue } from "@bulrush/proto";
import { type KubeObject, KubeRefusal } from "../kube/kube-admin.ts";
import { contentsOf } from "../lab/contents.ts";
import { KubernetesStore, putObject, removeObject } from "../lab/kubernetes-store.ts";
import { LabNetwork } from "../lab/network.ts";
import { Choices } from "../random/choices.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const CLOCK = systemClock({ keepAlive: true });
const NEVER = new AbortController().signal;
/** Objects that change at the same time. */
const BATCH = 8;
const FAULT_EVERY_MS = 4000;
const SETTLE_MS = 60_000;

interface Size {
  readonly namespaces: number;
  readonly pods: number;
  readonly policies: number;
  readonly runMs: number;
}

const QUICK: Size = { namespaces: 8, pods: 60, policies: 20, runMs: 20_000 };
const WHOLE: Size = { namespaces: 200, pods: 2000, policies: 300, runMs: 180_000 };

/**
 * What the syncer has told, and whether each delete was true.
 *
 * Invariant: a path was told gone at most as often as somebody set out to delete it.
 */
class Told {
  readonly hashes = new Map<string, string>();
  readonly spurious: string[] = [];
  readonly #mayGo = new Map<string, number>();

  /** An object with these paths is about to be deleted. */
  expectDelete(paths: readonly string[]): void {
    for (const path of paths) this.#mayGo.set(path, (this.#mayGo.get(path) ?? 0) + 1);
  }

  take(path: string, value: unknown): void {
    if (value !== undefined) {
      this.hashes.set(path, hashValue(path, contentsOf(value)));
      return;
    }
    this.hashes.delete(path);
    const left = (this.#mayGo.get(path) ?? 0) - 1;
    if (left < 0) this.spurious.push(path);
    else this.#mayGo.set(path, left);
  }
}

function pathsOf(object: KubeObject): string[] {
  const built = new Set(convertResources([]).updates.map(({ path }) => path));
  const { updates } = convertResources([object as unknown as Resource]);
  return updates.map(({ path }) => path).filter((path) => !built.has(path));
}

/** A namespace, pod or policy of this number, with contents that vary. */
function makeObject(
  kind: "Namespace" | "Pod" | "NetworkPolicy",
  number: number,
  size: Size,
  choices: Choices,
): KubeObject {
  const labels = { app: `a${choices.below(5)}`, round: String(choices.below(1000)) };
  const name = `${kind.toLowerCase()}-${number}`;
  const namespace = `namespace-${number % size.namespaces}`;
  if (kind === "Namespace") return { apiVersion: "v1", kind, metadata: { name, labels } };
  if (kind === "NetworkPolicy") {
    const spec = { podSelector: { matchLabels: { app: labels.app } }, policyTypes: ["Ingress"] };
    return { apiVersion: "networking.k8s.io/v1", kind, metadata: { name, namespace, labels }, spec };
  }
  const spec = { nodeName: `node-${number % 7}`, containers: [{ name: "c", image: "registry.invalid/none" }] };
  const ip = `10.65.${number >> 8}.${number & 255}`;
  return {
    apiVersion: "v1",
    kind,
    metadata: { name, namespace, labels },
    spec,
    status: { podIP: ip, podIPs: [{ ip }] },
  };
}

/** A server that has just started refuses for some seconds what it does not have together yet. */
async function untilTaken<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      const isEarly = error instanceof KubeRefusal && [403, 404, 429, 500, 503].includes(error.status);
      if (!isEarly || attempt > 100) throw error;
      await sleep(CLOCK, 200, NEVER);
    }
  }
}

function heapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

async function run({ seed, quick, progress }: ScenarioOptions): Promise<ScenarioFigures> {
  progress(`seed ${seed}`);
  const size = quick ? QUICK : WHOLE;
  const choices = new Choices(seededRandom(seed));
  const network = new LabNetwork();
  // Without a watch cache, so that a compaction is felt by watches and lists.
  const store = await KubernetesStore.start({ uncached: ["pods", "namespaces", "networkpolicies.networking.k8s.io"] });
  const { admin, apiserver, etcd, kubeconfig } = store.server;
  await store.sync([]);
  const driver = await openDatastore(
    { type: "kubernetes", kubeconfig: [kubeconfig], apiGroup: CALICO_V3, qps: 100 },
    { clock: CLOCK },
  );
  const told = new Told();
  const syncer = felixSyncer({
    driver,
    clock: CLOCK,
    callbacks: {
      onStatusUpdated: () => undefined,
      onUpdates: (updates) => {
        for (const { path, value } of updates) told.take(path, value);
      },
    },
  });
  syncer.start();
  const live = new Map<string, KubeObject>();
  const change = async (kind: "Pod" | "NetworkPolicy", number: number): Promise<void> => {
    const object = makeObject(kind, number, size, choices);
    const id = `${kind} ${number}`;
    const old = live.get(id);
    if (old !== undefined && choices.chance(0.5)) {
      told.expectDelete(pathsOf(old));
      live.delete(id);
      await untilTaken(() => removeObject(admin, old));
      return;
    }
    live.set(id, object);
    await untilTaken(() => putObject(admin, object));
  };
  for (let i = 0; i < size.namespaces; i++) await putObject(admin, makeObject("Namespace", i, size, choices));
  const faults = {
    "apiserver killed": () => apiserver.restart(),
    "etcd compacted while the apiserver was down": async () => {
      await apiserver.kill();
      await etcd.compact();
      await apiserver.restart();
    },
    "etcd compacted": () => etcd.compact().then(() => undefined),
    "apiserver stopped for a second": async () => {
      apiserver.pause();
      await sleep(CLOCK, 1000, NEVER);
      apiserver.resume();
    },
  };
  const names = Object.keys(faults) as (keyof typeof faults)[];
  const startMs = performance.now();
  let [changes, made, faultMs, middleHeap] = [0, 0, startMs, 0];
  while (performance.now() - startMs < size.runMs || made < names.length) {
    const numbers = new Set(Array.from({ length: BATCH }, () => choices.below(size.pods)));
    await Promise.all([...numbers].map((number) => change("Pod", number)));
    await change("NetworkPolicy", choices.below(size.policies));
    if (choices.chance(0.2)) {
      const namespace = makeObject("Namespace", choices.below(size.namespaces), size, choices);
      await untilTaken(() => putObject(admin, namespace));
    }
    changes += numbers.size + 1;
    if (performance.now() - faultMs < FAULT_EVERY_MS) continue;
    const name = names[made++ % names.length] as keyof typeof faults;
    progress(`${changes} changes; ${name}`);
    await faults[name]();
    // By then all kinds were listed more than once.
    if (made === 1) middleHeap = heapBytes();
    faultMs = performance.now();
  }
  const growth = heapBytes() - middleHeap;
  const { updates } = convertResources(await untilTaken(() => store.list()));
  const wanted = new Map(updates.map(({ path, value }) => [path, hashValue(path, contentsOf(value))]));
  const differences = (): string[] => [
    ...[...wanted]
      .filter(([path, hash]) => told.hashes.get(path) !== hash)
      .map(([path]) => `missing or other: ${path}`),
    ...[...told.hashes.keys()].filter((path) => !wanted.has(path)).map((path) => `left over: ${path}`),
  ];
  const endMs = performance.now();
  while (differences().length > 0 && performance.now() - endMs < SETTLE_MS) await sleep(CLOCK, 100, NEVER);
  const settleMs = Math.round(performance.now() - endMs);
  assert.deepEqual(differences().slice(0, 10), [], `The syncer is not where a fresh list is (seed ${seed})`);
  assert.deepEqual(told.spurious.slice(0, 10), [], `Deletes of what was there (seed ${seed})`);
  assert.ok(growth < 32 << 20, `The heap grew by ${growth} bytes after the first fault (seed ${seed})`);
  await syncer.stop();
  await driver.close();
  await store.stop();
  network.close();
  return { seed, changes, faults: made, keys: wanted.size, settleMs, heapGrowthBytes: growth };
}

export const datastoreChurn: Scenario = {
  name: "datastore-churn",
  summary: "A real kube-apiserver is changed, killed and compacted; the syncer ends where a fresh list is",
  needsKube: true,
  run,
};
