import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { formatKey } from "@bulrush/model";
import { explainFlow } from "../../explain/explain-flow.ts";
import type { SideVerdict } from "../../explain/flow.ts";
import { DEFAULT_CALC_CONFIG } from "../../graph/config.ts";
import { type KV, Rig } from "../harness.ts";
import type { View } from "./contents.ts";
import { Coverage, POLICY_COVERAGE } from "./coverage.ts";
import { dice } from "./dice.ts";
import { randomFlow, type RandomFlow } from "./random-flow.ts";
import { randomContents, type Sequence } from "./sequence.ts";
import { shrink } from "./shrink.ts";
import { judge, type NaiveVerdict } from "./verdict.ts";

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";
const CLUSTERS = IS_LONG ? 5_000 : 200;
const FLOWS = 40;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

/** Every reason that a verdict can have, and that a rule can have not to hold. */
const REASONS = [
  "allow by a policy",
  "deny by a policy",
  "end of a tier",
  "end of an unknown tier",
  "end of a tier that passes",
  "tier without an enforced policy",
  "staged",
  "pass",
  "log",
  "allow by a profile",
  "deny by a profile",
  "pass in a profile",
  "unknown profile",
  "no profile",
  "no profile decided",
  "inactive",
  "to itself",
  "omitted ip_version",
  "not-matched protocol",
  "not-matched !protocol",
  "not-matched icmp_type",
  "not-matched !icmp_type",
  ...["src", "dst"].flatMap((end) => [
    `omitted ${end}_nets`,
    `omitted !${end}_nets`,
    `omitted !${end}_nets of all`,
    `not-matched ${end}_nets`,
    `not-matched !${end}_nets`,
    `not-matched ${end}_selector`,
    `not-matched !${end}_selector`,
    `not-matched ${end}_service`,
    `not-matched ${end}_ports`,
    `not-matched ${end}_ports, named`,
    `not-matched !${end}_ports`,
    `not-matched !${end}_ports, named`,
  ]),
];

test("explainFlow() says of any flow what reading all policies says", (t) => {
  const coverage = new Coverage();
  const verdicts = { allow: 0, deny: 0 };
  for (let seed = SEED; seed < SEED + CLUSTERS; seed++) {
    const random = seededRandom(seed);
    const kvs = randomContents(dice(random));
    const view = viewOf(kvs);
    const rig = graphOf(kvs);
    coverage.addContents(view.contents);
    for (let i = 0; i < FLOWS; i++) {
      const flow = randomFlow(dice(random), view.contents);
      if (flow === undefined) continue;
      const problem = problemOf(rig, view, flow, (verdict, side) => {
        if (side === undefined) verdicts[verdict]++;
        else for (const reason of side.reasons) coverage.add(`reason: ${reason}`);
      });
      if (problem !== undefined) fail(seed, kvs, flow, problem);
    }
  }
  t.diagnostic(`${CLUSTERS} clusters from seed ${SEED}, ${verdicts.allow} flows allowed, ${verdicts.deny} denied`);
  for (const line of coverage.report()) t.diagnostic(line);
  const reasons = REASONS.map((reason) => `reason: ${reason}`);
  assert.deepEqual(coverage.missing([...POLICY_COVERAGE, ...reasons], 3), [], "something was hardly there");
  const share = verdicts.allow / (verdicts.allow + verdicts.deny);
  assert.ok(share > 0.25 && share < 0.75, `${share} of the flows are allowed`);
});

function viewOf(kvs: readonly KV[]): View {
  const contents = new Map(kvs.map((kv) => [formatKey(kv.key), kv]));
  return { contents, hostname: "*", config: DEFAULT_CALC_CONFIG };
}

function graphOf(kvs: readonly KV[]): Rig {
  const rig = new Rig("*");
  rig.go(kvs);
  rig.inSync();
  rig.flush();
  return rig;
}

/** What one sends to itself is let through, whatever policy says. */
const TO_ITSELF: NaiveVerdict = {
  verdict: "allow",
  tier: "",
  policy: "",
  rule: null,
  steps: [{ tier: "", policy: "", rule: null, outcome: "ended", action: "allow" }],
  reasons: ["to itself"],
};

type OnVerdict = (verdict: "allow" | "deny", side?: NaiveVerdict) => void;

/** What differs, if anything does. */
function problemOf(rig: Rig, view: View, random: RandomFlow, onVerdict?: OnVerdict): string | undefined {
  const { flow, packet, source, destination } = random;
  const toItself = source === destination && source?.state === "active" ? TO_ITSELF : undefined;
  const egress = source && (toItself ?? judge(view, source, "egress", packet));
  const ingress = destination && (toItself ?? judge(view, destination, "ingress", packet));
  const sides = [egress, ingress].filter((side) => side !== undefined);
  const verdict = sides.every((side) => side.verdict === "allow") ? "allow" : "deny";
  try {
    const said = explainFlow(rig.state, flow, { describeIpSet: (id) => rig.graph.describeIpSet(id) });
    assert.deepEqual(plainSide(said.egress), plainSide(egress), "egress");
    assert.deepEqual(plainSide(said.ingress), plainSide(ingress), "ingress");
    assert.equal(said.ipVersion, packet.ipVersion);
    assert.equal(said.verdict, verdict);
  } catch (error) {
    return (error as Error).message;
  }
  onVerdict?.(verdict);
  for (const side of sides) onVerdict?.(verdict, side);
  return undefined;
}

function plainSide(side: SideVerdict | NaiveVerdict | undefined): object | undefined {
  if (side === undefined) return undefined;
  const { verdict, tier, policy, rule, steps } = side;
  return {
    verdict,
    tier,
    policy,
    rule,
    steps: steps.map((step) => [step.tier, step.policy, step.rule, step.outcome, step.action].join(" | ")),
  };
}

/** Fails with the smallest contents on which the flow is still judged in two ways. */
function fail(seed: number, kvs: readonly KV[], flow: RandomFlow, problem: string): never {
  const sequence: Sequence = { batch: 1, view: viewOf(kvs), steps: kvs.map((set) => ({ set })) };
  const kvsOf = ({ steps }: Sequence): KV[] => steps.flatMap((step) => ("set" in step ? [step.set] : []));
  const again = (one: Sequence): string | undefined => {
    try {
      const left = kvsOf(one);
      const view = viewOf(left);
      // The ends of the flow are what they were.
      for (const end of [flow.source, flow.destination])
        if (end !== undefined && !left.some((kv) => kv.value === end)) return undefined;
      return problemOf(graphOf(left), view, flow);
    } catch {
      return undefined;
    }
  };
  const [headline] = problem.split("\n");
  const small = shrink(sequence, (one) => again(one)?.split("\n")[0] === headline);
  const shown = inspect({ flow: flow.flow, contents: kvsOf(small) }, { depth: 20 });
  assert.fail(`seed ${seed} (BULRUSH_SEED=${seed} begins with it):\n${again(small) ?? problem}\n${shown}`);
}
