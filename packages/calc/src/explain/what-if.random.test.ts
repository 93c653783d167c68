import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { formatKey, type Policy, type PolicyKey } from "@bulrush/model";
import { dice } from "../testing/brute-force/dice.ts";
import { randomFlow } from "../testing/brute-force/random-flow.ts";
import { randomContents } from "../testing/brute-force/sequence.ts";
import { type KV, update } from "../testing/harness.ts";
import { Explainer } from "./explainer.ts";
import type { Outcome, SideVerdict } from "./flow.ts";

const CLUSTERS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 2_000 : 100;
const FLOWS = 20;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

/** Policies of two kinds have no name in common, but for a staged one and that which it stands for. */
function named({ key, value }: KV): KV {
  if (key.type !== "Policy") return { key, value };
  return { key: { ...key, name: `${key.kind.replace("Staged", "").toLowerCase()}-${key.name}` }, value };
}

/** The contents with every staged policy in force. */
function enforced(kvs: ReadonlyMap<string, KV>): ReadonlyMap<string, KV> {
  const out = new Map(kvs);
  for (const [path, { key, value }] of kvs) {
    if (key.type !== "Policy" || !key.kind.startsWith("Staged")) continue;
    out.delete(path);
    const real = { ...key, kind: key.kind.slice("Staged".length) } as PolicyKey;
    const { staged_action: action, ...policy } = value as Policy;
    if (action === "Delete") out.delete(formatKey(real));
    else out.set(formatKey(real), { key: real, value: policy });
  }
  return out;
}

/** The contents without one rule. */
function withoutRule(
  kvs: ReadonlyMap<string, KV>,
  side: Outcome,
  direction: "egress" | "ingress",
): ReadonlyMap<string, KV> {
  const list = direction === "ingress" ? "inbound_rules" : "outbound_rules";
  const isIt = ({ key }: KV): boolean => {
    if (key.type === "ProfileRules") return `profile/${key.name}` === side.policy;
    if (key.type !== "Policy") return false;
    return [key.kind, key.namespace, key.name].filter((part) => part !== "").join("/") === side.policy;
  };
  return new Map(
    [...kvs].map(([path, kv]) => {
      if (!isIt(kv)) return [path, kv];
      const value = kv.value as Policy;
      return [path, { key: kv.key, value: { ...value, [list]: value[list].filter((_, i) => i !== side.rule) } }];
    }),
  );
}

function explainerOf(kvs: ReadonlyMap<string, KV>): Explainer {
  const explainer = new Explainer();
  explainer.update([...kvs.values()].map(({ key, value }) => update(key, value)));
  return explainer;
}

test("Explainer says of staged policies what happens when they are enforced, and of next what happens without", (t) => {
  const seen = { staged: 0, changed: 0, next: 0 };
  for (let seed = SEED; seed < SEED + CLUSTERS; seed++) {
    const d = dice(seededRandom(seed));
    const kvs = new Map(
      randomContents(d)
        .map(named)
        .map((kv) => [formatKey(kv.key), kv] as const),
    );
    const now = explainerOf(kvs);
    const later = explainerOf(enforced(kvs));
    for (let i = 0; i < FLOWS; i++) {
      const flow = randomFlow(d, kvs)?.flow;
      if (flow === undefined) continue;
      const where = (): string => `seed ${seed} (BULRUSH_SEED=${seed} begins with it): ${inspect(flow, { depth: 5 })}`;
      const said = now.explain(flow, true);
      const real = later.explain(flow);
      assert.equal(said.staged ?? said.verdict, real.verdict, where());
      if (said.staged !== undefined) seen.staged++;
      if (said.staged !== undefined && said.staged !== said.verdict) seen.changed++;
      for (const direction of ["egress", "ingress"] as const) {
        const side: SideVerdict | undefined = said[direction];
        // A profile that nobody defined is no list to take a rule from.
        if (side?.next === undefined || side.rule === null || !isDefined(kvs, side.policy) || !d.chance(0.3)) continue;
        const without: SideVerdict | undefined = explainerOf(withoutRule(kvs, side, direction)).explain(flow)[
          direction
        ];
        assert.equal(side.next.verdict, without?.verdict, where());
        assert.deepEqual([side.next.tier, side.next.policy], [without?.tier, without?.policy], where());
        seen.next++;
      }
    }
  }
  t.diagnostic(`${CLUSTERS} clusters from seed ${SEED}: ${JSON.stringify(seen)}`);
  assert.ok(seen.staged > 50 && seen.changed > 10 && seen.next > 50, JSON.stringify(seen));
});

function isDefined(kvs: ReadonlyMap<string, KV>, policy: string): boolean {
  return !policy.startsWith("profile/") || kvs.has(`/calico/v1/policy/${policy.replaceAll("%", "%25")}/rules`);
}
