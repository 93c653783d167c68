import { join } from "node:path";
import type { PodFlow } from "../lab/matrix.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { cellsOf, loadOracleCases, type OracleCase, type OracleStep } from "../oracle/case.ts";
import { OracleWorld } from "../oracle/world.ts";
import { WORK_DIR } from "./guarded-world.ts";
import type { Scenario, ScenarioFigures, ScenarioOptions } from "./scenario.ts";

const MANIFESTS: string = join(WORK_DIR, "manifests");
const FILE: string = join(MANIFESTS, "world.json");

/** The short form: every case of several steps, and cases until each tag has come twice where it can. */
function someCases(cases: readonly OracleCase[]): OracleCase[] {
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

async function wrongCells(session: LabSession, step: OracleStep): Promise<{ tried: number; wrong: string[] }> {
  const pods = new Map(session.plan.pods.map((pod) => [pod.name, pod]));
  const cells = cellsOf(step);
  const flows = cells.map((cell): PodFlow => {
    const from = pods.get(cell.from);
    const to = pods.get(cell.to);
    const address = to?.addresses[0];
    if (from === undefined || to === undefined || address === undefined)
      throw new Error(`The lab lacks ${cell.from} or ${cell.to}`);
    return { from, to, address, protocol: cell.protocol, port: cell.port };
  });
  const answers = await session.cluster.prober.run(
    flows.map((flow, i) => {
      const from = session.cluster.network.pod(flow.from.name);
      if (from === undefined) throw new Error(`The lab lacks the pod ${flow.from.name}`);
      const expect = cells[i]?.connects === true;
      return { from: from.namespace, to: flow.address, protocol: flow.protocol, port: flow.port, expect };
    }),
  );
  const wrong = cells.flatMap((cell, i) =>
    answers[i] === cell.connects
      ? []
      : [
          `${cell.from} -> ${cell.to} ${cell.protocol}/${cell.port} ${answers[i] === true ? "connects" : "does not connect"}`,
        ],
  );
  return { tried: cells.length, wrong };
}

async function runOracleCases(cases: readonly OracleCase[], options: ScenarioOptions): Promise<ScenarioFigures> {
  writeManifest(FILE, new OracleWorld().resources());
  const session = await LabSession.start({ workDir: WORK_DIR, manifestDir: MANIFESTS });
  const totals = { cases: 0, steps: 0, cells: 0 };
  const failures: string[] = [];
  try {
    await session.refresh();
    for (const one of cases) {
      const world = new OracleWorld();
      for (const [i, step] of one.steps.entries()) {
        for (const action of step.actions) world.apply(action);
        writeManifest(FILE, world.resources());
        await session.refresh();
        const { tried, wrong } = await wrongCells(session, step);
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
