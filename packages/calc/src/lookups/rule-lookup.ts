import type { DataplaneRule, PolicyID, TierInfo } from "@bulrush/proto";
import type { CalcMessage } from "../graph/message.ts";
import { policyIdText } from "../state/id-text.ts";
import { type HitDirection, type RuleHit, rulePrefix } from "./rule-prefix.ts";

const DIRECTIONS: readonly HitDirection[] = ["ingress", "egress"];

/**
 * From the prefix of a log line to the rule, tier or profiles that wrote it. It follows the graph's messages.
 *
 * Invariant: `#hits` holds exactly the prefixes of the active policies and profiles, of the tiers that endpoints have, and
 * of the end of the profiles.
 */
export class RuleLookup {
  readonly #hits = new Map<string, RuleHit>();
  /** The prefixes of each policy, profile and tier. */
  readonly #prefixes = new Map<string, readonly string[]>();
  /** The tiers of each endpoint, once each. */
  readonly #tiersOf = new Map<string, ReadonlySet<string>>();
  readonly #tierUsers = new Map<string, number>();
  #policies = 0;

  constructor() {
    const ends = DIRECTIONS.map((direction) => ({ what: "no-profile-matched", direction, action: "deny" }) as const);
    this.#set("end", ends);
  }

  /** Active policies and profiles. */
  get count(): number {
    return this.#policies;
  }

  find(prefix: string): RuleHit | undefined {
    return this.#hits.get(prefix);
  }

  onMessage(message: CalcMessage): void {
    switch (message.msg) {
      case "ActivePolicyUpdate":
        this.#setOwner(`policy ${policyIdText(message.id)}`, message.id, message.policy.tier, message.policy);
        return;
      case "ActivePolicyRemove":
        this.#dropOwner(`policy ${policyIdText(message.id)}`);
        return;
      case "ActiveProfileUpdate":
        this.#setOwner(`profile ${message.id}`, message.id, "", message.profile);
        return;
      case "ActiveProfileRemove":
        this.#dropOwner(`profile ${message.id}`);
        return;
      case "WorkloadEndpointUpdate":
        this.#useTiers(`workload ${JSON.stringify(message.id)}`, message.endpoint.tiers);
        return;
      case "WorkloadEndpointRemove":
        this.#useTiers(`workload ${JSON.stringify(message.id)}`, []);
        return;
      case "HostEndpointUpdate": {
        const { tiers, untracked_tiers, pre_dnat_tiers, forward_tiers } = message.endpoint;
        this.#useTiers(`host ${message.id}`, [...tiers, ...untracked_tiers, ...pre_dnat_tiers, ...forward_tiers]);
        return;
      }
      case "HostEndpointRemove":
        this.#useTiers(`host ${message.id}`, []);
        return;
      default:
    }
  }

  #setOwner(
    name: string,
    owner: PolicyID | string,
    tier: string,
    lists: { readonly inbound_rules: readonly DataplaneRule[]; readonly outbound_rules: readonly DataplaneRule[] },
  ): void {
    if (!this.#prefixes.has(name)) this.#policies++;
    const hits = DIRECTIONS.flatMap((direction) =>
      lists[direction === "ingress" ? "inbound_rules" : "outbound_rules"].flatMap(({ action }, index): RuleHit[] =>
        // A log rule has a prefix of its own, and decides nothing.
        action === "log" ? [] : [{ what: "rule", direction, action, index, owner, tier }],
      ),
    );
    this.#set(name, hits);
  }

  #dropOwner(name: string): void {
    if (!this.#prefixes.has(name)) return;
    this.#policies--;
    this.#drop(name);
  }

  #useTiers(endpoint: string, tiers: readonly TierInfo[]): void {
    const before = this.#tiersOf.get(endpoint) ?? new Set();
    const after = new Set(tiers.map(({ name }) => name));
    if (after.size === 0) this.#tiersOf.delete(endpoint);
    else this.#tiersOf.set(endpoint, after);
    for (const tier of after) if (!before.has(tier)) this.#countTier(tier, 1);
    for (const tier of before) if (!after.has(tier)) this.#countTier(tier, -1);
  }

  #countTier(tier: string, change: 1 | -1): void {
    const users = (this.#tierUsers.get(tier) ?? 0) + change;
    if (users > 0) this.#tierUsers.set(tier, users);
    else this.#tierUsers.delete(tier);
    if (users === 0) this.#drop(`tier ${tier}`);
    else if (users === 1 && change === 1)
      this.#set(
        `tier ${tier}`,
        DIRECTIONS.flatMap((direction) =>
          (["deny", "pass"] as const).map((action): RuleHit => ({ what: "tier-end", direction, action, tier })),
        ),
      );
  }

  #set(name: string, hits: readonly RuleHit[]): void {
    this.#drop(name);
    const prefixes = hits.map(rulePrefix);
    this.#prefixes.set(name, prefixes);
    for (const [i, hit] of hits.entries()) this.#hits.set(prefixes[i] as string, hit);
  }

  #drop(name: string): void {
    for (const prefix of this.#prefixes.get(name) ?? []) this.#hits.delete(prefix);
    this.#prefixes.delete(name);
  }
}
