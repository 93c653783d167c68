import type { DataplaneRule, PolicyID, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { layered } from "../render/layer.ts";
import { policyWord } from "../render/names.ts";
import { type PolicyChain, policyChains, profileChains, renderPolicyChain } from "../render/policy-chains.ts";
import type { IpSetsManager } from "./ip-sets-manager.ts";
import type { Manager } from "./manager.ts";

/** A policy or a profile: its chains, and the sets that its rules look up. */
interface Owner {
  readonly chains: readonly PolicyChain[];
  readonly setIds: ReadonlySet<string>;
}

/**
 * Policies and profiles: offers the chain of each direction and layer; what no endpoint refers to is never rendered.
 *
 * Invariant: `#users` names, for each set, exactly the owners whose `setIds` hold it.
 */
export class PolicyManager implements Manager {
  readonly #config: DataplaneConfig;
  readonly #tables: DesiredTables;
  readonly #ipSets: IpSetsManager;
  readonly #owners = new Map<string, Owner>();
  readonly #users = new Map<string, Set<string>>();
  readonly #stale = new Set<string>();

  constructor(config: DataplaneConfig, tables: DesiredTables, ipSets: IpSetsManager) {
    this.#config = config;
    this.#tables = tables;
    this.#ipSets = ipSets;
    ipSets.onShapeChange.add((id) => {
      for (const owner of this.#users.get(id) ?? []) this.#stale.add(owner);
    });
  }

  onUpdate(message: ToDataplane): void {
    switch (message.msg) {
      case "ActivePolicyUpdate": {
        const { inbound_rules, outbound_rules } = message.policy;
        this.#put(ownerOf(message.id), policyChains(message.id, message.policy), inbound_rules, outbound_rules);
        return;
      }
      case "ActivePolicyRemove":
        this.#remove(ownerOf(message.id));
        return;
      case "ActiveProfileUpdate": {
        const { inbound_rules, outbound_rules } = message.profile;
        const chains = profileChains(message.id, message.profile);
        this.#put(`profile ${message.id}`, chains, inbound_rules, outbound_rules);
        return;
      }
      case "ActiveProfileRemove":
        this.#remove(`profile ${message.id}`);
        return;
      default:
    }
  }

  completeDeferredWork(): void {
    for (const key of this.#stale) this.#offer(this.#owners.get(key)?.chains ?? []);
    this.#stale.clear();
  }

  #put(key: string, chains: readonly PolicyChain[], ...rules: readonly (readonly DataplaneRule[])[]): void {
    this.#remove(key, new Set(chains.map(({ layer, name }) => layered(layer, name))));
    const owner: Owner = { chains, setIds: setsOf(rules) };
    this.#owners.set(key, owner);
    for (const id of owner.setIds) {
      const users = this.#users.get(id) ?? new Set();
      this.#users.set(id, users.add(key));
    }
    this.#stale.add(key);
  }

  #remove(key: string, kept: ReadonlySet<string> = new Set()): void {
    const owner = this.#owners.get(key);
    if (owner === undefined) return;
    this.#owners.delete(key);
    for (const id of owner.setIds) {
      const users = this.#users.get(id);
      users?.delete(key);
      if (users?.size === 0) this.#users.delete(id);
    }
    for (const { layer, name } of owner.chains) {
      const full = layered(layer, name);
      if (!kept.has(full)) for (const table of this.#tables.values()) table.withdrawChain(full);
    }
  }

  #offer(chains: readonly PolicyChain[]): void {
    for (const [family, table] of this.#tables)
      for (const chain of chains)
        table.offerChain(layered(chain.layer, chain.name), () =>
          renderPolicyChain(chain, family, this.#config, this.#ipSets.lookup(family)),
        );
  }
}

function ownerOf(id: PolicyID): string {
  return `policy ${policyWord(id)}`;
}

function setsOf(lists: readonly (readonly DataplaneRule[])[]): Set<string> {
  const ids = new Set<string>();
  const addAll = (field: readonly string[] | undefined): void => {
    if (field !== undefined) for (const id of field) ids.add(id);
  };
  for (const rules of lists)
    for (const rule of rules) {
      addAll(rule.src_ip_set_ids);
      addAll(rule.dst_ip_set_ids);
      addAll(rule.src_named_port_ip_set_ids);
      addAll(rule.dst_named_port_ip_set_ids);
      addAll(rule.dst_ip_port_set_ids);
      addAll(rule.not_src_ip_set_ids);
      addAll(rule.not_dst_ip_set_ids);
      addAll(rule.not_src_named_port_ip_set_ids);
      addAll(rule.not_dst_named_port_ip_set_ids);
    }
  return ids;
}
