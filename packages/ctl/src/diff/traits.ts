import {
  type Address,
  type Cidr,
  containsAddress,
  formatAddress,
  formatCidr,
  isHostCidr,
  parseCidr,
} from "@bulrush/ip";
import type { StatePair } from "./touched.ts";

/**
 * What rules can tell of an address: the networks that it lies in, and the IP sets that it is in before and after, with
 * its ports there. Two addresses of the same traits are judged alike by every rule.
 */
export class Traits {
  /** Traits of single addresses, by text. */
  readonly #exact = new Map<string, string[]>();
  readonly #networks: { readonly cidr: Cidr; readonly trait: string }[] = [];

  /** `nets`: every network that a rule names. */
  constructor({ before, after }: StatePair, nets: Iterable<string>) {
    for (const net of nets) this.#add(net, `net ${net}`);
    for (const [when, state] of [
      ["before", before],
      ["after", after],
    ] as const)
      for (const [id, { type, members }] of state.ipSets)
        for (const member of members) {
          const [address = "", port] = type === "IP_AND_PORT" ? member.split(",") : [member];
          this.#add(address, `${when} ${id}${port === undefined ? "" : ` ${port}`}`);
        }
  }

  /** A text that is equal for equal traits; "" for an address that no rule can tell from others. */
  of(address: Address): string {
    const found = new Set(this.#exact.get(formatAddress(address)));
    for (const { cidr, trait } of this.#networks) if (containsAddress(cidr, address)) found.add(trait);
    return [...found].sort().join("; ");
  }

  /** The longest prefix around an address; undefined where the address itself is named, or nothing is around it. */
  smallestNetwork(address: Address): string | undefined {
    if (this.#exact.has(formatAddress(address))) return undefined;
    const around = this.#networks.map(({ cidr }) => cidr).filter((cidr) => containsAddress(cidr, address));
    const smallest = around.toSorted((a, b) => b.prefixLength - a.prefixLength)[0];
    return smallest && formatCidr(smallest);
  }

  /** Every network of more than one address, and every single address, that rules tell apart. */
  get networks(): readonly Cidr[] {
    return this.#networks.map(({ cidr }) => cidr);
  }

  get addresses(): Iterable<string> {
    return this.#exact.keys();
  }

  #add(text: string, trait: string): void {
    const cidr = parseCidr(text.includes("/") ? text : `${text}/${text.includes(":") ? 128 : 32}`);
    if (cidr === undefined) return;
    if (!isHostCidr(cidr)) {
      this.#networks.push({ cidr, trait });
      return;
    }
    const name = formatAddress(cidr);
    const list = this.#exact.get(name);
    if (list === undefined) this.#exact.set(name, [trait]);
    else list.push(trait);
  }
}
