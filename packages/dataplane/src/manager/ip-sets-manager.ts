import { must } from "@bulrush/base";
import { CidrTrie, containsCidr, parseAddress, parseCidr } from "@bulrush/ip";
import type { KeyField } from "@bulrush/nftables";
import type { IPSetType, ToDataplane } from "@bulrush/proto";
import type { DesiredSet } from "../desired/desired-set.ts";
import type { DesiredTable } from "../desired/desired-table.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { netSetName, setName } from "../render/names.ts";
import type { SetLookup } from "../render/set-shape.ts";
import { addressKey, type Family } from "../render/statements.ts";
import { ipv4Host, placeMember } from "./ip-set-member.ts";
import { Leftovers } from "./leftovers.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";

/** The kernel sets of one id in one family. */
interface Parts {
  readonly main: DesiredSet;
  /** Only sets of networks have it. */
  readonly net: DesiredSet | undefined;
}

/** An element and the kernel set that it belongs in. */
interface Placed {
  readonly element: string;
  readonly set: DesiredSet;
}

/** Elements that must not leave their part yet, since others that come into the other part take their place. */
type Staying = ReadonlyMap<DesiredSet, ReadonlySet<string>>;

/** An element that leaves its part. */
interface Going {
  readonly set: DesiredSet;
  readonly element: string;
}

interface IpSet {
  readonly type: IPSetType;
  readonly parts: ReadonlyMap<Family, Parts>;
}

/**
 * IP sets by id: members of the messages in, kernel sets out. Which sets are programmed is decided by the rules that
 * look them up; this manager keeps the members of all.
 *
 * Invariant: the parts of a set hold its members, and besides them only {@link Leftovers}: addresses that a network
 * among the members covers, and networks that cover an address among them. No two networks of a part overlap.
 */
export class IpSetsManager implements Manager {
  /** An id whose {@link SetLookup} answer is another now. Rules that use it must be rendered again. */
  readonly onShapeChange: Listeners<string> = new Listeners();
  readonly #tables: DesiredTables;
  readonly #sets = new Map<string, IpSet>();
  readonly #setOfPart = new Map<DesiredSet, string>();
  readonly #leftovers = new Leftovers();
  readonly #onBadMember: (id: string, member: string) => void;

  /** `onBadMember` hears of members that are none: the sender does not make such, and they are left out. */
  constructor(tables: DesiredTables, onBadMember: (id: string, member: string) => void) {
    this.#tables = tables;
    this.#onBadMember = onBadMember;
  }

  /** The number of sets, whether programmed or not. */
  get size(): number {
    return this.#sets.size;
  }

  onUpdate(message: ToDataplane): void {
    switch (message.msg) {
      case "IPSetUpdate":
        this.replace(message.id, message.type, message.members);
        return;
      case "IPSetDeltaUpdate":
        this.#change(message.id, message.added_members, message.removed_members);
        return;
      case "IPSetRemove":
        this.remove(message.id);
        return;
      default:
    }
  }

  /** True when another round of deferred work, after the batch of this one, has something to take out. */
  get hasLeftovers(): boolean {
    return this.#leftovers.isPending;
  }

  completeDeferredWork(): void {
    // All other changes of members went straight into the desired sets.
    for (const [part, elements] of this.#leftovers.turn()) {
      const id = must(this.#setOfPart.get(part), "the IP set of a part");
      this.#noticing(id, must(this.#sets.get(id), id), () => {
        for (const element of elements) part.delete(element);
      });
    }
  }

  /** Makes the set hold exactly these members. */
  replace(id: string, type: IPSetType, members: readonly string[]): void {
    const known = this.#sets.get(id);
    if (known !== undefined && known.type !== type) this.remove(id);
    const set = this.#sets.get(id) ?? this.#make(id, type);
    this.#sets.set(id, set);
    if (isEmpty(set)) {
      this.#noticing(id, set, () => this.#fill(id, set, members));
      return;
    }
    const placed = this.#place(id, set, members);
    const going: Going[] = [];
    for (const parts of set.parts.values())
      for (const part of partsOf(parts)) {
        if (part.size === 0) continue;
        const wanted = new Set<string>();
        for (const one of placed) if (one.set === part) wanted.add(one.element);
        for (const element of part.elements) if (!wanted.has(element)) going.push({ set: part, element });
      }
    this.#exchange(id, set, going, placed);
  }

  /** Forgets the set. Unknown ids are left alone. */
  remove(id: string): void {
    const set = this.#sets.get(id);
    if (set === undefined) return;
    this.#sets.delete(id);
    for (const [family, parts] of set.parts)
      for (const part of partsOf(parts)) {
        this.#tables.get(family)?.removeSet(part.name);
        this.#leftovers.forgetAll(part);
        this.#setOfPart.delete(part);
      }
  }

  /** The kernel sets of an id in a family. Asking for a set that was never sent is a bug of the sender. */
  lookup(family: Family): SetLookup {
    return (id) => {
      const { main, net } = must(this.#sets.get(id)?.parts.get(family), `IP set ${id} (IPv${family})`);
      if (net === undefined || net.size === 0) return { names: [main.name] };
      return { names: main.size === 0 ? [net.name] : [main.name, net.name] };
    };
  }

  #make(id: string, type: IPSetType): IpSet {
    const parts = new Map<Family, Parts>();
    for (const [family, table] of this.#tables) {
      const made = makeParts(table, family, id, type);
      parts.set(family, made);
      for (const part of partsOf(made)) this.#setOfPart.set(part, id);
    }
    return { type, parts };
  }

  /** Puts members into a set that has none: nothing of it is left over either. */
  #fill(id: string, set: IpSet, members: readonly string[]): void {
    const hosts = set.type === "IP_AND_PORT" ? undefined : set.parts.get(4)?.main;
    for (const member of members) {
      const host = hosts === undefined ? undefined : ipv4Host(member);
      if (host !== undefined) hosts?.add(host);
      else for (const { element, set: part } of this.#place(id, set, [member])) part.add(element);
    }
  }

  /** Where members go; those of a family that is switched off go nowhere. */
  #place(id: string, { parts, type }: IpSet, members: readonly string[]): Placed[] {
    const out: Placed[] = [];
    for (const member of members) {
      const placed = placeMember(type, member);
      if (placed === undefined) {
        this.#onBadMember(id, member);
        continue;
      }
      const { main, net } = parts.get(placed.family) ?? {};
      const part = placed.part === "net" ? net : main;
      if (part !== undefined) out.push({ element: placed.element, set: part });
    }
    return out;
  }

  #change(id: string, added: readonly string[], removed: readonly string[]): void {
    const set = this.#sets.get(id);
    if (set === undefined) return;
    const coming = this.#place(id, set, added);
    this.#exchange(id, set, this.#place(id, set, removed), coming);
  }

  /** Takes elements out, at once or with the batch after the next, and puts others in. */
  #exchange(id: string, set: IpSet, going: readonly Going[], coming: readonly Placed[]): void {
    const staying = stayingOf(set, going, coming);
    this.#noticing(id, set, () => {
      for (const { element, set: part } of going)
        if (part.isApplied && part.has(element) && staying.get(part)?.has(element) === true)
          this.#leftovers.keep(part, element);
        else part.delete(element);
      for (const { element, set: part } of coming) this.#putIn(part, element);
    });
  }

  #putIn(part: DesiredSet, element: string): void {
    if (!this.#leftovers.isPending) {
      part.add(element);
      return;
    }
    this.#leftovers.forget(part, element);
    // The kernel refuses networks that overlap.
    if (part.interval)
      for (const kept of this.#leftovers.of(part))
        if (overlap(kept, element)) {
          part.delete(kept);
          this.#leftovers.forget(part, kept);
        }
    part.add(element);
  }

  /** Runs a change of members and tells the table, and those who use the set's shape. */
  #noticing(id: string, set: IpSet, change: () => void): void {
    const before = this.#shape(set);
    change();
    for (const [family, { main, net }] of set.parts) {
      this.#tables.get(family)?.touchSet(main.name);
      if (net !== undefined) this.#tables.get(family)?.touchSet(net.name);
    }
    if (this.#shape(set) !== before) this.onShapeChange.notify(id);
  }

  /** Which parts have members, as text to compare. */
  #shape(set: IpSet): string {
    let text = "";
    for (const { main, net } of set.parts.values())
      text += net === undefined || net.size === 0 ? "m" : main.size === 0 ? "n" : "b";
    return text;
  }
}

function makeParts(table: DesiredTable, family: Family, id: string, type: IPSetType): Parts {
  const key: readonly KeyField[] =
    type === "IP_AND_PORT" ? [addressKey(family), "inet_proto", "inet_service"] : [addressKey(family)];
  return {
    main: table.set(setName(family, id), key, false),
    net: type === "NET" ? table.set(netSetName(family, id), key, true) : undefined,
  };
}

function isEmpty({ parts }: IpSet): boolean {
  for (const { main, net } of parts.values()) if (main.size > 0 || (net?.size ?? 0) > 0) return false;
  return true;
}

function partsOf({ main, net }: Parts): DesiredSet[] {
  return net === undefined ? [main] : [main, net];
}

/**
 * Which of the elements that go have a successor among those that come, in the other part of their set: addresses that
 * a new network covers, and networks that cover a new address (unless a new network overlaps them).
 */
function stayingOf({ parts }: IpSet, going: readonly Going[], coming: readonly Placed[]): Staying {
  const staying = new Map<DesiredSet, Set<string>>();
  if (going.length === 0) return staying;
  for (const { main, net } of parts.values()) {
    if (net === undefined) continue;
    const networks = coming.filter(({ set }) => set === net).map(({ element }) => element);
    const covers = networkTrie(networks);
    const leaving = networkTrie(going.filter(({ set }) => set === net).map(({ element }) => element));
    const addresses = covers.size === 0 ? [] : going.filter(({ set }) => set === main);
    const covered = addresses.filter(({ element }) => lookup(covers, element) !== undefined);
    const succeeded = new Set<string>();
    if (leaving.size > 0)
      for (const { element, set } of coming) {
        const network = set === main ? lookup(leaving, element) : undefined;
        if (network !== undefined) succeeded.add(network);
      }
    for (const network of succeeded) if (networks.some((other) => overlap(network, other))) succeeded.delete(network);
    staying.set(main, new Set(covered.map(({ element }) => element))).set(net, succeeded);
  }
  return staying;
}

function networkTrie(elements: readonly string[]): CidrTrie<string> {
  const trie = new CidrTrie<string>();
  for (const element of elements) {
    const cidr = parseCidr(element);
    if (cidr !== undefined) trie.set(cidr, element);
  }
  return trie;
}

function lookup(trie: CidrTrie<string>, element: string): string | undefined {
  const address = parseAddress(element);
  return address === undefined ? undefined : trie.lookup(address)?.[1];
}

function overlap(a: string, b: string): boolean {
  const [first, second] = [parseCidr(a), parseCidr(b)];
  if (first === undefined || second === undefined) return false;
  return containsCidr(first, second) || containsCidr(second, first);
}
