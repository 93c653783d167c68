import type { PolicyID, TierInfo, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { type Layer, layered } from "../render/layer.ts";
import { type Direction, policyWord } from "../render/names.ts";
import { isStaged } from "../render/policy-chains.ts";
import { groupChain, groupPolicies, type PolicyGroup, renderGroupChain } from "../render/policy-groups.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";

/** A tier in one direction, its policies in groups. */
export interface GroupedTier {
  readonly name: string;
  readonly endsIn: TierInfo["default_action"];
  /** Not empty: tiers without a policy that counts are left out. */
  readonly groups: readonly PolicyGroup[];
}

/**
 * Which policies stand together in groups, and the chains of those that several stand in.
 *
 * A chain is withdrawn at the end of a round only, when no endpoint has taken it up meanwhile: what is in it follows from
 * its name, so it never has to be offered twice.
 *
 * Invariant: `#uses` counts, for each chain on offer, the endpoint chains that jump to it; `#byUser` names them.
 */
export class PolicyGroups implements Manager {
  /** The selector of a policy that was known before is another now: endpoints under it may have other groups. */
  readonly onSelectorChange: Listeners<undefined> = new Listeners();
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #selectors = new Map<string, string>();
  readonly #uses = new Map<string, number>();
  readonly #byUser = new Map<string, readonly string[]>();
  readonly #unused = new Set<string>();

  constructor(config: DataplaneConfig, tables: DesiredTables) {
    this.#config = config;
    this.#tables = tables;
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "ActivePolicyRemove") this.#selectors.delete(policyWord(message.id));
    if (message.msg !== "ActivePolicyUpdate") return;
    const word = policyWord(message.id);
    const selector = message.policy.original_selector;
    const before = this.#selectors.get(word);
    if (before === selector) return;
    this.#selectors.set(word, selector);
    if (before !== undefined) this.onSelectorChange.notify(undefined);
  }

  /** The tiers that count in a direction. */
  group(tiers: readonly TierInfo[], direction: Direction): GroupedTier[] {
    return tiers.flatMap(({ default_action: endsIn, egress_policies: egress, ingress_policies: ingress, name }) => {
      const policies = (direction === "ingress" ? ingress : egress).filter((id) => !isStaged(id));
      const selectorOf = (id: PolicyID): string | undefined => this.#selectors.get(policyWord(id));
      return policies.length === 0 ? [] : [{ name, endsIn, groups: groupPolicies(policies, selectorOf) }];
    });
  }

  /** From now on the user's chain jumps to the groups of these tiers (none: it is gone), and to no others. */
  use(user: string, layer: Layer, direction: Direction, tiers: readonly GroupedTier[]): void {
    const names: string[] = [];
    for (const { groups } of tiers)
      for (const group of groups) if (group.length > 1) names.push(this.#offer(layer, direction, group));
    for (const name of this.#byUser.get(user) ?? []) this.#release(name);
    if (names.length === 0) this.#byUser.delete(user);
    else this.#byUser.set(user, names);
  }

  /** Behind all who use groups. */
  completeDeferredWork(): void {
    for (const name of this.#unused)
      if (this.#uses.get(name) === 0) {
        this.#uses.delete(name);
        for (const table of this.#tables.values()) table.withdrawChain(name);
      }
    this.#unused.clear();
  }

  #offer(layer: Layer, direction: Direction, group: PolicyGroup): string {
    const name = layered(layer, groupChain(direction, group));
    const count = this.#uses.get(name);
    this.#uses.set(name, (count ?? 0) + 1);
    if (count !== undefined) return name;
    const chain = renderGroupChain(layer, direction, group, this.#config);
    for (const table of this.#tables.values()) table.offerChain(name, () => chain);
    return name;
  }

  #release(name: string): void {
    const count = (this.#uses.get(name) ?? 1) - 1;
    this.#uses.set(name, count);
    if (count === 0) this.#unused.add(name);
  }
}
