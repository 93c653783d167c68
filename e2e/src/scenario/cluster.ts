import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { ClusterWorld } from "../cluster/cluster-world.ts";
import type { RunningPod } from "../cluster/kubelet.ts";
import { measureSlo, sloWorld } from "../cluster/latency-slo.ts";
import { type Cell, tryCells } from "../cluster/try-cells.ts";
import { cellsOfCase, loadClusterPolicyCases } from "../cluster-policies/case.ts";
import { cellsOf, loadOracleCases } from "../oracle/case.ts";
import { OracleWorld } from "../oracle/world.ts";
import { checkTraffic, guardedWorld, nftGeneration, startGuardedTraffic } from "./guarded-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const NODES = ["host-a", "host-b", "host-c"] as const;
const PREVIOUS = join(import.meta.dirname, "..", "previous-protocol", "main.ts");
/** Of allowed traffic, on a machine that does other things too. What is denied may never pass. */
const MAX_GAP_MS = 15_000;
const CAP_NET_ADMIN = 1n << 12n;

/** Pods over three hosts, so that there are flows inside a host and between any two. */
export function spread(resources: readonly Resource[]): Resource[] {
  const pods = resources.filter(({ kind }) => kind !== "Node");
  return pods.map((resource) => {
    const { podIPs } = (resource.status ?? {}) as { readonly podIPs?: readonly { readonly ip: string }[] };
    const [, , third = 0, fourth = 0] = (podIPs?.[0]?.ip ?? "").split(".").map(Number);
    if (resource.kind !== "Pod") return resource;
    const nodeName = NODES[(third + Math.floor(fourth / 30)) % NODES.length];
    return { ...resource, spec: { ...(resource.spec as object), nodeName } };
  });
}

/** Every n-th, so that the list's groups all have their share. */
function some<T>(all: readonly T[], count: number): readonly T[] {
  return all.filter((_, i) => Math.floor((i * count) / all.length) !== Math.floor(((i - 1) * count) / all.length));
}

function checkCapabilities(pods: readonly RunningPod[], wanted: bigint): void {
  for (const { name, process } of pods) {
    const status = readFileSync(`${process.procDirectory ?? ""}/status`, "utf8");
    for (const set of ["CapPrm", "CapEff", "CapBnd"]) {
      const found = BigInt(`0x${new RegExp(`^${set}:\\s+(\\S+)$`, "m").exec(status)?.[1] ?? "0"}`);
      if (found !== wanted) throw new Error(`${name} has the ${set} ${found.toString(16)}, not ${wanted.toString(16)}`);
    }
  }
}

/** Nobody was refused for a certificate, and nothing that the manifests grant was missing. */
function checkLogs(pods: readonly RunningPod[]): void {
  for (const { name, process } of pods) {
    const lines = readFileSync(process.logFile, "utf8").split("\n");
    const bad = lines.filter((line) =>
      /"code":"identity"|EROFS|EACCES|EPERM|ENOENT|"level":"(?:error|fatal)"/.test(line),
    );
    if (bad.length > 0) throw new Error(`${name} says:\n${bad.slice(0, 5).join("\n")}`);
  }
}

/** Runs what is there in `world`, one part of the story after the other. */
class Story {
  readonly #world: ClusterWorld;
  readonly #options: ScenarioOptions;
  readonly figures: Record<string, number> = {};

  constructor(world: ClusterWorld, options: ScenarioOptions) {
    this.#world = world;
    this.#options = options;
  }

  /** Programs of the protocol's previous version are replaced while traffic flows: Typhas first, then agents. */
  async upgrade(): Promise<void> {
    const world = this.#world;
    const wires = { cluster: world };
    for (const { name, process } of [...world.typhas, ...world.agents])
      if (!/speaking version \d+/.test(readFileSync(process.logFile, "utf8")))
        throw new Error(`${name} is not an old one`);
    await world.sync(guardedWorld().filter(({ kind }) => kind !== "Node"));
    const traffic = await startGuardedTraffic(wires);
    try {
      const before = NODES.map((host) => nftGeneration(wires, host));
      await this.#rollTyphas([]);
      await world.settle();
      const after = NODES.map((host) => nftGeneration(wires, host));
      if (after.join() !== before.join())
        throw new Error(`New Typhas wrote to kernels: ${before.join()}, ${after.join()}`);
      // One first, and the others when that one is well.
      const [first, ...others] = world.agents;
      if (first !== undefined) await this.#upgradeAgent(first);
      await world.ready();
      if (this.#options.quick) await Promise.all(others.map((old) => this.#upgradeAgent(old)));
      else for (const old of others) await this.#upgradeAgent(old).then(() => world.ready());
      await world.ready();
      await world.settle();
      const { longestGapMs } = checkTraffic(traffic.report(), "During the upgrade", MAX_GAP_MS);
      this.figures["upgradeGapMs"] = Math.round(longestGapMs);
      traffic.reset();
      await this.#outage();
      checkTraffic(traffic.report(), "While the API server was away", MAX_GAP_MS);
    } finally {
      await traffic.stop();
    }
    this.#options.progress("upgraded from the previous protocol version, and through an outage of the API server");
  }

  async #upgradeAgent(old: RunningPod): Promise<void> {
    const code = await old.stop();
    if (code !== 0) throw new Error(`${old.name} ended with ${code}\n${old.process.logTail()}`);
    await this.#world.startAgent(old.node.name, []);
  }

  /** The API server dies: nothing changes, nobody ends, and what is written afterwards is in force. */
  async #outage(): Promise<void> {
    const world = this.#world;
    const restarts = (): number => [...world.typhas, ...world.agents].reduce((sum, pod) => sum + pod.restarts, 0);
    const before = restarts();
    await world.store.server.apiserver.kill();
    await new Promise((resolve) => setTimeout(resolve, this.#options.quick ? 1000 : 20_000));
    const notReady = world.agents.find(({ isReady }) => !isReady);
    if (notReady !== undefined) throw new Error(`${notReady.name} is not ready: ${notReady.readyText}`);
    await world.store.server.restart();
    await world.settle();
    if (restarts() !== before) throw new Error(`${world.logs()}\nSomebody ended while the API server was away`);
  }

  /** As a Deployment does: a new pod is ready before an old one is told to end. */
  async #rollTyphas(nodeArgs?: readonly string[]): Promise<void> {
    const world = this.#world;
    for (const old of world.typhas) {
      await world.startTypha(nodeArgs);
      await world.ready();
      await world.stopTypha(old);
    }
  }

  async oracleCases(): Promise<void> {
    const cases = loadOracleCases();
    const chosen = this.#options.quick ? some(cases, 6) : cases;
    for (const [at, one] of chosen.entries()) {
      const oracle = new OracleWorld();
      for (const [i, step] of one.steps.entries()) {
        for (const action of step.actions) oracle.apply(action);
        await this.#world.sync(spread(oracle.resources()));
        await this.#try(cellsOf(step), `${one.description}, step ${i}`);
      }
      if (at % 10 === 9) this.#options.progress(`${at + 1} of ${chosen.length} cases of NetworkPolicy`);
      // In the middle of the work, as an operator would.
      if (!this.#options.quick && at === Math.floor(chosen.length / 2)) await this.#rollTyphas();
    }
    this.figures["networkPolicyCases"] = chosen.length;
  }

  async clusterPolicyCases(): Promise<void> {
    const cases = loadClusterPolicyCases();
    const chosen = this.#options.quick ? some(cases, 7) : cases;
    for (const one of chosen) {
      await this.#world.sync(spread([...new OracleWorld().resources(), ...one.objects]));
      await this.#try(cellsOfCase(one), one.name);
    }
    this.figures["clusterNetworkPolicyCases"] = chosen.length;
    this.#options.progress(`${chosen.length} cases of ClusterNetworkPolicy`);
  }

  async slo(): Promise<void> {
    const samples = this.#options.quick ? 5 : 50;
    await this.#world.sync(sloWorld(samples));
    const { policyMs, podMs } = await measureSlo(this.#world, samples);
    Object.assign(this.figures, {
      policyEnforcementP50Ms: policyMs.p50,
      policyEnforcementP99Ms: policyMs.p99,
      podReachabilityP50Ms: podMs.p50,
      podReachabilityP99Ms: podMs.p99,
    });
  }

  async #try(cells: readonly Cell[], what: string): Promise<void> {
    const wrong = await tryCells(this.#world, cells);
    this.figures["cells"] = (this.figures["cells"] ?? 0) + cells.length;
    if (wrong.length === 0) return;
    throw new Error(`${this.#world.logs()}\n${what}: packets go another way:\n${wrong.slice(0, 20).join("\n")}`);
  }
}

async function run({ progress, ...rest }: ScenarioOptions): Promise<ScenarioFigures> {
  const startMs = performance.now();
  const seconds = (): string => `${((performance.now() - startMs) / 1000).toFixed(1)} s`;
  const options: ScenarioOptions = { ...rest, progress: (text) => progress(`${seconds()}: ${text}`) };
  const world = await ClusterWorld.create({ nodes: NODES, typhas: 2, nodeArgs: ["--import", PREVIOUS] });
  try {
    await world.startAll();
    checkCapabilities(world.typhas, 0n);
    checkCapabilities(world.agents, CAP_NET_ADMIN);
    options.progress("2 Typhas and 3 agents are ready, from the shipped manifests");
    const story = new Story(world, options);
    await story.upgrade();
    await story.clusterPolicyCases();
    await story.oracleCases();
    await story.slo();
    checkLogs([...world.typhas, ...world.agents]);
    return { typhas: world.typhas.length, agents: world.agents.length, ...story.figures, wrong: 0 };
  } finally {
    await world.stop();
  }
}

export const cluster: Scenario = {
  name: "cluster",
  summary:
    "Typhas and agents from the shipped manifests on a real API server: an upgrade, an outage, cases of both policy APIs, latencies",
  needsKube: true,
  run,
};
