import {
  type HostEndpoint,
  type Key,
  type Policy,
  type PolicyKey,
  type ProfileRules,
  sameValue,
  type WorkloadEndpoint,
} from "@bulrush/model";
import type { PolicyID } from "@bulrush/proto";
import type { Selector } from "@bulrush/selector";
import type { Bag } from "../labels/bag.ts";
import { IndexedItem, IndexedSelector } from "../labels/indexed.ts";
import type { LabelKeys } from "../labels/label-set.ts";
import { policyIdText } from "../state/id-text.ts";

/** The hint by which a policy is programmed on every host, matched there or not. */
const NEEDED_EVERYWHERE = "AssumeNeededOnEveryNode";

/** Tier of a policy that names none. */
const DEFAULT_TIER = "default";

/** All policies that apply to the same endpoints: those of one selector. */
export class PolicyGroup extends IndexedSelector {
  /** Unique in its graph. */
  readonly id: number;
  policies: Bag<PolicyState> | undefined;

  constructor(id: number, selector: Selector, keys: LabelKeys) {
    super(selector, keys);
    this.id = id;
  }
}

/**
 * One policy of the datastore.
 *
 * Invariant: `group.policies` holds it exactly while `value` is defined; `sentValue` is defined exactly while the
 * policy is active, that is, announced to the sequencer, and `sentSets` are the IP sets retained for it.
 */
export class PolicyState {
  readonly id: PolicyID;
  #sortText: string | undefined;
  value: Policy | undefined;
  group: PolicyGroup | undefined;
  sentValue: Policy | undefined;
  /** Canonical text of the selector that was sent. */
  sentSelector = "";
  sentSets: readonly string[] = NO_SETS;

  constructor(key: PolicyKey) {
    this.id = { name: key.name, namespace: key.namespace, kind: key.kind };
  }

  get text(): string {
    return policyIdText(this.id);
  }

  /** "name/namespace/kind": what breaks ties of order. Kept once made: only policies in use are sorted. */
  get sortText(): string {
    const { name, namespace, kind } = this.id;
    return (this.#sortText ??= [name, namespace, kind].join("/"));
  }

  get tier(): string {
    return this.value?.tier || DEFAULT_TIER;
  }

  get order(): number {
    return this.value?.order ?? Number.POSITIVE_INFINITY;
  }

  /** To be programmed here: something local matches, or its author says that something always does. */
  get wanted(): boolean {
    if (this.value === undefined || this.group === undefined) return false;
    return this.group.matchCount > 0 || (this.value.performance_hints?.includes(NEEDED_EVERYWHERE) ?? false);
  }

  appliesTo(direction: "ingress" | "egress"): boolean {
    const types = this.value?.types;
    if (types === undefined || types.length === 0) return true;
    return types.some((type) => type.toLowerCase() === direction);
  }
}

const NO_SETS: readonly string[] = [];

/** True when the two differ in nothing that the order or placing of policies on endpoints depends on. */
export function samePlacing(a: Policy, b: Policy): boolean {
  return (
    a.tier === b.tier &&
    a.order === b.order &&
    Boolean(a.untracked) === Boolean(b.untracked) &&
    Boolean(a.pre_dnat) === Boolean(b.pre_dnat) &&
    Boolean(a.apply_on_forward) === Boolean(b.apply_on_forward) &&
    (a.types ?? []).join() === (b.types ?? []).join()
  );
}

/** True when the two make one message for the dataplane, their selectors aside. */
export function sameContent(a: Policy, b: Policy): boolean {
  return (
    a === b ||
    (a.tier === b.tier &&
      a.namespace === b.namespace &&
      Boolean(a.untracked) === Boolean(b.untracked) &&
      Boolean(a.pre_dnat) === Boolean(b.pre_dnat) &&
      sameValue(a.performance_hints ?? [], b.performance_hints ?? []) &&
      sameValue(a.inbound_rules ?? [], b.inbound_rules ?? []) &&
      sameValue(a.outbound_rules ?? [], b.outbound_rules ?? []))
  );
}

/** A profile in use. It exists while a local endpoint has it, and until it was taken back. */
export class ProfileState {
  readonly name: string;
  /** Local endpoints that have it. */
  users = 0;
  active = false;
  sentRules: ProfileRules | undefined;
  sentSets: readonly string[] = NO_SETS;

  constructor(name: string) {
    this.name = name;
  }
}

export type EndpointKey = Extract<Key, { readonly type: "WorkloadEndpoint" | "HostEndpoint" }>;

/** An endpoint of this host. */
export class LocalEndpoint extends IndexedItem<PolicyGroup> {
  readonly path: string;
  readonly key: EndpointKey;
  /** `undefined` once it has gone. */
  value: WorkloadEndpoint | HostEndpoint | undefined;

  constructor(path: string, key: EndpointKey) {
    super();
    this.path = path;
    this.key = key;
  }
}
