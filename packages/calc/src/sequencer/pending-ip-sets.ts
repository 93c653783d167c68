import { assert } from "@bulrush/base";
import type { ToDataplane } from "@bulrush/proto";
import type { ActiveIpSet, MemberListener } from "../sets/active-ip-set.ts";
import { sortedKeys } from "./pending-table.ts";

interface Delta {
  readonly added: Set<string>;
  readonly removed: Set<string>;
}

/**
 * IP sets that wait for a flush. A new set is read when it is sent, so its members need no list of their own; members
 * that come and go between two flushes cancel.
 *
 * Invariant: an id in `#added` has no delta; an id in `#removed` was sent and is not in `#added`.
 */
export class PendingIpSets implements MemberListener {
  readonly #added = new Map<string, ActiveIpSet>();
  readonly #removed = new Set<string>();
  readonly #deltas = new Map<string, Delta>();
  readonly #sent = new Set<string>();

  onSetAdded(set: ActiveIpSet): void {
    const { id } = set;
    assert(!this.#added.has(id), () => `IP set ${id} was added twice`);
    assert(!this.#sent.has(id) || this.#removed.has(id), () => `IP set ${id} was added though it was sent`);
    // If it was sent and is to be removed, the full update replaces it.
    this.#removed.delete(id);
    this.#added.set(id, set);
  }

  onSetRemoved(set: ActiveIpSet): void {
    const { id } = set;
    assert(this.#added.has(id) || (this.#sent.has(id) && !this.#removed.has(id)), () => `IP set ${id} is not known`);
    this.#added.delete(id);
    this.#deltas.delete(id);
    if (this.#sent.has(id)) this.#removed.add(id);
  }

  onMemberAdded(set: ActiveIpSet, member: string): void {
    this.#onMember(set.id, member, true);
  }

  onMemberRemoved(set: ActiveIpSet, member: string): void {
    this.#onMember(set.id, member, false);
  }

  flushAdded(sink: (message: ToDataplane) => void): void {
    for (const id of sortedKeys(this.#added)) {
      const set = this.#added.get(id) as ActiveIpSet;
      sink({ msg: "IPSetUpdate", id, members: set.visibleMembers(), type: set.type });
      this.#sent.add(id);
    }
    this.#added.clear();
  }

  flushDeltas(sink: (message: ToDataplane) => void): void {
    for (const id of sortedKeys(this.#deltas)) {
      const { added, removed } = this.#deltas.get(id) as Delta;
      if (added.size + removed.size === 0) continue;
      sink({ msg: "IPSetDeltaUpdate", id, added_members: [...added], removed_members: [...removed] });
    }
    this.#deltas.clear();
  }

  flushRemoved(sink: (message: ToDataplane) => void): void {
    for (const id of [...this.#removed].sort()) {
      sink({ msg: "IPSetRemove", id });
      this.#sent.delete(id);
    }
    this.#removed.clear();
  }

  #onMember(id: string, member: string, add: boolean): void {
    if (this.#added.has(id)) return;
    assert(
      this.#sent.has(id) && !this.#removed.has(id),
      () => `Member ${member} is for IP set ${id}, which is not known`,
    );
    let delta = this.#deltas.get(id);
    if (delta === undefined) this.#deltas.set(id, (delta = { added: new Set(), removed: new Set() }));
    const undo = add ? delta.removed : delta.added;
    if (!undo.delete(member)) (add ? delta.added : delta.removed).add(member);
  }
}
