import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { must } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import { ClusterWorld } from "../cluster/cluster-world.ts";
import { fillFleet } from "../cluster/full-fleet.ts";
import { OperatorView } from "../cluster/operator-view.ts";
import { rotateCertificates } from "../cluster/rotate-certificates.ts";
import type { Traffic } from "../lab/traffic.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { checkTraffic, guardedWorld, nftGeneration, startGuardedTraffic } from "./guarded-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const NODES = ["host-a", "host-b", "host-c"] as const;
/** Of allowed traffic, on a machine that does other things too. What is denied may never pass. */
const MAX_GAP_MS = 60_000;
const DIRECTORY = "/run/operations";
/** What the operator tunes the fleet to. */
const LOWER = 4;
const UPPER = 10;
const HOLDS_MS = { quick: 1000, whole: 30_000 } as const;

/**
 * What an operator does to a cluster at work, by the documentation, while traffic flows:
 *
 * ```
 *   wait for a policy ─> certificates of both sides under a new CA ─> the limit: what-if, setting, roll of the Typhas
 *     (each of them drained) ─> does it hold? ─> agents replaced
 * ```
 */
class Operator {
  readonly #world: ClusterWorld;
  readonly #view: OperatorView;
  readonly #options: ScenarioOptions;
  readonly #traffic: Traffic;
  readonly figures: Record<string, number> = {};

  constructor(world: ClusterWorld, options: ScenarioOptions, traffic: Traffic) {
    this.#world = world;
    this.#view = new OperatorView(world);
    this.#options = options;
    this.#traffic = traffic;
  }

  /** `bulrushctl wait` does not come back before the policy is written, and when it does nothing new gets through. */
  async waitForPolicy(): Promise<void> {
    const world = this.#world;
    const file = join(DIRECTORY, "policy.json");
    writeManifest(file, [NOBODY]);
    const early = await this.#view.ctl(["wait", "-f", file, "--timeout", "1"]);
    if (early.code !== 1 || !early.err.includes("nobody"))
      throw new Error(`wait for what nobody has written: ${early.code}\n${early.out}${early.err}`);
    await world.write([...guardedWorld(), NOBODY]);
    const waited = await this.#view.ctl(["wait", "-f", file, "--nodes", NODES.join(",")]);
    if (waited.code !== 0) throw new Error(`wait: ${waited.code}\n${waited.out}${waited.err}`);
    this.#check("Until the policy was in force", Number.POSITIVE_INFINITY);
    // What was made before and not taken yet by the listeners is taken first.
    await this.#tried();
    this.#traffic.reset();
    await this.#tried();
    const open = this.#traffic.report().find(({ name, delivered }) => name.endsWith("connects") && delivered > 0);
    if (open !== undefined) throw new Error(`wait came back, and ${open.name} is still possible`);
    await world.sync(guardedWorld());
    await world.until("friends get through again", () => {
      const closed = this.#traffic.report().find(({ name, delivered }) => name.startsWith("friend") && delivered === 0);
      return closed && `${closed.name} does not`;
    });
    this.#traffic.reset();
    this.#options.progress("a policy was waited for");
  }

  async rotateCertificates(): Promise<void> {
    this.figures["streamsKept"] = await rotateCertificates(this.#world, this.#view, DIRECTORY);
    this.#check("While certificates were exchanged");
    this.#options.progress("certificates under a new CA, every stream stayed");
  }

  /** What-if, the setting, the Typhas rolled one by one; then more clients than the fleet takes. */
  async tuneLimit(): Promise<void> {
    const world = this.#world;
    const limit = await this.#forecast();
    await world.setEnv("Deployment", {
      TYPHA_MAXCONNECTIONSLOWERLIMIT: String(LOWER),
      TYPHA_MAXCONNECTIONSUPPERLIMIT: String(UPPER),
    });
    await this.#writesNothing("Drained Typhas", async () => {
      // A change under way that is nothing to a kernel, and could be lost.
      await world.write([...guardedWorld(), IDLE]);
      for (const old of world.typhas) {
        await world.startTypha();
        await world.ready();
        await world.stopTypha(old);
      }
    });
    this.#options.progress("Typhas drained one after the other, nothing lost, no kernel written");
    await world.until("every Typha has the limit of the what-if", async () => {
      const wrong = (await this.#view.statuses()).find(({ balance }) => balance?.limit !== limit);
      return wrong && `${JSON.stringify(wrong.balance)}, not ${limit}`;
    });
    const holdsMs = this.#options.quick ? HOLDS_MS.quick : HOLDS_MS.whole;
    this.figures["refused"] = await fillFleet(world, this.#view, { limit, tooMany: 4, holdsMs });
    this.figures["limit"] = limit;
    this.#options.progress(`the limit is ${limit}, as the what-if says, and holds`);
  }

  async replaceAgents(): Promise<void> {
    const world = this.#world;
    await world.setEnv("DaemonSet", { FELIX_LOGSEVERITYSCREEN: "DEBUG" });
    await this.#writesNothing("New agents", async () => {
      for (const old of world.agents) {
        const code = await old.stop();
        if (code !== 0) throw new Error(`${old.name} ended with ${code}\n${old.process.logTail()}`);
        await world.startAgent(old.node.name);
        await world.ready();
      }
    });
    this.#options.progress("agents replaced, nothing written, no moment without policy");
  }

  /** The limit that `bulrushctl limits` says, for the Typhas that run with other settings, and the console with it. */
  async #forecast(): Promise<number> {
    const numbers = ["--lower", LOWER, "--upper", UPPER].map(String);
    let limit = 0;
    // A Typha whose API server is slow to answer cannot count for a while, and says so.
    await this.#world.until("every Typha has counted", async () => {
      const { code, err, out } = await this.#view.ctl(["limits", ...numbers, "-o", "json"]);
      if (code === 0) ({ limit } = JSON.parse(out) as { readonly limit: number });
      return code === 0 ? undefined : err;
    });
    const { typhas } = this.#world;
    const question = `nodes=${NODES.length}&typhas=${typhas.length}&lower=${LOWER}&upper=${UPPER}`;
    const answer = await this.#world.askTypha(must(typhas[0], "a Typha"), `/api/v1/forecast?${question}`);
    const console = (answer as { readonly limit: number }).limit;
    if (console !== limit) throw new Error(`The console forecasts ${console}, bulrushctl ${limit}`);
    return limit;
  }

  /** Nothing is lost on the way, nothing leaks, and no kernel is written. */
  async #writesNothing(what: string, work: () => Promise<void>): Promise<void> {
    const world = this.#world;
    await world.settle();
    const generations = (): string => NODES.map((host) => nftGeneration({ cluster: world }, host)).join();
    const before = generations();
    await work();
    await world.settle();
    const after = generations();
    if (after !== before) throw new Error(`${what} wrote to kernels: generations ${before}, then ${after}`);
    this.#check(what);
  }

  /** Waits until every flow has sent a few more. */
  async #tried(): Promise<void> {
    const before = new Map(this.#traffic.report().map(({ name, sent }) => [name, sent]));
    await this.#world.until("every flow is tried", () => {
      const tried = this.#traffic.report().filter(({ name }) => name.endsWith("connects"));
      const late = tried.find(({ name, sent }) => sent < (before.get(name) ?? 0) + 20);
      return late && `${late.name} is not`;
    });
  }

  #check(what: string, gapMs: number = MAX_GAP_MS): void {
    const { longestGapMs } = checkTraffic(this.#traffic.report(), what, gapMs);
    if (gapMs === MAX_GAP_MS) this.figures["longestGapMs"] = Math.max(this.figures["longestGapMs"] ?? 0, longestGapMs);
    this.#traffic.reset();
  }
}

function policy(name: string, role: string): Resource {
  return {
    apiVersion: "projectcalico.org/v3",
    kind: "NetworkPolicy",
    metadata: { name, namespace: "world" },
    spec: {
      tier: "default",
      order: 1,
      selector: `role == '${role}'`,
      types: ["Ingress"],
      ingress: [{ action: "Deny" }],
    },
  };
}

/** Nobody reaches the server. */
const NOBODY: Resource = policy("nobody", "server");
/** It selects nobody. */
const IDLE: Resource = policy("idle", "no-such-role");

export const operations: Scenario = {
  name: "operations",
  summary:
    "an operator at work on the cluster of the manifests: waits for a policy, changes certificates, tunes the limit, drains Typhas, replaces agents",
  needsKube: true,
  async run(options): Promise<ScenarioFigures> {
    mkdirSync(DIRECTORY, { recursive: true });
    const world = await ClusterWorld.create({ nodes: NODES, typhas: 2 });
    let traffic: Traffic | undefined;
    try {
      // A stream that ends has a reason then that this is about.
      await world.setEnv("Deployment", { TYPHA_CONNECTIONLEVELLING: "false" });
      await world.startAll();
      await world.sync(guardedWorld());
      traffic = await startGuardedTraffic({ cluster: world });
      const operator = new Operator(world, options, traffic);
      await operator.waitForPolicy();
      await operator.rotateCertificates();
      await operator.tuneLimit();
      await operator.replaceAgents();
      return { ...operator.figures, leaked: 0 };
    } finally {
      await traffic?.stop();
      await world.stop();
    }
  },
};
