import { compareStrings } from "@bulrush/base";
import type { CountedRule, NftConnection } from "@bulrush/nftables";

/** Packets that one rule has seen, of both families and all hooks. */
export interface RuleCounter {
  /** "" for what belongs to no tier: profiles, and ends of endpoints. */
  readonly tier: string;
  /** "np/default/allow-dns", "gnp/base"; "profile NAME"; "" for what an endpoint's own chains do. */
  readonly policy: string;
  readonly direction: "ingress" | "egress";
  /** As the ruleset comments it: "rule 0", "End of tier default", "Drop if no profiles matched", "Connection limit". */
  readonly rule: string;
  readonly packets: bigint;
  readonly bytes: bigint;
}

const FAMILIES = ["ip", "ip6"] as const;
const TABLE = "calico";

/** Chains of policies and profiles, and of endpoints (render/names.ts). */
const POLICY_CHAIN = /^(?:raw|mangle|filter)-cali-(pi|po|pri|pro)-(.+)$/;
const ENDPOINT_CHAIN = /^(?:raw|mangle|filter)-cali-(tw|fw|tl|fl|tr|fr|th|fh|thfw|fhfw)-/;
const GROUP_CHAIN = /^(?:raw|mangle|filter)-cali-(gi|go)-/;
const INGRESS: ReadonlySet<string> = new Set(["pi", "pri", "tw", "tl", "tr", "fh", "fhfw"]);
const TIER_START = "Start of tier ";
const TIER_END = "End of tier ";

/**
 * What the rules of policies and profiles, and the ends of tiers and endpoints, have counted since their chain was
 * written last. Read from the kernel, and from nothing else: tiers are told by the comments of endpoint chains. Sorted by
 * tier, policy, direction and rule. Throws an NftError when the listing fails.
 */
export function readRuleCounters(nft: Pick<NftConnection, "rules">): RuleCounter[] {
  const sums = new Map<string, { -readonly [K in keyof RuleCounter]: RuleCounter[K] }>();
  for (const family of FAMILIES) {
    const rules = nft.rules(family, TABLE);
    const tiers = tiersOf(rules);
    for (const counted of rules) {
      const counter = counterOf(counted, tiers);
      if (counter === undefined) continue;
      const key = [counter.tier, counter.policy, counter.direction, counter.rule].join("\u0000");
      const sum = sums.get(key);
      if (sum === undefined) sums.set(key, { ...counter });
      else {
        sum.packets += counter.packets;
        sum.bytes += counter.bytes;
      }
    }
  }
  return [...sums].sort(([a], [b]) => compareStrings(a, b)).map(([, counter]) => counter);
}

/** The tier of each policy chain: that under whose heading endpoint chains jump to it, or to a group that jumps to it. */
function tiersOf(rules: readonly CountedRule[]): ReadonlyMap<string, string> {
  const tiers = new Map<string, string>();
  let chain = "";
  let tier = "";
  for (const { chain: own, comment, target } of rules) {
    if (own !== chain) tier = "";
    chain = own;
    if (comment?.startsWith(TIER_START) === true && ENDPOINT_CHAIN.test(own)) tier = comment.slice(TIER_START.length);
    if (target !== undefined && tier !== "") tiers.set(target, tier);
  }
  for (const { chain: group, target } of rules) {
    const tierOfGroup = target !== undefined && GROUP_CHAIN.test(group) ? tiers.get(group) : undefined;
    if (target !== undefined && tierOfGroup !== undefined) tiers.set(target, tierOfGroup);
  }
  return tiers;
}

function counterOf(
  { chain, comment = "", counter }: CountedRule,
  tiers: ReadonlyMap<string, string>,
): RuleCounter | undefined {
  if (counter === undefined || comment === "") return undefined;
  const { bytes, packets } = counter;
  const [, kind = "", name = ""] = POLICY_CHAIN.exec(chain) ?? [];
  if (kind !== "") {
    const isProfile = kind.startsWith("pr");
    return {
      tier: isProfile ? "" : (tiers.get(chain) ?? ""),
      policy: isProfile ? `profile ${name}` : name,
      direction: INGRESS.has(kind) ? "ingress" : "egress",
      rule: comment,
      packets,
      bytes,
    };
  }
  const [, endpoint] = ENDPOINT_CHAIN.exec(chain) ?? [];
  if (endpoint === undefined) return undefined;
  const tier = comment.startsWith(TIER_END) ? comment.slice(TIER_END.length) : "";
  return { tier, policy: "", direction: INGRESS.has(endpoint) ? "ingress" : "egress", rule: comment, packets, bytes };
}

/**
 * At most `most` counters: the busiest ones as they are, and the rest as one a direction with the policy `(others)`, so
 * that the sum stays right.
 */
export function busiest(counters: readonly RuleCounter[], most: number): RuleCounter[] {
  if (counters.length <= most) return [...counters];
  const sorted = counters.toSorted((a, b) => (a.packets === b.packets ? 0 : a.packets > b.packets ? -1 : 1));
  const bound = Math.max(0, most - 2);
  const kept = sorted.slice(0, bound);
  for (const direction of ["ingress", "egress"] as const) {
    const rest = sorted.slice(bound).filter((counter) => counter.direction === direction);
    let [packets, bytes] = [0n, 0n];
    for (const counter of rest) {
      packets += counter.packets;
      bytes += counter.bytes;
    }
    if (rest.length > 0) kept.push({ tier: "", policy: "(others)", direction, rule: "", packets, bytes });
  }
  return kept;
}
