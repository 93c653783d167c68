import { join } from "node:path";
import { seededRandom } from "@bulrush/base";
import { convertResources } from "@bulrush/datastore";
import { parseAddress } from "@bulrush/ip";
import type { Resource } from "@bulrush/model";
import type { Judge } from "../lab/judge.ts";
import type { Probe } from "../lab/prober.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { Choices } from "../random/choices.ts";
import { explainRandomFlow, freshJudge } from "../random/explain-flows.ts";
import { guardFailures, guardResources, startGuardTraffic } from "../random/guard.ts";
import { describeRandomFlow, FlowPicker, type RandomFlow } from "../random/random-flows.ts";
import { hostResources, RandomWorld } from "../random/random-world.ts";
import { WORK_DIR } from "./guarded-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const MANIFESTS: string = join(WORK_DIR, "manifests");
const FILE: string = join(MANIFESTS, "world.json");
const SEEDS = 100;
const QUICK_SEEDS = 5;
/** States of a world: the first one, and those that random changes lead to. */
const STEPS = 4;
const FLOWS = 250;
/** How often, by the step, an agent is killed before the change and comes back after it. */
const KILL_CHANCE = 0.06;

interface Wrong {
  readonly flow: RandomFlow;
  readonly connects: boolean;
}

/** One run on one lab: what the worlds of all seeds have in common. */
class RandomRun {
  readonly #session: LabSession;
  readonly #picker = new FlowPicker();
  /** Knows the present state and none before it, while the agents come to theirs step by step. */
  #judge: Judge = freshJudge([]);
  readonly totals = { seeds: 0, steps: 0, flows: 0, allowed: 0, agentKills: 0 };

  constructor(session: LabSession) {
    this.#session = session;
  }

  /** Throws an Error that names the seed, the flow and the policies that it takes. */
  async runSeed(seed: number): Promise<void> {
    const choices = new Choices(seededRandom(seed));
    const world = new RandomWorld(choices);
    for (let step = 0; step < STEPS; step++) {
      if (step > 0) world.change();
      const guard = guardResources(choices);
      await this.#bring([...hostResources(), ...guard, ...world.resources()], choices);
      const flows = this.#picker.pick(choices, world.pods, FLOWS);
      const wrong = await this.#wrongFlows(flows);
      if (wrong[0] !== undefined) {
        const what = `seed ${seed}, step ${step}: ${wrong.length} of ${flows.length} flows are not as explained`;
        const list = wrong.slice(0, 10).map(describeWrong);
        throw new Error([what, ...list, await this.#report(world, guard, wrong[0])].join("\n"));
      }
      this.totals.steps++;
      this.totals.flows += flows.length;
    }
    this.totals.seeds++;
  }

  async #bring(resources: readonly Resource[], choices: Choices): Promise<void> {
    const { cluster } = this.#session;
    const victim = choices.maybe(KILL_CHANCE, () => choices.pick(["host-a", "host-b"]));
    if (victim !== undefined) {
      await cluster.agent(victim).stop("SIGKILL");
      this.totals.agentKills++;
    }
    writeManifest(FILE, resources);
    if (victim !== undefined) cluster.startAgent(victim);
    await this.#refresh();
  }

  async #refresh(): Promise<void> {
    const { manifests, problems } = await this.#session.refresh();
    const all = [...manifests.problems.map(({ message }) => message), ...problems];
    if (all.length > 0) throw new Error(`The generator made what cannot be read:\n${all.join("\n")}`);
    this.#judge = freshJudge(convertResources(manifests.resources.map(({ resource }) => resource)).updates);
  }

  async #wrongFlows(flows: readonly RandomFlow[]): Promise<Wrong[]> {
    const explained = flows.map((flow) => explainRandomFlow(this.#judge, flow).verdict === "allow");
    this.totals.allowed += explained.filter((allowed) => allowed).length;
    const probes = flows.map((flow, i) => this.#probe(flow, explained[i] === true));
    const answers = await this.#session.cluster.prober.run(probes);
    return flows.flatMap((flow, i) => (answers[i] === explained[i] ? [] : [{ flow, connects: answers[i] === true }]));
  }

  #probe(flow: RandomFlow, expect: boolean): Probe {
    const from = this.#session.cluster.network.pod(flow.from);
    const to = parseAddress(flow.address);
    if (from === undefined || to === undefined) throw new Error(`The lab lacks ${flow.from} or ${flow.address}`);
    const { protocol, port, sourcePort, payloadBytes } = flow;
    return {
      from: from.namespace,
      to,
      protocol,
      port,
      expect,
      ...(sourcePort === undefined ? {} : { sourcePort }),
      ...(payloadBytes === undefined ? {} : { payloadBytes }),
    };
  }

  /** What is wrong with one flow, after every policy that it is as wrong without has been taken out. */
  async #report(world: RandomWorld, guard: readonly Resource[], { flow }: Wrong): Promise<string> {
    const bring = async (): Promise<boolean> => {
      writeManifest(FILE, [...hostResources(), ...guard, ...world.resources()]);
      await this.#refresh();
      // From another port: the kernel knows the flow of the first try.
      return (await this.#wrongFlows(this.#picker.again(flow))).length > 0;
    };
    const isLasting = await bring();
    if (isLasting) {
      for (const policy of world.policies) {
        const resource = world.get(policy);
        world.remove(policy);
        if (resource !== undefined && !(await bring())) world.restore(policy, resource);
      }
      await bring();
    }
    const { verdict, egress, ingress } = explainRandomFlow(this.#judge, flow);
    const resources = world.resources().map((resource) => JSON.stringify(resource));
    return [
      isLasting ? "The first of them, lastingly:" : "The first of them, at the first try only:",
      `explained: ${verdict}\n  egress: ${JSON.stringify(egress)}\n  ingress: ${JSON.stringify(ingress)}`,
      "of these resources:",
      ...resources,
      ...(isLasting ? [] : [this.#session.cluster.logs()]),
    ].join("\n");
  }
}

function describeWrong({ flow, connects }: Wrong): string {
  return `${describeRandomFlow(flow)} ${connects ? "connects" : "does not connect"}`;
}

async function runRandomKernel({ progress, quick, seed }: ScenarioOptions): Promise<ScenarioFigures> {
  const count = quick ? QUICK_SEEDS : SEEDS;
  writeManifest(FILE, [...hostResources(), ...guardResources(new Choices(seededRandom(seed)))]);
  const session = await LabSession.start({ workDir: WORK_DIR, manifestDir: MANIFESTS });
  try {
    await session.refresh();
    const run = new RandomRun(session);
    const traffic = await startGuardTraffic(session);
    try {
      for (let next = seed; next < seed + count; next++) {
        progress(`seed ${next} (${run.totals.flows} flows so far)`);
        await run.runSeed(next);
        const failures = guardFailures(traffic.report());
        if (failures.length > 0) throw new Error(`${session.cluster.logs()}\nseed ${next}: ${failures.join("\n")}`);
      }
    } finally {
      await traffic.stop();
    }
    const datagrams = traffic.report().reduce((sum, { sent }) => sum + sent, 0);
    return { firstSeed: seed, ...run.totals, datagrams, wrong: 0 };
  } finally {
    await session.stop();
  }
}

export const randomKernel: Scenario = {
  name: "random-kernel",
  summary:
    "random policies of all kinds: real packets do what is explained, and a guarded pod is never open or cut off",
  run: runRandomKernel,
};
