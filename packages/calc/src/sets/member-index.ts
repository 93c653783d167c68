import { assert } from "@bulrush/base";
import { formatAddress, parseCidr } from "@bulrush/ip";
import type { EndpointPort } from "@bulrush/model";
import { IndexedItem, IndexedSelector } from "../labels/indexed.ts";
import { LabelIndex } from "../labels/label-index.ts";
import type { LabelKeys, LabelSet } from "../labels/label-set.ts";
import type { ProfileLabels } from "../labels/profile-labels.ts";
import type { ActiveIpSet } from "./active-ip-set.ts";
import type { NamedPortSetSpec } from "./ip-set-spec.ts";
import { NO_NETS } from "./nets.ts";

export const NO_PORTS: readonly EndpointPort[] = [];

/** A selector with the IP sets that are made from it. */
class MemberSelector extends IndexedSelector {
  plain: ActiveIpSet | undefined;
  named: readonly ActiveIpSet[] = [];
}

/** An endpoint or network set: what it gives to the sets that pick it. */
class MemberItem extends IndexedItem<MemberSelector> {
  nets: readonly string[] = NO_NETS;
  ports: readonly EndpointPort[] = NO_PORTS;
}

/**
 * Fills the IP sets of selectors and named ports from all endpoints and network sets of the cluster.
 *
 * Invariant: each set counts each of its members once for every item that gives it.
 */
export class MemberIndex {
  readonly #keys: LabelKeys;
  readonly #items = new Map<string, MemberItem>();
  /** By canonical text. */
  readonly #selectors = new Map<string, MemberSelector>();
  readonly #index: LabelIndex<MemberItem, MemberSelector>;

  constructor(keys: LabelKeys, profiles: ProfileLabels) {
    this.#keys = keys;
    this.#index = new LabelIndex(
      {
        onMatchStarted: (selector, item) => {
          if (selector.plain !== undefined) give(selector.plain, item.nets, item.ports);
          for (const set of selector.named) give(set, item.nets, item.ports);
        },
        onMatchStopped: (selector, item) => {
          if (selector.plain !== undefined) take(selector.plain, item.nets, item.ports);
          for (const set of selector.named) take(set, item.nets, item.ports);
        },
      },
      this.#items,
      profiles,
    );
  }

  get itemCount(): number {
    return this.#items.size;
  }

  get selectorCount(): number {
    return this.#selectors.size;
  }

  get evaluations(): number {
    return this.#index.evaluations;
  }

  /**
   * Adds or changes an endpoint or network set, named by the path of its key. `nets` are canonical, none twice. True
   * when it is new.
   */
  setItem(
    path: string,
    labels: LabelSet,
    profiles: readonly string[],
    nets: readonly string[],
    ports: readonly EndpointPort[],
  ): boolean {
    let item = this.#items.get(path);
    const isNew = item === undefined;
    if (item === undefined) {
      item = new MemberItem();
      item.nets = nets;
      item.ports = ports;
      this.#items.set(path, item);
    } else if (!sameStrings(item.nets, nets) || !samePorts(item.ports, ports)) {
      const { nets: oldNets, ports: oldPorts } = item;
      item.nets = nets;
      item.ports = ports;
      // The new before the old, so that what stays is never gone.
      for (const selector of item.matches) this.#forEachSet(selector, (set) => give(set, nets, ports));
      for (const selector of item.matches) this.#forEachSet(selector, (set) => take(set, oldNets, oldPorts));
    }
    this.#index.setItem(item, labels, profiles);
    return isNew;
  }

  /** True when it was there. */
  removeItem(path: string): boolean {
    const item = this.#items.get(path);
    if (item === undefined) return false;
    this.#items.delete(path);
    this.#index.removeItem(item);
    return true;
  }

  /** The labels that a profile gives changed. */
  onProfileChanged(name: string): void {
    this.#index.onProfileChanged(name);
  }

  /** Fills sets that came into use. Each is told its members as they are found. */
  addSets(sets: readonly ActiveIpSet[]): void {
    const fresh = new Set<MemberSelector>();
    for (const set of sets) {
      const { spec } = set;
      assert(spec.kind !== "service", () => `IP set ${set.id} is not made from a selector`);
      let selector = this.#selectors.get(spec.selector.text);
      const known = selector !== undefined && !fresh.has(selector);
      if (selector === undefined) {
        selector = new MemberSelector(spec.selector, this.#keys);
        this.#selectors.set(selector.text, selector);
        fresh.add(selector);
      }
      if (spec.kind === "selector") selector.plain = set;
      else selector.named = [...selector.named, set];
      if (known) this.#index.forEachMatch(selector, (item) => give(set, item.nets, item.ports));
    }
    this.#index.addSelectors([...fresh]);
  }

  /** Forgets a set; its members are not taken out one by one. */
  removeSet(set: ActiveIpSet): void {
    const { spec } = set;
    assert(spec.kind !== "service", () => `IP set ${set.id} is not made from a selector`);
    const selector = this.#selectors.get(spec.selector.text);
    assert(selector !== undefined, () => `IP set ${set.id} was removed but not added`);
    if (spec.kind === "selector") selector.plain = undefined;
    else selector.named = selector.named.filter((other) => other !== set);
    if (selector.plain !== undefined || selector.named.length > 0) return;
    this.#selectors.delete(selector.text);
    this.#index.removeSelector(selector);
  }

  #forEachSet(selector: MemberSelector, visit: (set: ActiveIpSet) => void): void {
    if (selector.plain !== undefined) visit(selector.plain);
    for (const set of selector.named) visit(set);
  }
}

function give(set: ActiveIpSet, nets: readonly string[], ports: readonly EndpointPort[]): void {
  const { spec } = set;
  if (spec.kind !== "named-port") for (let i = 0; i < nets.length; i++) set.add(nets[i] as string);
  else for (const member of portMembers(spec, nets, ports)) set.add(member);
}

function take(set: ActiveIpSet, nets: readonly string[], ports: readonly EndpointPort[]): void {
  const { spec } = set;
  if (spec.kind !== "named-port") for (let i = 0; i < nets.length; i++) set.remove(nets[i] as string);
  else for (const member of portMembers(spec, nets, ports)) set.remove(member);
}

/** Each port of the name and protocol with each address; a repeated port gives its members once. */
function portMembers(
  spec: NamedPortSetSpec,
  nets: readonly string[],
  ports: readonly EndpointPort[],
): ReadonlySet<string> {
  const out = new Set<string>();
  for (const port of ports) {
    if (port.name !== spec.port) continue;
    const protocol = portProtocol(port.protocol);
    if (protocol === undefined || (spec.protocol !== "any" && spec.protocol !== protocol)) continue;
    for (const net of nets) {
      const cidr = parseCidr(net);
      if (cidr !== undefined) out.add(`${formatAddress(cidr)},${protocol}:${port.port}`);
    }
  }
  return out;
}

/** The name of a protocol whose ports may have names. */
function portProtocol(protocol: EndpointPort["protocol"]): string | undefined {
  const name = typeof protocol === "string" ? protocol.toLowerCase() : protocol;
  if (name === "tcp" || name === 6) return "tcp";
  if (name === "udp" || name === 17) return "udp";
  return name === "sctp" || name === 132 ? "sctp" : undefined;
}

function sameStrings(a: readonly string[], b: readonly string[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function samePorts(a: readonly EndpointPort[], b: readonly EndpointPort[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (const [i, x] of a.entries()) {
    const y = b[i];
    if (y === undefined || x.name !== y.name || x.port !== y.port || x.protocol !== y.protocol) return false;
  }
  return true;
}
