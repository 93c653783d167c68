import { createHash } from "node:crypto";
import type { Direction } from "../render/names.ts";

/** The packet log's groups: what comes to an endpoint, and what leaves it. As in the reference system. */
export const FLOW_LOG_GROUPS: Readonly<Record<Direction, number>> = { ingress: 1, egress: 2 };

/** What a prefix of the packet log says: whose rule it was, and what it did. */
export interface FlowSource {
  readonly verdict: "deny" | "log";
  readonly direction: Direction;
  /** "" for profiles, and where no tier has decided. */
  readonly tier: string;
  /** "np/default/allow-dns", "gnp/base"; "profile NAME"; "" for the ends of tiers and endpoints. */
  readonly policy: string;
  /** "rule 0"; "end of tier"; "no profile". */
  readonly rule: string;
}

const MARK = "B1";
const SEPARATOR = "|";
/** The kernel keeps 127 bytes and a NUL (NF_LOG_PREFIXLEN). Tier and policy share what the other fields leave. */
const MAX_TIER = 40;
const MAX_POLICY = 60;

/**
 * The prefix of a log statement: mark, verdict, direction, tier, policy, rule. Names that do not fit are cut, and end
 * in `~` and a piece of their hash, so that they stay apart.
 */
export function formatFlowPrefix({ direction, policy, rule, tier, verdict }: FlowSource): string {
  const way = direction === "ingress" ? "I" : "E";
  return [MARK, verdict === "deny" ? "D" : "L", way, cut(tier, MAX_TIER), cut(policy, MAX_POLICY), rule].join(
    SEPARATOR,
  );
}

/** `undefined` for prefixes of others. */
export function parseFlowPrefix(prefix: string): FlowSource | undefined {
  const [mark, verdict, way, tier, policy, rule, ...more] = prefix.split(SEPARATOR);
  if (mark !== MARK || tier === undefined || policy === undefined || rule === undefined || more.length > 0)
    return undefined;
  if ((verdict !== "D" && verdict !== "L") || (way !== "I" && way !== "E")) return undefined;
  return {
    verdict: verdict === "D" ? "deny" : "log",
    direction: way === "I" ? "ingress" : "egress",
    tier,
    policy,
    rule,
  };
}

function cut(name: string, most: number): string {
  const clean = name.replace(/[^ -~]|["\\|]/g, "_");
  if (clean.length <= most && clean === name) return name;
  const hash = createHash("sha256").update(name).digest("base64url").slice(0, 8);
  return `${clean.slice(0, most - hash.length - 1)}~${hash}`;
}
