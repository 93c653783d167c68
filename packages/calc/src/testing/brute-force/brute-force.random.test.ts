import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { formatKey, sameValue, validateV1, type Value } from "@bulrush/model";
import { Coverage, FULL_COVERAGE } from "./coverage.ts";
import { dice } from "./dice.ts";
import { runSequence } from "./run-sequence.ts";
import { randomSequence, type Sequence } from "./sequence.ts";
import { setId } from "./sets.ts";
import { shrink } from "./shrink.ts";

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";
const SEQUENCES = IS_LONG ? 10_000 : 200;
/** The first seed; each sequence has one of its own. Another may be given, to look elsewhere or to repeat one. */
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

test("the sets of the model have the ids that are published", () => {
  const ids = [
    setId({ kind: "selector", selector: "all()" }),
    setId({ kind: "named-port", selector: "all()", protocol: "tcp", port: "tcpport" }),
    setId({ kind: "service", service: "default/svc", withPorts: true }),
    setId({ kind: "service", service: "default/svc", withPorts: false }),
  ];
  assert.deepEqual(ids, [
    "s:5y5I3VdRZfDU01O--xXAPx2yxCQQqMf0M6IWug",
    "n:RMAIMXhhyW5sWWm_0o9euzK6TlyAbtjf6Ta9Jw",
    "svc:Jhwii46PCMT5NlhWsUqZmv7al8TeHFbNQMhoVg",
    "svcnoport:T03S_6hogdrGKrNFBcbKTFsH_uKwDHEo8JddOg",
  ]);
});

test("CalcGraph gives after any sequence what a brute-force model says", (t) => {
  const coverage = new Coverage();
  for (let seed = SEED; seed < SEED + SEQUENCES; seed++) {
    const sequence = randomSequence(dice(seededRandom(seed)));
    assert.deepEqual(issuesOf(sequence), [], `seed ${seed}: what is made up must be valid`);
    countSteps(sequence, coverage);
    const problem = problemOf(sequence, coverage);
    if (problem !== undefined) fail(seed, sequence, problem);
  }
  t.diagnostic(`${SEQUENCES} sequences from seed ${SEED}`);
  for (const line of coverage.report()) t.diagnostic(line);
  const wanted = [...FULL_COVERAGE, ...SECTIONS.map((section) => `compared ${section}`), ...STEPS];
  assert.deepEqual(coverage.missing(wanted, 3), [], "something was hardly there");
});

/** What of the dataplane's state must have been there to be compared. */
const SECTIONS = [
  "ipSets",
  "policies",
  "profiles",
  "workloadEndpoints",
  "hostEndpoints",
  "routes",
  "vteps",
  "hostMetadata",
  "ipamPools",
  "services",
  "namespaces",
  "serviceAccounts",
  "wireguard",
  "wireguardV6",
];

const STEPS = ["add", "change", "repeat", "delete", "spurious delete", "flush", "in-sync", "resync"].map(
  (step) => `step ${step}`,
);

function countSteps({ steps, view }: Sequence, coverage: Coverage): void {
  coverage.add(`host ${view.hostname}`);
  for (const [name, value] of Object.entries(view.config)) coverage.add(`config ${name} ${value}`);
  const live = new Map<string, Value>();
  for (const step of steps) {
    if ("set" in step) {
      const path = formatKey(step.set.key);
      const old = live.get(path);
      coverage.add(`step ${old === undefined ? "add" : sameValue(old, step.set.value) ? "repeat" : "change"}`);
      live.set(path, step.set.value);
    } else if ("drop" in step) {
      coverage.add(live.delete(formatKey(step.drop)) ? "step delete" : "step spurious delete");
    } else coverage.add(`step ${"status" in step ? step.status : "flush"}`);
  }
}

function issuesOf({ steps }: Sequence): unknown[] {
  return steps.flatMap((step) => ("set" in step ? validateV1(step.set.key, step.set.value) : []));
}

function problemOf(sequence: Sequence, coverage?: Coverage): string | undefined {
  try {
    runSequence(sequence, ({ contents }, expected) => {
      if (coverage === undefined) return;
      coverage.addContents(contents);
      for (const section of SECTIONS)
        coverage.add(`compared ${section}`, Object.keys((expected[section] ?? {}) as object).length);
    });
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Fails with the smallest sequence that still ends in the same kind of difference. */
function fail(seed: number, sequence: Sequence, problem: string): never {
  const [headline] = problem.split("\n");
  const small = shrink(
    sequence,
    (one) => issuesOf(one).length === 0 && problemOf(one)?.split("\n")[0] === headline,
    IS_LONG ? 5000 : 1000,
  );
  const steps = inspect(small, { depth: 20 });
  assert.fail(`seed ${seed} (BULRUSH_SEED=${seed} begins with it):\n${problemOf(small) ?? problem}\n${steps}`);
}
