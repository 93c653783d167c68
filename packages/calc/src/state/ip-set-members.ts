import {
  type Address,
  CidrTrie,
  type Cidr,
  cidrOf,
  formatAddress,
  formatCidr,
  isHostCidr,
  parseCidr,
} from "@bulrush/ip";
import type { IPSetType } from "@bulrush/proto";

/**
 * The members of one IP set, with look-up by address.
 *
 * Invariant: the tries hold exactly those members of a NET set that are networks of more than one address.
 */
export class IpSetMembers {
  readonly id: string;
  type: IPSetType;
  /** Text as it was sent. Change it by the methods alone: the tries go with it. */
  readonly members: Set<string> = new Set();
  #broad4: CidrTrie<true> | undefined;
  #broad6: CidrTrie<true> | undefined;

  constructor(id: string, type: IPSetType) {
    this.id = id;
    this.type = type;
  }

  add(member: string): void {
    this.members.add(member);
    const cidr = this.#broadCidr(member);
    if (cidr === undefined) return;
    if (cidr.family === 4) (this.#broad4 ??= new CidrTrie()).set(cidr, true);
    else (this.#broad6 ??= new CidrTrie()).set(cidr, true);
  }

  /** True when it was there. */
  delete(member: string): boolean {
    if (!this.members.delete(member)) return false;
    const cidr = this.#broadCidr(member);
    if (cidr !== undefined) (cidr.family === 4 ? this.#broad4 : this.#broad6)?.delete(cidr);
    return true;
  }

  /** What was there before is gone. */
  replace(type: IPSetType, members: readonly string[]): void {
    this.type = type;
    this.members.clear();
    this.#broad4 = undefined;
    this.#broad6 = undefined;
    for (const member of members) this.add(member);
  }

  /** The member that covers the address, in a set of addresses or networks. */
  findAddress(address: Address): string | undefined {
    const bare = formatAddress(address);
    if (this.type === "IP" && this.members.has(bare)) return bare;
    const exact = formatCidr(cidrOf(address));
    if (this.members.has(exact)) return exact;
    const found = (address.family === 4 ? this.#broad4 : this.#broad6)?.lookup(address);
    return found === undefined ? undefined : formatCidr(found[0]);
  }

  /** The member of a set of (address, protocol, port). `protocol` is a lower-case name. */
  findPort(address: Address, protocol: string, port: number): string | undefined {
    const text = `${formatAddress(address)},${protocol}:${port}`;
    return this.members.has(text) ? text : undefined;
  }

  #broadCidr(member: string): Cidr | undefined {
    if (this.type !== "NET") return undefined;
    const cidr = parseCidr(member);
    return cidr === undefined || isHostCidr(cidr) ? undefined : cidr;
  }
}
