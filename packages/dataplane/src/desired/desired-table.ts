import { assert, compareStrings, must } from "@bulrush/base";
import type {
  ChainState,
  FlowtableState,
  KeyField,
  SetState,
  TableFamily,
  TableState,
  VerdictMapState,
} from "@bulrush/nftables";
import { DesiredSet } from "./desired-set.ts";
import {
  chainKey,
  chainReferences,
  flowtableKey,
  mapKey,
  mapReferences,
  type ObjectKey,
  setKey,
} from "./references.ts";

type Rendered =
  | { readonly kind: "chain"; readonly state: ChainState; readonly references: ReadonlySet<ObjectKey> }
  | { readonly kind: "map"; readonly state: VerdictMapState; readonly references: ReadonlySet<ObjectKey> };

/**
 * One table as wanted. Managers offer chains and maps as functions, and sets as they are; what no base chain leads to
 * is neither rendered nor programmed, and comes into the kernel in the same batch as the first reference to it.
 *
 *     offered ──(reachable from a base chain)──> live ──settle()──> rendered ──acknowledge()──> applied
 *
 * Invariants: an object is live exactly when it is a root or a rendered object refers to it (references make no
 * circles); `#stale` holds live chains and maps whose offer changed since they were rendered; `#touched` holds every
 * object that may differ from what is applied.
 */
export class DesiredTable {
  readonly family: TableFamily;
  readonly name: string;
  readonly #offers = new Map<ObjectKey, () => Rendered>();
  readonly #sets = new Map<ObjectKey, DesiredSet>();
  readonly #flowtables = new Map<ObjectKey, FlowtableState>();
  readonly #roots = new Set<ObjectKey>();
  readonly #referenceCounts = new Map<ObjectKey, number>();
  readonly #rendered = new Map<ObjectKey, Rendered>();
  readonly #stale = new Set<ObjectKey>();
  readonly #touched = new Set<ObjectKey>();
  readonly #appliedChains = new Map<string, ChainState>();
  readonly #appliedMaps = new Map<string, VerdictMapState>();
  readonly #appliedSets = new Map<string, DesiredSet>();
  readonly #appliedFlowtables = new Map<string, FlowtableState>();

  constructor(family: TableFamily, name: string) {
    this.family = family;
    this.name = name;
  }

  /** Offers a base chain: it is always live. Offering again replaces it. */
  offerBase(state: ChainState): void {
    const key = chainKey(state.name);
    if (!this.#roots.has(key)) {
      this.#roots.add(key);
      this.#retain(key);
    }
    this.offerChain(state.name, () => state);
  }

  withdrawBase(name: string): void {
    const key = chainKey(name);
    this.withdrawChain(name);
    if (this.#roots.delete(key)) this.#release(key);
  }

  /** Offers a chain; `render` is called at a later {@link settle}, and only while something leads to the chain. */
  offerChain(name: string, render: () => ChainState): void {
    this.#offer(chainKey(name), () => {
      const state = render();
      return { kind: "chain", state, references: chainReferences(state) };
    });
  }

  withdrawChain(name: string): void {
    this.#offers.delete(chainKey(name));
  }

  offerMap(state: VerdictMapState): void {
    this.#offer(mapKey(state.name), () => ({ kind: "map", state, references: mapReferences(state) }));
  }

  withdrawMap(name: string): void {
    this.#offers.delete(mapKey(name));
  }

  offerFlowtable(state: FlowtableState): void {
    this.#flowtables.set(flowtableKey(state.name), state);
  }

  /** The set of this name, made when it is not there. Its members may be changed at any time: see {@link touchSet}. */
  set(name: string, key: readonly KeyField[], interval: boolean): DesiredSet {
    let set = this.#sets.get(setKey(name));
    if (set === undefined) {
      // A set that comes back before the kernel has lost it is the same set, with other members.
      set = this.#appliedSets.get(name) ?? new DesiredSet(name, key, interval);
      assert(set.interval === interval, () => `Set ${name} changes its type`);
      this.#sets.set(setKey(name), set);
      this.#touched.add(setKey(name));
    }
    return set;
  }

  /** To be called after each change of a set's members. */
  touchSet(name: string): void {
    this.#touched.add(setKey(name));
  }

  removeSet(name: string): void {
    this.#sets.get(setKey(name))?.replace([]);
    this.#sets.delete(setKey(name));
    this.#touched.add(setKey(name));
  }

  /** Renders what is live and stale, and finds out what is live by it. Called before the states are read. */
  settle(): void {
    for (const key of this.#stale) {
      this.#stale.delete(key);
      if (!this.#isLive(key)) continue;
      const rendered = must(this.#offers.get(key), `${key}, which a live chain refers to,`)();
      const before = this.#rendered.get(key);
      this.#rendered.set(key, rendered);
      this.#touched.add(key);
      for (const target of rendered.references) this.#retain(target);
      for (const target of before?.references ?? []) this.#release(target);
    }
  }

  /**
   * The whole table as wanted: base chains first, all else by name, whatever came in which order. Sets are live views:
   * use it before the next change.
   */
  state(): TableState {
    const chains = new Map<string, ChainState>();
    const maps = new Map<string, VerdictMapState>();
    const sets = new Map<string, SetState>();
    for (const rendered of this.#rendered.values()) {
      if (rendered.kind === "chain") chains.set(rendered.state.name, rendered.state);
      else maps.set(rendered.state.name, rendered.state);
    }
    for (const [key, set] of this.#sets) if (this.#isLive(key)) sets.set(set.name, set.state());
    return {
      family: this.family,
      name: this.name,
      chains: sorted(chains, (chain) => (chain.base === undefined ? "b" : "a")),
      sets: sorted(sets),
      maps: sorted(maps),
      flowtables: new Map([...this.#liveFlowtables()].map((flowtable) => [flowtable.name, flowtable])),
    };
  }

  /**
   * Two tables whose difference is what the kernel lacks, made of the touched objects alone: the cost of a plan is
   * that of the change, not of the ruleset. `undefined` when nothing was touched.
   */
  difference(): { readonly desired: TableState; readonly current: TableState } | undefined {
    if (this.#touched.size === 0) return undefined;
    const desired = emptyTable(this.family, this.name);
    const current = emptyTable(this.family, this.name);
    for (const key of this.#touched) {
      const rendered = this.#rendered.get(key);
      if (rendered?.kind === "chain") desired.chains.set(rendered.state.name, rendered.state);
      else if (rendered?.kind === "map") desired.maps.set(rendered.state.name, rendered.state);
      const name = key.slice(key.indexOf(" ") + 1);
      const chain = key.startsWith("chain ") ? this.#appliedChains.get(name) : undefined;
      if (chain !== undefined) current.chains.set(name, chain);
      const map = key.startsWith("map ") ? this.#appliedMaps.get(name) : undefined;
      if (map !== undefined) current.maps.set(name, map);
      if (key.startsWith("set ")) this.#setDifference(key, name, desired.sets, current.sets);
    }
    this.#flowtableDifference(desired, current);
    return { desired, current };
  }

  *#liveFlowtables(): Generator<FlowtableState> {
    for (const [key, flowtable] of this.#flowtables) if (this.#isLive(key)) yield flowtable;
  }

  /** A flow table that may have to be made anew takes along the chains that refer to it. */
  #flowtableDifference(desired: MutableTable, current: MutableTable): void {
    for (const [name, applied] of this.#appliedFlowtables)
      if (this.#touched.has(flowtableKey(name))) current.flowtables.set(name, applied);
    for (const flowtable of this.#liveFlowtables()) {
      const { except, name } = flowtable;
      const key = flowtableKey(name);
      const isTouched = this.#touched.has(key) || (except !== undefined && this.#touched.has(setKey(except)));
      if (!isTouched) continue;
      desired.flowtables.set(name, flowtable);
      const applied = this.#appliedFlowtables.get(name);
      if (applied === undefined) continue;
      current.flowtables.set(name, applied);
      for (const rendered of this.#rendered.values()) {
        if (rendered.kind !== "chain" || !rendered.references.has(key)) continue;
        desired.chains.set(rendered.state.name, rendered.state);
        const chain = this.#appliedChains.get(rendered.state.name);
        if (chain !== undefined) current.chains.set(chain.name, chain);
      }
    }
  }

  #setDifference(key: ObjectKey, name: string, desired: Map<string, SetState>, current: Map<string, SetState>): void {
    const applied = this.#appliedSets.get(name);
    const set = this.#isLive(key) ? this.#sets.get(key) : undefined;
    if (set !== undefined && applied !== undefined) {
      const difference = set.difference();
      desired.set(name, difference.desired);
      current.set(name, difference.current);
    } else if (set !== undefined) desired.set(name, set.state());
    else if (applied !== undefined) current.set(name, { ...applied.state(), elements: new Set() });
  }

  /** The kernel has all of {@link state} now. */
  acknowledge(): void {
    for (const key of this.#touched) {
      const name = key.slice(key.indexOf(" ") + 1);
      const rendered = this.#rendered.get(key);
      if (key.startsWith("chain ")) setOrDelete(this.#appliedChains, name, rendered?.state as ChainState | undefined);
      else if (key.startsWith("map "))
        setOrDelete(this.#appliedMaps, name, rendered?.state as VerdictMapState | undefined);
      else if (key.startsWith("flowtable "))
        setOrDelete(this.#appliedFlowtables, name, this.#isLive(key) ? this.#flowtables.get(key) : undefined);
      else {
        const set = this.#isLive(key) ? this.#sets.get(key) : undefined;
        if (set === undefined) this.#appliedSets.get(name)?.markApplied(false);
        set?.markApplied(true);
        setOrDelete(this.#appliedSets, name, set);
      }
    }
    this.#touched.clear();
  }

  /** Sizes of what is live. */
  counts(): { readonly chains: number; readonly rules: number; readonly sets: number } {
    let chains = 0;
    let rules = 0;
    let sets = 0;
    for (const rendered of this.#rendered.values())
      if (rendered.kind === "chain") {
        chains++;
        rules += rendered.state.rules.length;
      }
    for (const key of this.#sets.keys()) if (this.#isLive(key)) sets++;
    return { chains, rules, sets };
  }

  #offer(key: ObjectKey, render: () => Rendered): void {
    this.#offers.set(key, render);
    if (this.#isLive(key)) this.#stale.add(key);
  }

  #isLive(key: ObjectKey): boolean {
    return (this.#referenceCounts.get(key) ?? 0) > 0;
  }

  #retain(key: ObjectKey): void {
    const count = this.#referenceCounts.get(key) ?? 0;
    this.#referenceCounts.set(key, count + 1);
    if (count > 0) return;
    if (key.startsWith("set ") || key.startsWith("flowtable ")) this.#touched.add(key);
    else this.#stale.add(key);
  }

  #release(key: ObjectKey): void {
    const count = this.#referenceCounts.get(key) ?? 0;
    if (count > 1) {
      this.#referenceCounts.set(key, count - 1);
      return;
    }
    this.#referenceCounts.delete(key);
    this.#touched.add(key);
    const rendered = this.#rendered.get(key);
    this.#rendered.delete(key);
    for (const target of rendered?.references ?? []) this.#release(target);
  }
}

interface MutableTable extends TableState {
  readonly chains: Map<string, ChainState>;
  readonly sets: Map<string, SetState>;
  readonly maps: Map<string, VerdictMapState>;
  readonly flowtables: Map<string, FlowtableState>;
}

function emptyTable(family: TableFamily, name: string): MutableTable {
  return { family, name, chains: new Map(), sets: new Map(), maps: new Map(), flowtables: new Map() };
}

function setOrDelete<V>(map: Map<string, V>, name: string, value: V | undefined): void {
  if (value === undefined) map.delete(name);
  else map.set(name, value);
}

/** By the prefix that is given, then by name. */
function sorted<V>(map: ReadonlyMap<string, V>, prefix: (value: V) => string = () => ""): Map<string, V> {
  return new Map([...map].sort(([a, x], [b, y]) => compareStrings(prefix(x), prefix(y)) || compareStrings(a, b)));
}
