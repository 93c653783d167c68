import type { ChainState } from "@bulrush/nftables";
import type { DataplanePolicy, DataplaneProfile, DataplaneRule, PolicyID } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { chain, type Layer } from "./layer.ts";
import { type Direction, policyChain, profileChain } from "./names.ts";
import type { RuleOwner } from "./rule/log-prefix.ts";
import { renderRules } from "./rule/render-rule.ts";
import type { SetLookup } from "./set-shape.ts";
import type { Family } from "./statements.ts";

/** One direction of a policy or profile in one layer, before it is rendered for a family. */
export interface PolicyChain {
  readonly layer: Layer;
  readonly direction: Direction;
  /** Without the layer. */
  readonly name: string;
  readonly rules: readonly DataplaneRule[];
  readonly owner: RuleOwner;
}

const DIRECTIONS: readonly Direction[] = ["ingress", "egress"];

/** True for kinds that are evaluated for reports only: they have no chains and count for nothing here. */
export function isStaged(id: PolicyID): boolean {
  return id.kind.startsWith("Staged");
}

/**
 * The layers whose endpoint chains may jump to a policy: do-not-track policy runs ahead of conntrack, pre-DNAT policy
 * ahead of NAT, and normal policy in filter and (for what was DNATed past filter's OUTPUT) in mangle.
 */
function policyLayers(policy: DataplanePolicy): readonly Layer[] {
  if (policy.untracked) return ["raw"];
  return policy.pre_dnat ? ["mangle"] : ["filter", "mangle"];
}

/** `cali-pi-` and `cali-po-` of one policy, for each of its layers. A staged policy has none. */
export function policyChains(id: PolicyID, policy: DataplanePolicy): PolicyChain[] {
  if (isStaged(id)) return [];
  const owner: RuleOwner = { kind: "policy", id, tier: policy.tier };
  return policyLayers(policy).flatMap((layer) =>
    DIRECTIONS.map((direction) => ({
      layer,
      direction,
      name: policyChain(direction, id),
      rules: direction === "ingress" ? policy.inbound_rules : policy.outbound_rules,
      owner,
    })),
  );
}

/** `cali-pri-` and `cali-pro-` of one profile. Profiles follow normal policy, so they have its layers. */
export function profileChains(name: string, profile: DataplaneProfile): PolicyChain[] {
  const owner: RuleOwner = { kind: "profile", name };
  return (["filter", "mangle"] as const).flatMap((layer) =>
    DIRECTIONS.map((direction) => ({
      layer,
      direction,
      name: profileChain(direction, name),
      rules: direction === "ingress" ? profile.inbound_rules : profile.outbound_rules,
      owner,
    })),
  );
}

export function renderPolicyChain(
  { direction, layer, name, owner, rules }: PolicyChain,
  family: Family,
  config: DataplaneConfig,
  sets: SetLookup,
): ChainState {
  return chain(layer, name, renderRules(rules, { layer, direction, family, config, sets, owner }));
}
