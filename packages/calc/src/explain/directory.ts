import { compareStrings } from "@bulrush/base";
import { type Address, type Cidr, cidrOf, containsAddress, parseAddress, parseCidr } from "@bulrush/ip";
import {
  type LabelMap,
  NAMESPACE_LABEL,
  type Policy,
  type PolicyKey,
  type ProfileResource,
  type Update,
} from "@bulrush/model";
import type { WorkloadEndpointID } from "@bulrush/proto";
import { explainMismatch, type LabelReader, type Selector, tryParseSelector } from "@bulrush/selector";
import type { IpSetDescription } from "../graph/calc-graph.ts";
import { Dispatcher } from "../graph/dispatcher.ts";
import type { StateWorkload } from "../state/dataplane-state.ts";
import { policyIdText, workloadIdText } from "../state/id-text.ts";
import type { UnselectedPolicy } from "./flow.ts";
import type { Direction } from "./judge-list.ts";

/** So many policies are named at most of those that do not apply. */
const MAX_UNSELECTED = 50;
/** So many owners of an address are named at most. */
const MAX_OWNERS = 3;

/** What has labels and addresses. */
interface Labelled {
  /** "namespace/pod", "host endpoint node/name", "network set name". */
  readonly name: string;
  readonly labels: LabelMap;
  readonly profiles: readonly string[];
  readonly nets: readonly Cidr[];
}

/**
 * Who has which labels, addresses and selectors: what the graph's messages do not say and an explanation needs. It is
 * given the same updates as the graph.
 */
export class Directory {
  readonly #dispatcher = new Dispatcher();
  /** By path; workloads by the id of their message. */
  readonly #items = new Map<string, Labelled>();
  /** By path. */
  readonly #policies = new Map<string, { readonly key: PolicyKey; readonly value: Policy }>();
  readonly #profiles = new Map<string, ReadonlyMap<string, string>>();
  readonly #selectors = new Map<string, Selector | undefined>();

  constructor() {
    this.#dispatcher.on("Policy", (key, value, path) => {
      if (value === undefined) this.#policies.delete(path);
      else this.#policies.set(path, { key, value });
    });
    this.#dispatcher.on("WorkloadEndpoint", (key, value) => {
      const item = value && labelled(key.workload, value, [...(value.ipv4_nets ?? []), ...(value.ipv6_nets ?? [])]);
      this.#setItem(workloadName(key), item);
    });
    this.#dispatcher.on("HostEndpoint", (key, value, path) => {
      const nets = [...(value?.expected_ipv4_addrs ?? []), ...(value?.expected_ipv6_addrs ?? [])];
      this.#setItem(path, value && labelled(`host endpoint ${key.hostname}/${key.endpoint}`, value, nets));
    });
    this.#dispatcher.on("NetworkSet", (key, value, path) =>
      this.#setItem(path, value && labelled(`network set ${key.name}`, value, value.nets ?? [])),
    );
    this.#dispatcher.on("Resource", (key, value) => {
      if (key.kind !== "Profile") return;
      const labels = (value as ProfileResource | undefined)?.spec?.labelsToApply;
      if (labels === undefined) this.#profiles.delete(key.name);
      else this.#profiles.set(key.name, new Map(Object.entries(labels)));
    });
  }

  /** In any order, as the graph gets them. */
  onUpdates(updates: readonly Update[]): void {
    for (const update of updates) this.#dispatcher.dispatch(update);
  }

  /** Ids of the policies that a staged policy would replace. */
  get replacedByStaged(): ReadonlySet<string> {
    const out = new Set<string>();
    for (const { key } of this.#policies.values())
      if (key.kind.startsWith("Staged")) out.add(policyIdText({ ...key, kind: key.kind.slice("Staged".length) }));
    return out;
  }

  /** See MatchContext. */
  describeMember(set: IpSetDescription, address: Address): string {
    if (set.kind === "service") return "";
    const owners = this.#ownersOf(address);
    if (owners.length === 0) return "no endpoint or network set has this address";
    const selector = this.#selector(set.selector);
    if (selector === undefined) return "";
    const parts = owners.slice(0, MAX_OWNERS).map((owner) => {
      const misses = explainMismatch(selector, this.#labelsOf(owner));
      return `${owner.name}: ${misses.length === 0 ? "the selector holds" : misses.map(({ message }) => message).join("; ")}`;
    });
    return parts.join(", ");
  }

  /** The policies of the endpoint's namespace and of all that have rules for the direction and do not select it. */
  unselected({ id }: StateWorkload, direction: Direction): readonly UnselectedPolicy[] {
    const item = this.#items.get(workloadName(id));
    if (item === undefined) return [];
    const labels = this.#labelsOf(item);
    const out: (UnselectedPolicy & { readonly order: number })[] = [];
    for (const { key, value } of this.#policies.values()) {
      if (key.namespace !== "" && key.namespace !== labels.get(NAMESPACE_LABEL)) continue;
      if (key.kind.startsWith("Staged") || value.untracked === true || value.pre_dnat === true) continue;
      const types = (value.types ?? []).map((type) => type.toLowerCase());
      if (types.length > 0 && !types.includes(direction)) continue;
      const selector = this.#selector(value.selector);
      const misses = selector === undefined ? [] : explainMismatch(selector, labels);
      if (misses.length === 0) continue;
      out.push({
        tier: value.tier === "" ? "default" : value.tier,
        policy: policyIdText(key),
        why: misses.map(({ message }) => message).join("; "),
        order: value.order ?? Number.POSITIVE_INFINITY,
      });
    }
    out.sort(
      (a, b) =>
        compareStrings(a.tier, b.tier) ||
        (a.order === b.order ? 0 : a.order - b.order) ||
        compareStrings(a.policy, b.policy),
    );
    return out.slice(0, MAX_UNSELECTED).map(({ tier, policy, why }) => ({ tier, policy, why }));
  }

  #setItem(name: string, item: Labelled | undefined): void {
    if (item === undefined) this.#items.delete(name);
    else this.#items.set(name, item);
  }

  #labelsOf({ labels, profiles }: Labelled): LabelReader {
    const parents = profiles.map((name) => this.#profiles.get(name)).filter((map) => map !== undefined);
    return {
      get: (name) => labels.get(name) ?? parents.find((map) => map.has(name))?.get(name),
    };
  }

  /** Endpoints with the address, then network sets around it. */
  #ownersOf(address: Address): readonly Labelled[] {
    return [...this.#items.values()].filter(({ nets }) => nets.some((net) => containsAddress(net, address)));
  }

  #selector(text: string): Selector | undefined {
    if (!this.#selectors.has(text)) {
      const parsed = tryParseSelector(text);
      this.#selectors.set(text, parsed.ok ? parsed.selector : undefined);
    }
    return this.#selectors.get(text);
  }
}

/** Workloads are found by the ids of messages. */
function workloadName(id: WorkloadEndpointID): string {
  return `workload ${workloadIdText(id)}`;
}

function labelled(
  name: string,
  value: { readonly labels?: LabelMap; readonly profile_ids?: readonly string[] },
  nets: readonly string[],
): Labelled {
  return {
    name,
    labels: value.labels ?? new Map(),
    profiles: value.profile_ids ?? [],
    nets: nets.map(readNet).filter((net) => net !== undefined),
  };
}

/** A network, or an address alone. */
function readNet(text: string): Cidr | undefined {
  const address = parseAddress(text);
  return address === undefined ? parseCidr(text) : cidrOf(address);
}
