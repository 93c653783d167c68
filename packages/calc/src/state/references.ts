import { assert } from "@bulrush/base";
import type { DataplaneRule, TierInfo } from "@bulrush/proto";
import { policyIdText } from "./id-text.ts";

/** Every IP set that a rule names. */
function ipSetsOfRule(rule: DataplaneRule): string[] {
  const out: string[] = [];
  for (const ids of [
    rule.src_ip_set_ids,
    rule.dst_ip_set_ids,
    rule.src_named_port_ip_set_ids,
    rule.dst_named_port_ip_set_ids,
    rule.dst_ip_port_set_ids,
    rule.not_src_ip_set_ids,
    rule.not_dst_ip_set_ids,
    rule.not_src_named_port_ip_set_ids,
    rule.not_dst_named_port_ip_set_ids,
  ])
    if (ids !== undefined) out.push(...ids);
  return out;
}

/** Every IP set that the rules of a policy or profile name, each once. */
export function ipSetsOfRules(owner: {
  readonly inbound_rules: readonly DataplaneRule[];
  readonly outbound_rules: readonly DataplaneRule[];
}): Set<string> {
  const out = new Set<string>();
  for (const rule of owner.inbound_rules) for (const id of ipSetsOfRule(rule)) out.add(id);
  for (const rule of owner.outbound_rules) for (const id of ipSetsOfRule(rule)) out.add(id);
  return out;
}

/** Every policy that the tiers name, each once. */
export function policiesOfTiers(...lists: readonly (readonly TierInfo[])[]): Set<string> {
  const out = new Set<string>();
  for (const tiers of lists)
    for (const tier of tiers) {
      for (const id of tier.ingress_policies) out.add(policyIdText(id));
      for (const id of tier.egress_policies) out.add(policyIdText(id));
    }
  return out;
}

/**
 * Who refers to what: counts, by name of the thing referred to.
 *
 * Invariant: every count is above zero, and is the number of owners that hold the name.
 */
export class ReferenceCounts {
  readonly #counts = new Map<string, number>();
  readonly #byOwner = new Map<string, ReadonlySet<string>>();

  /** Replaces what `owner` refers to. */
  set(owner: string, names: ReadonlySet<string>): void {
    const old = this.#byOwner.get(owner);
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    if (names.size === 0) this.#byOwner.delete(owner);
    else this.#byOwner.set(owner, names);
    if (old !== undefined) for (const name of old) this.#drop(name);
  }

  has(name: string): boolean {
    return this.#counts.has(name);
  }

  #drop(name: string): void {
    const count = this.#counts.get(name);
    assert(count !== undefined, () => `Reference to ${name} was not counted`);
    if (count === 1) this.#counts.delete(name);
    else this.#counts.set(name, count - 1);
  }
}
