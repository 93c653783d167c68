import { assert } from "@bulrush/base";
import {
  type HostEndpoint,
  type Policy,
  type PolicyKey,
  type ProfileRules,
  type Rule,
  sameValue,
  type WorkloadEndpoint,
} from "@bulrush/model";
import type { DataplaneRule } from "@bulrush/proto";
import { parseSelector } from "@bulrush/selector";
import { forEachIn, withElement, withoutElement } from "../labels/bag.ts";
import { LabelIndex } from "../labels/label-index.ts";
import type { LabelKeys, LabelSet } from "../labels/label-set.ts";
import type { ProfileLabels } from "../labels/profile-labels.ts";
import { identifyRules, policySeed, profileSeed } from "../rules/rule-ids.ts";
import { scanRule } from "../rules/scan-rule.ts";
import type { SpecCache } from "../rules/spec-cache.ts";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";
import type { IpSetUsers } from "../sets/ip-set-users.ts";
import { isStaged } from "../state/id-text.ts";
import {
  type EndpointKey,
  LocalEndpoint,
  PolicyGroup,
  PolicyState,
  ProfileState,
  sameContent,
  samePlacing,
} from "./policy-state.ts";

/** Told what the lists of policies on endpoints depend on. */
export interface PlacingListener {
  /** The endpoint came, changed, went, or other policies apply to it. */
  onEndpointDirty(endpoint: LocalEndpoint): void;
  /** A policy in the group came, went or moved. */
  onGroupDirty(group: PolicyGroup): void;
}

/** Most profiles have none: one object for all of those. */
const NO_RULES: ProfileRules = { inbound_rules: [], outbound_rules: [] };

/** What an unknown profile means: nothing passes. */
const MISSING_PROFILE: ProfileRules = { inbound_rules: [{ action: "deny" }], outbound_rules: [{ action: "deny" }] };

/**
 * Which policies and profiles are needed on this host: those that apply to a local endpoint. Policies of one selector
 * are matched as one.
 *
 * Activation is settled on `flush`: a policy that loses its last endpoint and gains another between two flushes is not
 * even noticed.
 *
 * Invariant: after a flush the sequencer knows exactly the policies that are `wanted` and the profiles with users, each
 * with its present rules, and the IP sets of those rules are retained.
 */
export class ActiveRules {
  readonly #keys: LabelKeys;
  readonly #cache: SpecCache;
  readonly #sets: IpSetUsers;
  readonly #sequencer: EventSequencer;
  readonly #listener: PlacingListener;
  readonly #index: LabelIndex<LocalEndpoint, PolicyGroup>;
  readonly #endpoints = new Map<string, LocalEndpoint>();
  readonly #policies = new Map<string, PolicyState>();
  readonly #profileRules = new Map<string, ProfileRules>();
  readonly #profiles = new Map<string, ProfileState>();
  readonly #groups = new Map<string, PolicyGroup>();
  #lastGroupId = 0;
  readonly #dirtyPolicies = new Set<PolicyState>();
  readonly #dirtyProfiles = new Set<ProfileState>();

  constructor(
    keys: LabelKeys,
    profiles: ProfileLabels,
    cache: SpecCache,
    sets: IpSetUsers,
    sequencer: EventSequencer,
    listener: PlacingListener,
  ) {
    this.#keys = keys;
    this.#cache = cache;
    this.#sets = sets;
    this.#sequencer = sequencer;
    this.#listener = listener;
    this.#index = new LabelIndex(
      {
        onMatchStarted: (group, endpoint) => {
          if (group.matchCount === 1) this.#groupToggled(group);
          listener.onEndpointDirty(endpoint);
        },
        onMatchStopped: (group, endpoint) => {
          if (group.matchCount === 0) this.#groupToggled(group);
          listener.onEndpointDirty(endpoint);
        },
      },
      this.#endpoints,
      profiles,
    );
  }

  /** Local endpoints. */
  get endpoints(): Iterable<LocalEndpoint> {
    return this.#endpoints.values();
  }

  get endpointCount(): number {
    return this.#endpoints.size;
  }

  get evaluations(): number {
    return this.#index.evaluations;
  }

  /** Profiles that local endpoints have and nobody defined: they deny everything. */
  missingProfiles(): string[] {
    const out: string[] = [];
    for (const profile of this.#profiles.values())
      if (profile.users > 0 && !this.#profileRules.has(profile.name)) out.push(profile.name);
    return out.sort();
  }

  /** Calls back for every local endpoint that the group's policies apply to. */
  forEachEndpoint(group: PolicyGroup, visit: (endpoint: LocalEndpoint) => void): void {
    this.#index.forEachMatch(group, visit);
  }

  /** `labels` are those of `value`. */
  setEndpoint(
    path: string,
    key: EndpointKey,
    value: WorkloadEndpoint | HostEndpoint | undefined,
    labels: LabelSet,
  ): void {
    let endpoint = this.#endpoints.get(path);
    const old = endpoint?.value;
    if (value === undefined) {
      if (endpoint === undefined) return;
      this.#endpoints.delete(path);
      endpoint.value = undefined;
    } else {
      if (old !== undefined && sameValue(old, value)) return;
      if (endpoint === undefined) this.#endpoints.set(path, (endpoint = new LocalEndpoint(path, key)));
      endpoint.value = value;
    }
    // The new before the old, so that what stays is never without a user.
    for (const name of distinct(value?.profile_ids)) this.#useProfile(name, 1);
    for (const name of distinct(old?.profile_ids)) this.#useProfile(name, -1);
    if (value === undefined) this.#index.removeItem(endpoint);
    else this.#index.setItem(endpoint, labels, value.profile_ids ?? []);
    this.#listener.onEndpointDirty(endpoint);
  }

  setPolicy(key: PolicyKey, text: string, given: Policy | undefined): void {
    // A staged policy that stands for the removal of its original says nothing itself. On any other the word means nothing.
    const value = given?.staged_action === "Delete" && isStaged(key) ? undefined : given;
    let policy = this.#policies.get(text);
    if (policy === undefined) {
      if (value === undefined) return;
      this.#policies.set(text, (policy = new PolicyState(key)));
    }
    const { value: old, group: oldGroup } = policy;
    if (old === undefined && value === undefined) return;
    if (old !== undefined && value !== undefined && sameValue(old, value)) return;
    policy.value = value;
    const selectorStays = value !== undefined && old !== undefined && value.selector === old.selector;
    const group = selectorStays ? oldGroup : value && this.#groupOf(value.selector ?? "");
    policy.group = group;
    if (group !== oldGroup) {
      if (group !== undefined) group.policies = withElement(group.policies, policy);
      if (oldGroup !== undefined) oldGroup.policies = withoutElement(oldGroup.policies, policy);
      if (group !== undefined) this.#listener.onGroupDirty(group);
      if (oldGroup !== undefined) this.#leaveGroup(oldGroup);
    } else if (group !== undefined && old !== undefined && value !== undefined && !samePlacing(old, value))
      this.#listener.onGroupDirty(group);
    // One that nothing here matches is told of when something does.
    if (value === undefined || policy.wanted || policy.sentValue !== undefined) this.#dirtyPolicies.add(policy);
  }

  setProfileRules(name: string, given: ProfileRules | undefined): void {
    const rules = given !== undefined && isEmpty(given) ? NO_RULES : given;
    if (sameValue(this.#profileRules.get(name), rules)) return;
    if (rules === undefined) this.#profileRules.delete(name);
    else this.#profileRules.set(name, rules);
    const profile = this.#profiles.get(name);
    if (profile !== undefined) this.#dirtyProfiles.add(profile);
  }

  /** The labels that local endpoints inherit from a profile changed. */
  onProfileChanged(name: string): void {
    this.#index.onProfileChanged(name);
  }

  /** Announces what came into use and takes back what no longer is. The IP sets are settled by their own flush. */
  flush(): void {
    for (const policy of this.#dirtyPolicies) if (policy.wanted) this.#announcePolicy(policy);
    for (const profile of this.#dirtyProfiles) if (profile.users > 0) this.#announceProfile(profile);
    for (const policy of this.#dirtyPolicies) if (!policy.wanted) this.#retirePolicy(policy);
    for (const profile of this.#dirtyProfiles) if (profile.users === 0) this.#retireProfile(profile);
    this.#dirtyPolicies.clear();
    this.#dirtyProfiles.clear();
  }

  #groupToggled(group: PolicyGroup): void {
    forEachIn(group.policies, (policy) => this.#dirtyPolicies.add(policy));
  }

  #groupOf(selectorText: string): PolicyGroup {
    // Most policies have a selector of their own: it is not worth a place in the cache.
    const selector = parseSelector(selectorText);
    let group = this.#groups.get(selector.text);
    if (group === undefined) {
      group = new PolicyGroup(++this.#lastGroupId, selector, this.#keys);
      this.#groups.set(group.text, group);
      this.#index.addSelector(group);
    }
    return group;
  }

  #leaveGroup(group: PolicyGroup): void {
    this.#listener.onGroupDirty(group);
    if (group.policies !== undefined) return;
    this.#groups.delete(group.text);
    this.#index.removeSelector(group);
  }

  #useProfile(name: string, change: 1 | -1): void {
    let profile = this.#profiles.get(name);
    if (profile === undefined) this.#profiles.set(name, (profile = new ProfileState(name)));
    profile.users += change;
    assert(profile.users >= 0, () => `Profile ${name} has fewer than no users`);
    this.#dirtyProfiles.add(profile);
  }

  #announcePolicy(policy: PolicyState): void {
    const { value } = policy;
    if (value === undefined) return;
    const selector = policy.group?.text ?? "";
    const { sentValue, sentSelector } = policy;
    policy.sentValue = value;
    policy.sentSelector = selector;
    if (sentValue !== undefined && sentSelector === selector && sameContent(sentValue, value)) return;
    const tier = policy.tier;
    const used = new Set<string>();
    const inbound = this.#scan(value.inbound_rules, policySeed("in", tier, policy.id), used);
    const outbound = this.#scan(value.outbound_rules, policySeed("out", tier, policy.id), used);
    this.#sequencer.policies.update(policy.text, {
      msg: "ActivePolicyUpdate",
      id: policy.id,
      policy: {
        inbound_rules: inbound,
        outbound_rules: outbound,
        untracked: value.untracked ?? false,
        pre_dnat: value.pre_dnat ?? false,
        namespace: value.namespace ?? policy.id.namespace,
        tier,
        original_selector: selector,
        perf_hints: value.performance_hints ?? [],
      },
    });
    for (const id of policy.sentSets) this.#sets.release(id);
    policy.sentSets = [...used];
  }

  #retirePolicy(policy: PolicyState): void {
    if (policy.value === undefined) this.#policies.delete(policy.text);
    if (policy.sentValue === undefined) return;
    this.#sequencer.policies.remove(policy.text, { msg: "ActivePolicyRemove", id: policy.id });
    for (const id of policy.sentSets) this.#sets.release(id);
    policy.sentSets = [];
    policy.sentValue = undefined;
  }

  #announceProfile(profile: ProfileState): void {
    const { name } = profile;
    const rules = this.#profileRules.get(name) ?? MISSING_PROFILE;
    if (profile.active && sameValue(profile.sentRules, rules)) return;
    const used = new Set<string>();
    const inbound = this.#scan(rules.inbound_rules, profileSeed("in", name), used);
    const outbound = this.#scan(rules.outbound_rules, profileSeed("out", name), used);
    this.#sequencer.profiles.update(name, {
      msg: "ActiveProfileUpdate",
      id: name,
      profile: { inbound_rules: inbound, outbound_rules: outbound },
    });
    for (const id of profile.sentSets) this.#sets.release(id);
    profile.sentSets = [...used];
    profile.sentRules = rules;
    profile.active = true;
  }

  #retireProfile(profile: ProfileState): void {
    this.#profiles.delete(profile.name);
    if (!profile.active) return;
    this.#sequencer.profiles.remove(profile.name, { msg: "ActiveProfileRemove", id: profile.name });
    for (const id of profile.sentSets) this.#sets.release(id);
    profile.sentSets = [];
    profile.sentRules = undefined;
    profile.active = false;
  }

  /** The rules for the dataplane. Their sets are retained, each once for the owner: `used` collects the ids. */
  #scan(rules: readonly Rule[] | undefined, seed: string, used: Set<string>): DataplaneRule[] {
    const out: Omit<DataplaneRule, "rule_id">[] = [];
    for (const rule of rules ?? []) {
      const scanned = scanRule(rule, this.#cache);
      for (const spec of scanned.sets) {
        if (used.has(spec.id)) continue;
        used.add(spec.id);
        this.#sets.retain(spec);
      }
      out.push(scanned.rule);
    }
    return identifyRules(seed, out);
  }
}

/** Most endpoints have one profile. */
function distinct(names: readonly string[] | undefined): Iterable<string> {
  return names === undefined || names.length < 2 ? (names ?? []) : new Set(names);
}

function isEmpty(rules: ProfileRules): boolean {
  return (rules.inbound_rules ?? []).length === 0 && (rules.outbound_rules ?? []).length === 0;
}
