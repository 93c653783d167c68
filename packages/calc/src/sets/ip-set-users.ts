import { assert } from "@bulrush/base";
import type { PendingIpSets } from "../sequencer/pending-ip-sets.ts";
import { ActiveIpSet } from "./active-ip-set.ts";
import type { IpSetSpec } from "./ip-set-spec.ts";
import type { MemberIndex } from "./member-index.ts";
import type { ServiceIndex } from "./service-index.ts";

interface Use {
  readonly spec: IpSetSpec;
  count: number;
  set: ActiveIpSet | undefined;
}

/**
 * Which IP sets are in use, by the rules of active policies and profiles. Sets are made and dropped on `flush` only, so
 * that one which loses its last user and gains another in between is left alone, with all its members.
 *
 * Invariant: `count` is the number of `retain` calls without a `release`; after a flush a set exists for each use with
 * a count, and for no other.
 */
export class IpSetUsers {
  readonly #uses = new Map<string, Use>();
  readonly #touched = new Set<Use>();
  readonly #pending: PendingIpSets;
  readonly #members: MemberIndex;
  readonly #services: ServiceIndex;
  readonly #suppressOverlaps: boolean;

  constructor(pending: PendingIpSets, members: MemberIndex, services: ServiceIndex, suppressOverlaps: boolean) {
    this.#pending = pending;
    this.#members = members;
    this.#services = services;
    this.#suppressOverlaps = suppressOverlaps;
  }

  retain(spec: IpSetSpec): void {
    let use = this.#uses.get(spec.id);
    if (use === undefined) this.#uses.set(spec.id, (use = { spec, count: 0, set: undefined }));
    if (use.count++ === 0) this.#touched.add(use);
  }

  release(id: string): void {
    const use = this.#uses.get(id);
    assert(use !== undefined && use.count > 0, () => `IP set ${id} was released more often than retained`);
    if (--use.count === 0) this.#touched.add(use);
  }

  /** What a set in use is made from. */
  specOf(id: string): IpSetSpec | undefined {
    return this.#uses.get(id)?.spec;
  }

  get size(): number {
    return this.#uses.size;
  }

  /** Makes the sets that gained users and drops those that lost all. */
  flush(): void {
    const fromSelectors: ActiveIpSet[] = [];
    for (const use of this.#touched) {
      const { spec } = use;
      if (use.count > 0 && use.set === undefined) {
        const set = new ActiveIpSet(spec, this.#pending, this.#suppressOverlaps);
        use.set = set;
        this.#pending.onSetAdded(set);
        if (spec.kind === "service") this.#services.addSet(set);
        else fromSelectors.push(set);
      } else if (use.count === 0) {
        this.#uses.delete(spec.id);
        if (use.set === undefined) continue;
        if (spec.kind === "service") this.#services.removeSet(use.set);
        else this.#members.removeSet(use.set);
        this.#pending.onSetRemoved(use.set);
      }
    }
    this.#touched.clear();
    this.#members.addSets(fromSelectors);
  }
}
