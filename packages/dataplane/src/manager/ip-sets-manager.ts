import { must } from "@bulrush/base";
import type { KeyField } from "@bulrush/nftables";
import type { IPSetType, ToDataplane } from "@bulrush/proto";
import type { DesiredSet } from "../desired/desired-set.ts";
import type { DesiredTable } from "../desired/desired-table.ts";
import type { DesiredTables } from "../desired/tables.ts";
import { netSetName, setName } from "../render/names.ts";
import type { SetLookup } from "../render/set-shape.ts";
import { addressKey, type Family } from "../render/statements.ts";
import { placeMember } from "./ip-set-member.ts";
import { Listeners } from "./listeners.ts";
import type { Manager } from "./manager.ts";

/** The kernel sets of one id in one family. */
interface Parts {
  readonly main: DesiredSet;
  /** Only sets of networks have it. */
  readonly net: DesiredSet | undefined;
}

interface IpSet {
  readonly type: IPSetType;
  readonly parts: ReadonlyMap<Family, Parts>;
}

/**
 * IP sets by id: members of the messages in, kernel sets out. Which sets are programmed is decided by the rules that
 * look them up; this manager keeps the members of all.
 */
export class IpSetsManager implements Manager {
  /** An id whose {@link SetLookup} answer is another now. Rules that use it must be rendered again. */
  readonly onShapeChange: Listeners<string> = new Listeners();
  readonly #tables: DesiredTables;
  readonly #sets = new Map<string, IpSet>();
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

  completeDeferredWork(): void {
    // Members go straight into the desired sets.
  }

  /** Makes the set hold exactly these members. */
  replace(id: string, type: IPSetType, members: readonly string[]): void {
    const known = this.#sets.get(id);
    if (known !== undefined && known.type !== type) this.remove(id);
    const set = this.#sets.get(id) ?? this.#make(id, type);
    this.#sets.set(id, set);
    const wanted = new Map<DesiredSet, string[]>();
    for (const { main, net } of set.parts.values()) {
      wanted.set(main, []);
      if (net !== undefined) wanted.set(net, []);
    }
    for (const member of members) {
      const placed = placeMember(type, member);
      if (placed === undefined) this.#onBadMember(id, member);
      else {
        const part = this.#part(set, placed.family, placed.part);
        if (part !== undefined) wanted.get(part)?.push(placed.element);
      }
    }
    this.#noticing(id, set, () => {
      for (const [part, elements] of wanted) part.replace(elements);
    });
  }

  /** Forgets the set. Unknown ids are left alone. */
  remove(id: string): void {
    const set = this.#sets.get(id);
    if (set === undefined) return;
    this.#sets.delete(id);
    for (const [family, { main, net }] of set.parts) {
      this.#tables.get(family)?.removeSet(main.name);
      if (net !== undefined) this.#tables.get(family)?.removeSet(net.name);
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
    for (const [family, table] of this.#tables) parts.set(family, makeParts(table, family, id, type));
    return { type, parts };
  }

  #part(set: IpSet, family: Family, part: "main" | "net"): DesiredSet | undefined {
    const parts = set.parts.get(family);
    return part === "net" ? parts?.net : parts?.main;
  }

  #change(id: string, added: readonly string[], removed: readonly string[]): void {
    const set = this.#sets.get(id);
    if (set === undefined) return;
    this.#noticing(id, set, () => {
      for (const member of removed) this.#one(id, set, member, (part, element) => part.delete(element));
      for (const member of added) this.#one(id, set, member, (part, element) => part.add(element));
    });
  }

  #one(id: string, set: IpSet, member: string, action: (part: DesiredSet, element: string) => void): void {
    const placed = placeMember(set.type, member);
    if (placed === undefined) {
      this.#onBadMember(id, member);
      return;
    }
    const part = this.#part(set, placed.family, placed.part);
    if (part !== undefined) action(part, placed.element);
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
