import { assert } from "@bulrush/base";
import type { IPSetType } from "@bulrush/proto";
import { type IpSetSpec, ipSetType } from "./ip-set-spec.ts";
import { OverlapCover } from "./overlap-cover.ts";

/** Told of members as they become visible or stop being so. */
export interface MemberListener {
  onMemberAdded(set: ActiveIpSet, member: string): void;
  onMemberRemoved(set: ActiveIpSet, member: string): void;
}

/** A network of one address, in canonical text. */
function isHostMember(member: string): boolean {
  return member.endsWith(member.includes(":") ? "/128" : "/32");
}

/**
 * An IP set in use: how often each member is there, and which of them are shown.
 *
 * Invariant: `#counts` holds each member with the number of its sources (endpoints, slices). `#cover` exists only while
 * overlaps are suppressed and a network of more than one address is among the members: most sets never have one, and
 * are spared the trie.
 */
export class ActiveIpSet {
  readonly spec: IpSetSpec;
  readonly type: IPSetType;
  readonly #listener: MemberListener;
  readonly #suppress: boolean;
  readonly #counts = new Map<string, number>();
  #broadCount = 0;
  #cover: OverlapCover | undefined;

  constructor(spec: IpSetSpec, listener: MemberListener, suppressOverlaps: boolean) {
    this.spec = spec;
    this.type = ipSetType(spec);
    this.#listener = listener;
    this.#suppress = suppressOverlaps && spec.kind === "selector";
  }

  get id(): string {
    return this.spec.id;
  }

  /** One source more for a member. */
  add(member: string): void {
    const count = this.#counts.get(member);
    if (count !== undefined) {
      this.#counts.set(member, count + 1);
      return;
    }
    this.#counts.set(member, 1);
    if (this.#suppress && !isHostMember(member) && this.#broadCount++ === 0) {
      this.#cover = new OverlapCover();
      for (const known of this.#counts.keys()) if (known !== member) this.#cover.fill(known);
    }
    const visible = this.#cover?.add(member, (hidden) => this.#listener.onMemberRemoved(this, hidden)) ?? true;
    if (visible) this.#listener.onMemberAdded(this, member);
  }

  /** One source less; the member must be there. */
  remove(member: string): void {
    const count = this.#counts.get(member);
    assert(count !== undefined, () => `Member ${member} of IP set ${this.id} was removed more often than added`);
    if (count > 1) {
      this.#counts.set(member, count - 1);
      return;
    }
    this.#counts.delete(member);
    const visible = this.#cover?.remove(member, (shown) => this.#listener.onMemberAdded(this, shown)) ?? true;
    if (visible) this.#listener.onMemberRemoved(this, member);
    if (this.#suppress && !isHostMember(member) && --this.#broadCount === 0) this.#cover = undefined;
  }

  /** The members as the dataplane is to see them. */
  visibleMembers(): string[] {
    const cover = this.#cover;
    if (cover === undefined) return [...this.#counts.keys()];
    const out: string[] = [];
    for (const member of this.#counts.keys()) if (cover.isVisible(member)) out.push(member);
    return out;
  }
}
