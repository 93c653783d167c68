import type { HostEndpoint, Tier, WorkloadEndpoint } from "@bulrush/model";
import { sameValue } from "@bulrush/model";
import { forEachIn } from "../labels/bag.ts";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";
import { workloadIdText } from "../state/id-text.ts";
import type { ActiveRules, PlacingListener } from "./active-rules.ts";
import { type ComputedData, hostMessage, workloadId, workloadMessage } from "./endpoint-message.ts";
import type { LocalEndpoint, PolicyGroup, PolicyState } from "./policy-state.ts";
import { type HostTiers, sameTiers, TierLists } from "./tier-lists.ts";

/** What was last given to the sequencer for an endpoint. */
interface Given {
  readonly value: WorkloadEndpoint | HostEndpoint;
  readonly lists: TierLists;
  readonly computed: ComputedData;
}

/** Lists kept between flushes. */
const MAX_LISTS = 4096;
const NOTHING_COMPUTED: ComputedData = {};

/**
 * Which policies each local endpoint lists, tier by tier and in order.
 *
 * Only dirty endpoints are looked at. Endpoints that match the same groups share one list; the lists live until a
 * policy or tier moves.
 *
 * Invariant: after a flush the sequencer knows every local endpoint with its present value and lists. `#lists` holds
 * what the present policies and tiers give; `#given` has an entry for each endpoint that the sequencer knows.
 */
export class PolicyResolver implements PlacingListener {
  readonly #sequencer: EventSequencer;
  readonly #withHost: boolean;
  readonly #tiers = new Map<string, Tier>();
  readonly #dirtyEndpoints = new Map<string, LocalEndpoint>();
  readonly #dirtyGroups = new Set<PolicyGroup>();
  #tiersDirty = false;
  #listsStale = false;
  #lists = new Map<string, TierLists>();
  readonly #given = new Map<string, Given>();
  readonly #computed = new Map<string, ComputedData>();

  /** `withHost`: ids of endpoints carry the host name. */
  constructor(sequencer: EventSequencer, withHost: boolean) {
    this.#sequencer = sequencer;
    this.#withHost = withHost;
  }

  onEndpointDirty(endpoint: LocalEndpoint): void {
    this.#dirtyEndpoints.set(endpoint.path, endpoint);
  }

  onGroupDirty(group: PolicyGroup): void {
    this.#listsStale = true;
    // Endpoints that the group gets later are told of as such.
    if (group.matchCount > 0) this.#dirtyGroups.add(group);
  }

  setTier(name: string, tier: Tier | undefined): void {
    const old = this.#tiers.get(name);
    if (old === tier || (old !== undefined && sameValue(old, tier))) return;
    if (tier === undefined) this.#tiers.delete(name);
    else this.#tiers.set(name, tier);
    this.#tiersDirty = true;
  }

  /** Whether any endpoint has data of another calculator. */
  get hasComputed(): boolean {
    return this.#computed.size > 0;
  }

  /** Data that other calculators have for a workload endpoint. Empty: none. */
  setComputed(endpoint: LocalEndpoint, data: ComputedData): void {
    const { path } = endpoint;
    if (sameValue(this.#computed.get(path) ?? NOTHING_COMPUTED, data)) return;
    if (Object.keys(data).length === 0) this.#computed.delete(path);
    else this.#computed.set(path, data);
    this.onEndpointDirty(endpoint);
  }

  /** Resolves what is dirty. Only once the datastore was in sync. */
  flush(rules: ActiveRules): void {
    if (this.#tiersDirty) for (const endpoint of rules.endpoints) this.onEndpointDirty(endpoint);
    if (this.#tiersDirty || this.#listsStale) this.#lists.clear();
    this.#tiersDirty = false;
    this.#listsStale = false;
    for (const group of this.#dirtyGroups) rules.forEachEndpoint(group, (endpoint) => this.onEndpointDirty(endpoint));
    this.#dirtyGroups.clear();
    for (const endpoint of this.#dirtyEndpoints.values()) this.#resolve(endpoint);
    this.#dirtyEndpoints.clear();
  }

  #resolve(endpoint: LocalEndpoint): void {
    const { path, key, value } = endpoint;
    if (value === undefined) {
      this.#given.delete(path);
      this.#computed.delete(path);
      this.#remove(endpoint);
      return;
    }
    const lists = this.#listsOf(endpoint);
    const computed = this.#computed.get(path) ?? NOTHING_COMPUTED;
    const given = this.#given.get(path);
    if (given?.value === value && given.computed === computed && this.#sameLists(key.type, given.lists, lists)) return;
    this.#given.set(path, { value, lists, computed });
    if (key.type === "WorkloadEndpoint") {
      const id = workloadId(key, this.#withHost);
      const message = workloadMessage(value as WorkloadEndpoint, lists.workload, computed);
      this.#sequencer.workloads.update(workloadIdText(id), { msg: "WorkloadEndpointUpdate", id, endpoint: message });
    } else {
      const id = this.#hostId(key.hostname, key.endpoint);
      const message = hostMessage(value as HostEndpoint, lists.host);
      this.#sequencer.hosts.update(id, { msg: "HostEndpointUpdate", id, endpoint: message });
    }
  }

  #remove(endpoint: LocalEndpoint): void {
    const { key } = endpoint;
    if (key.type === "WorkloadEndpoint") {
      const id = workloadId(key, this.#withHost);
      this.#sequencer.workloads.remove(workloadIdText(id), { msg: "WorkloadEndpointRemove", id });
    } else {
      const id = this.#hostId(key.hostname, key.endpoint);
      this.#sequencer.hosts.remove(id, { msg: "HostEndpointRemove", id });
    }
  }

  #hostId(hostname: string, endpoint: string): string {
    return this.#withHost ? `${hostname}/${endpoint}` : endpoint;
  }

  #sameLists(type: LocalEndpoint["key"]["type"], a: TierLists, b: TierLists): boolean {
    if (a === b) return true;
    return type === "WorkloadEndpoint" ? sameTiers(a.workload, b.workload) : sameHostTiers(a.host, b.host);
  }

  #listsOf(endpoint: LocalEndpoint): TierLists {
    const ids: number[] = [];
    for (const group of endpoint.matches) ids.push(group.id);
    const signature = ids.sort((a, b) => a - b).join();
    let lists = this.#lists.get(signature);
    if (lists === undefined) {
      const policies: PolicyState[] = [];
      for (const group of endpoint.matches) forEachIn(group.policies, (policy) => policies.push(policy));
      lists = new TierLists(policies, this.#tiers);
      if (this.#lists.size >= MAX_LISTS) this.#lists = new Map();
      this.#lists.set(signature, lists);
    }
    return lists;
  }
}

function sameHostTiers(a: HostTiers, b: HostTiers): boolean {
  return (
    sameTiers(a.normal, b.normal) &&
    sameTiers(a.forward, b.forward) &&
    sameTiers(a.untracked, b.untracked) &&
    sameTiers(a.preDnat, b.preDnat)
  );
}
