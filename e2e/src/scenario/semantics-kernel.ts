import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PodFlow } from "../lab/matrix.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { loadSemanticsCases, type SemanticsCase } from "../semantics/case.ts";
import { WORK_DIR } from "./guarded-world.ts";
import type { Scenario } from "./scenario.ts";

const MANIFESTS: string = join(WORK_DIR, "manifests");

/** The world stays; the case's own manifests take the place of those of the case before. */
function showCase({ manifests }: SemanticsCase): void {
  const [world, own] = manifests;
  if (world === undefined || own === undefined) throw new Error("A case has a world and manifests of its own");
  writeManifest(join(MANIFESTS, "world.yaml"), readFileSync(world, "utf8"));
  writeManifest(join(MANIFESTS, "case.yaml"), readFileSync(own, "utf8"));
}

async function wrongFlows(session: LabSession, one: SemanticsCase): Promise<string[]> {
  const pods = new Map(session.plan.pods.map((pod) => [pod.name, pod]));
  const flows = one.flows.map((flow): PodFlow => {
    const from = pods.get(flow.from);
    const to = pods.get(flow.to);
    if (from === undefined || to === undefined) throw new Error(`The lab lacks ${flow.from} or ${flow.to}`);
    const families = flow.ipVersion === undefined ? ([4, 6] as const) : [flow.ipVersion];
    const address = families
      .filter((family) => from.addresses.some((own) => own.family === family))
      .map((family) => to.addresses.find((other) => other.family === family))
      .find((found) => found !== undefined);
    if (address === undefined) throw new Error(`${flow.from} and ${flow.to} have no address family in common`);
    return { from, to, address, protocol: flow.protocol, port: flow.port };
  });
  const answers = await session.cluster.prober.run(
    flows.map(({ from, address, protocol, port }, i) => {
      const pod = session.cluster.network.pod(from.name);
      const flow = one.flows[i];
      if (pod === undefined || flow === undefined) throw new Error(`The lab lacks the pod ${from.name}`);
      const source = flow.sourcePort === undefined ? {} : { sourcePort: flow.sourcePort };
      return { from: pod.namespace, to: address, protocol, port, expect: flow.verdict === "allow", ...source };
    }),
  );
  return one.flows.flatMap((flow, i) =>
    answers[i] === (flow.verdict === "allow")
      ? []
      : [
          `${one.flowFile}:${flow.line}: ${flow.from} -> ${flow.to} ${flow.protocol}/${flow.port} ${answers[i] === true ? "connects" : "does not connect"}`,
        ],
  );
}

export const semanticsKernel: Scenario = {
  name: "semantics-kernel",
  summary: "the hand-written cases of Calico's semantics (tiers, sets, named ports, ...) through real packets",
  async run({ progress }) {
    const cases = loadSemanticsCases().filter(({ explainOnly }) => !explainOnly);
    const first = cases[0];
    if (first === undefined) throw new Error("There are no cases");
    showCase(first);
    const session = await LabSession.start({ workDir: WORK_DIR, manifestDir: MANIFESTS });
    let flows = 0;
    try {
      for (const one of cases) {
        showCase(one);
        await session.refresh();
        const wrong = await wrongFlows(session, one);
        if (wrong.length > 0)
          throw new Error(`${session.cluster.logs()}\n${one.name} (${one.title}):\n${wrong.join("\n")}`);
        flows += one.flows.length;
      }
      progress(`${cases.length} cases, ${flows} flows, all as written`);
    } finally {
      await session.stop();
    }
    return { cases: cases.length, flows, wrong: 0 };
  },
};
