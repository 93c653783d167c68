import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { describeFlow, type PodFlow } from "../lab/matrix.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { cellsOf, loadOracleCases, type OracleCase, type OracleStep } from "../oracle/case.ts";
import { OracleWorld } from "../oracle/world.ts";
import { WORK_DIR } from "./guarded-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const MANIFESTS: string = join(WORK_DIR, "manifests");
const FILE: string = join(MANIFESTS, "world.json");

/** How packets get from host to host, where the fabric does not know the pods. */
export interface OracleWire {
  /** The world as it is on this wire. */
  readonly adapt: (resources: Resource[]) => Resource[];
  /** The families that the oracle's answers hold for. */
  readonly families: (world: readonly Resource[]) => readonly (4 | 6)[];
  readonly agentEnv: Readonly<Record<string, string>>;
  /** Called once the hosts are there, and at the end; throws when packets went another way. */
  readonly prepare: () => void;
  readonly check: () => void;
}

/** The short form: every case of several steps, and cases until each tag has come twice where it can. */
export function someCases(cases: readonly OracleCase[]): OracleCase[] {
  const times = new Map<string, number>();
  const count = (one: OracleCase): void => {
    for (const tag of one.tags) times.set(tag, (times.get(tag) ?? 0) + 1);
  };
  const chosen = new Set(cases.filter((one) => one.steps.length > 1));
  for (const one of chosen) count(one);
  for (const one of cases) {
    if (chosen.has(one) || one.tags.every((tag) => (times.get(tag) ?? 0) >= 2)) continue;
    chosen.add(one);
    count(one);
  }
  // The rest of the share evenly over the list, which is grouped by subject.
  const rest = cases.filter((one) => !chosen.has(one));
  const wanted = Math.max(0, 64 - chosen.size);
  for (let i = 0; i < wanted; i++) {
    const one = rest[Math.floor((i * rest.length) / wanted)];
    if (one !== undefined) chosen.add(one);
  }
  return cases.filter((one) => chosen.has(one));
}

async function wrongCells(
  session: LabSession,
  step: OracleStep,
  families: readonly (4 | 6)[],
): Promise<{ tried: number; wrong: string[] }> {
  const pods = new Map(session.plan.pods.map((pod) => [pod.name, pod]));
  const cells = cellsOf(step);
  const tries = cells.flatMap((cell) => {
    const from = pods.get(cell.from);
    const to = pods.get(cell.to);
    if (from === undefined || to === undefined || to.addresses.length === 0)
      throw new Error(`The lab lacks ${cell.from} or ${cell.to}`);
    const addresses = to.addresses.filter(({ family }) => families.includes(family));
    return addresses.map((address) => {
      const flow: PodFlow = { from, to, address, protocol: cell.protocol, port: cell.port };
      return { cell, flow };
    });
  });
  const answers = await session.cluster.prober.run(
    tries.map(({ cell, flow }) => {
      const from = session.cluster.network.pod(flow.from.name);
      if (from === undefined) throw new Error(`The lab lacks the pod ${flow.from.name}`);
      const { address: to, port, protocol } = flow;
      return { from: from.namespace, to, protocol, port, expect: cell.connects };
    }),
  );
  const wrong = tries.flatMap(({ cell, flow }, i) =>
    answers[i] === cell.connects
      ? []
      : [`${describeFlow(flow)} ${answers[i] === true ? "connects" : "does not connect"}`],
  );
  return { tried: tries.length, wrong };
}

/** Without a wire, the fabric knows where every pod is. */
export async function runOracleCases(
  cases: readonly OracleCase[],
  options: ScenarioOptions,
  wire?: OracleWire,
): Promise<ScenarioFigures> {
  const write = (world: OracleWorld): void => {
    const resources = world.resources();
    writeManifest(FILE, wire === undefined ? resources : wire.adapt(resources));
  };
  write(new OracleWorld());
  const session = await LabSession.start({
    workDir: WORK_DIR,
    manifestDir: MANIFESTS,
    ...(wire === undefined ? {} : { agentEnv: wire.agentEnv }),
  });
  const totals = { cases: 0, steps: 0, cells: 0 };
  const failures: string[] = [];
  try {
    await session.refresh();
    wire?.prepare();
    for (const one of cases) {
      const world = new OracleWorld();
      for (const [i, step] of one.steps.entries()) {
        for (const action of step.actions) world.apply(action);
        write(world);
        await session.refresh();
        const { tried, wrong } = await wrongCells(session, step, wire?.families(world.resources()) ?? [4]);
        totals.steps++;
        totals.cells += tried;
        for (const text of wrong) failures.push(`${one.description}, step ${i}: ${text}`);
      }
      totals.cases++;
      if (totals.cases % 10 === 0 || failures.length > 0)
        options.progress(`${totals.cases} of ${cases.length} cases, ${totals.cells} cells, ${failures.length} wrong`);
      if (failures.length > 0)
        throw new Error(
          `${session.cluster.logs()}\nPackets disagree with the oracle:\n${failures.slice(0, 20).join("\n")}`,
        );
    }
    wire?.check();
  } finally {
    await session.stop();
  }
  return { ...totals, wrong: 0 };
}

export const oracleKernel: Scenario = {
  name: "oracle-kernel",
  summary: "the oracle's cases through real packets across two hosts, TCP, UDP and SCTP (--quick: 60 or more of them)",
  run: (options) => {
    const cases = loadOracleCases();
    return runOracleCases(options.quick ? someCases(cases) : cases, options);
  },
};
