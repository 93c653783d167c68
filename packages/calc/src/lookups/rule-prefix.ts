import { base64Url, sha224 } from "@bulrush/base";
import type { PolicyID } from "@bulrush/proto";

/** What decided over a packet, as a log line of the kernel names it. */
export type RuleHit =
  | {
      readonly what: "rule";
      readonly direction: HitDirection;
      readonly action: HitAction;
      /** From 0, within its direction. */
      readonly index: number;
      /** A policy, or a profile by its name. */
      readonly owner: PolicyID | string;
      /** "" for a profile. */
      readonly tier: string;
    }
  | {
      readonly what: "tier-end";
      readonly direction: HitDirection;
      readonly action: "deny" | "pass";
      readonly tier: string;
    }
  | { readonly what: "no-profile-matched"; readonly direction: HitDirection; readonly action: "deny" };

/** As the endpoint sees it: "ingress" is towards it. */
export type HitDirection = "ingress" | "egress";
/** What the rule did; a rule that only logs is none. */
export type HitAction = "allow" | "deny" | "pass";

/** NFLOG takes 63 characters and the end of the text (linux/netfilter/xt_NFLOG.h). */
const MAX_PREFIX_LENGTH = 63;

const SHORT_KINDS: Readonly<Record<string, string>> = {
  NetworkPolicy: "np",
  GlobalNetworkPolicy: "gnp",
  KubernetesNetworkPolicy: "knp",
  KubernetesClusterNetworkPolicy: "kcnp",
  StagedNetworkPolicy: "snp",
  StagedGlobalNetworkPolicy: "sgnp",
  StagedKubernetesNetworkPolicy: "sknp",
};

/**
 * The prefix of log lines: action (A, D, P), owner (P for policies, R for profiles), direction (I, E), then for a rule
 * its index and, after a bar, whose it is: `API0|np/shop/web`, `DRE1|pro/kns.shop`. The end of a tier is `DPI|tier`, that of
 * the profiles `DRI`. What is too long keeps its head and has a hash of the whole.
 */
export function rulePrefix(hit: RuleHit): string {
  const letters = `${hit.action.slice(0, 1).toUpperCase()}${ownerLetter(hit)}${hit.direction.slice(0, 1).toUpperCase()}`;
  switch (hit.what) {
    case "rule":
      return bounded(`${letters}${hit.index}`, ownerText(hit.owner));
    case "tier-end":
      return bounded(letters, hit.tier);
    case "no-profile-matched":
      return letters;
  }
}

function ownerLetter(hit: RuleHit): string {
  if (hit.what === "tier-end") return "P";
  return hit.what === "rule" && typeof hit.owner !== "string" ? "P" : "R";
}

function ownerText(owner: PolicyID | string): string {
  if (typeof owner === "string") return `pro/${owner}`;
  const kind = SHORT_KINDS[owner.kind] ?? owner.kind;
  return owner.namespace === "" ? `${kind}/${owner.name}` : `${kind}/${owner.namespace}/${owner.name}`;
}

function bounded(head: string, text: string): string {
  const whole = `${head}|${text}`;
  if (whole.length < MAX_PREFIX_LENGTH) return whole;
  return `${head}|_${base64Url(sha224(text))}`.slice(0, MAX_PREFIX_LENGTH - 1);
}
