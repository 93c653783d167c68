import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources, loadManifests } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import { Judge } from "../lab/judge.ts";
import { describeSemanticsFlow, loadSemanticsCases, type SemanticsCase } from "./case.ts";

interface LoadedCase {
  readonly updates: readonly Update[];
  readonly problems: readonly unknown[];
}

async function load({ manifests }: SemanticsCase): Promise<LoadedCase> {
  const loaded = await Promise.all(manifests.map((path) => loadManifests(path)));
  const resources = loaded.flatMap((manifest) => manifest.resources);
  const { updates, problems } = convertResources(resources);
  return { updates, problems: [...loaded.flatMap((manifest) => manifest.problems), ...problems] };
}

/** Each flow that the graph judges otherwise than its file, with place and reasons. */
function disagreements(judge: Judge, { flowFile, flows }: SemanticsCase): string[] {
  return flows.flatMap((flow) => {
    const { from, to, protocol, port, sourcePort, ipVersion } = flow;
    const answer = judge.explain({
      source: { workload: from },
      destination: { workload: to },
      protocol,
      port,
      ...(sourcePort === undefined ? {} : { sourcePort }),
      ...(ipVersion === undefined ? {} : { ipVersion }),
    });
    if (answer.verdict === flow.verdict) return [];
    const why = `egress: ${answer.egress?.why}; ingress: ${answer.ingress?.why}`;
    return [
      `${flowFile}:${flow.line}: ${describeSemanticsFlow(flow)} is to be ${flow.verdict}, explained ${answer.verdict} (${why})`,
    ];
  });
}

const cases = loadSemanticsCases();

for (const semantics of cases)
  test(`semantics case ${semantics.name}: ${semantics.title}`, async () => {
    const { updates, problems } = await load(semantics);
    if (semantics.reportsProblems) assert.notDeepEqual(problems, []);
    else assert.deepEqual(problems, []);
    const judge = new Judge();
    judge.update(updates);
    assert.deepEqual(disagreements(judge, semantics), []);
  });

test("semantics cases one after another on one graph, to the last and back, agree as well", async () => {
  const judge = new Judge();
  const wrong: string[] = [];
  for (const semantics of [...cases, ...cases.toReversed()]) {
    judge.update((await load(semantics)).updates);
    wrong.push(...disagreements(judge, semantics));
  }
  assert.deepEqual(wrong, []);
});
