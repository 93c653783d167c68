import { type FlowText, type FlowVerdict, type Outcome, parseFlow } from "@bulrush/calc";
import type { Explainer } from "../flow/explain-input.ts";
import { decidedBy } from "../flow/print-verdict.ts";
import type { PolicyTest, SideExpectation } from "./test-file.ts";

/** One thing that is not as expected. */
interface Difference {
  /** "verdict", "by", "egress", "egress by", "staged" and so on. */
  readonly what: string;
  readonly expected: string;
  readonly actual: string;
}

export interface FlowResult {
  readonly flow: FlowText;
  /** Why the flow cannot be judged. */
  readonly error?: string;
  readonly verdict?: FlowVerdict;
  /** None: as expected. */
  readonly differences: readonly Difference[];
}

export interface TestResult {
  readonly test: PolicyTest;
  readonly passed: boolean;
  readonly flows: readonly FlowResult[];
}

/** Judges every flow of a test; a service stands for its backends. A flow that cannot be judged fails it. */
export function runTest(test: PolicyTest, explainer: Explainer): TestResult {
  const flows = test.flows.flatMap((flow): FlowResult[] => {
    const targets = explainer.targets(flow);
    return "problem" in targets ? [{ flow, error: targets.problem, differences: [] }] : targets.flows.map(judge);
  });
  function judge(flow: FlowText): FlowResult {
    const parsed = parseFlow(flow, explainer.ends);
    if ("problem" in parsed) return { flow, error: parsed.problem, differences: [] };
    const verdict = explainer.explain(parsed.flow, test.staged !== undefined);
    return { flow, verdict, differences: differencesOf(test, verdict) };
  }
  return {
    test,
    passed: flows.every(({ error, differences }) => error === undefined && differences.length === 0),
    flows,
  };
}

function differencesOf(test: PolicyTest, verdict: FlowVerdict): Difference[] {
  const out: Difference[] = [];
  const compare = (what: string, expected: string | undefined, actual: string): void => {
    if (expected !== undefined && expected !== actual) out.push({ what, expected, actual });
  };
  compare("verdict", test.expect, verdict.verdict);
  if (test.by !== undefined) {
    const by = test.by;
    const sides = [verdict.egress, verdict.ingress, ...(verdict.hosts ?? [])].filter((side) => side !== undefined);
    // Who is said to deny must be who denies; to allow, all sides allow, and one of them must be it.
    const deciding = sides.filter((side) => side.verdict === verdict.verdict);
    if (!deciding.some((side) => isDecidedBy(by, side)))
      out.push({
        what: "by",
        expected: by,
        actual: deciding.map(deciderText).join(" and ") || "nothing that is known",
      });
  }
  for (const direction of ["egress", "ingress"] as const) {
    const expected = test[direction];
    if (expected !== undefined) out.push(...sideDifferences(direction, expected, verdict[direction]));
  }
  compare("with staged policies enforced", test.staged, verdict.staged ?? verdict.verdict);
  return out;
}

function sideDifferences(direction: string, expected: SideExpectation, side: Outcome | undefined): Difference[] {
  if (side === undefined) {
    const words = [expected.expect, expected.by].filter((word) => word !== undefined).join(" by ");
    return [{ what: direction, expected: words, actual: "not judged: the end is no known endpoint" }];
  }
  const out: Difference[] = [];
  if (expected.expect !== undefined && expected.expect !== side.verdict)
    out.push({ what: direction, expected: expected.expect, actual: side.verdict });
  if (expected.by !== undefined && !isDecidedBy(expected.by, side))
    out.push({ what: `${direction} by`, expected: expected.by, actual: deciderText(side) });
  return out;
}

/** The forms of a decider: as explain prints it, without its rule or tier, or the last parts of a policy's name. */
function isDecidedBy(text: string, side: Outcome): boolean {
  if (side.policy === "")
    return side.tier !== "" && [`tier ${side.tier}`, `the end of tier ${side.tier}`].includes(text);
  const [, name = "", rule, tier] = /^(.*?)(?:, rule (\d+))?(?: \(tier (.*)\))?$/.exec(text) ?? [];
  if (tier !== undefined && tier !== side.tier) return false;
  if (rule !== undefined && Number(rule) !== side.rule) return false;
  return side.policy === name || side.policy.endsWith(`/${name}`);
}

function deciderText(side: Outcome): string {
  const decider = decidedBy(side);
  return decider === "" ? side.why : decider;
}
