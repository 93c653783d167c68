import type { NeighbourResponder, NeighbourResponderOptions } from "@bulrush/netlink";

/** Listens at no device, and remembers for what it would answer. */
export class FakeNeighbours {
  /** Every opening: "4 at 2 with 66:00:00:00:00:02". */
  readonly opened: string[] = [];
  /** Addresses that were announced, each time. */
  readonly announced: string[] = [];
  /** How often questions were looked for. */
  looks = 0;
  /** Openings fail while it is set. */
  refusal: Error | undefined;
  /** Looks at these devices fail. */
  readonly down: Set<number> = new Set();
  readonly #answers = new Map<NeighbourResponderOptions, ReadonlySet<string>>();

  open(options: NeighbourResponderOptions): NeighbourResponder {
    if (this.refusal !== undefined) throw this.refusal;
    const { device, family, from, mac } = options;
    this.opened.push(`${family} at ${device} with ${mac}${from === undefined ? "" : ` from ${from}`}`);
    this.#answers.set(options, new Set());
    return {
      set: (addresses) => {
        const wanted = new Set(addresses);
        const before = this.#answers.get(options);
        this.announced.push(...[...wanted].filter((address) => before?.has(address) !== true));
        this.#answers.set(options, wanted);
      },
      announce: () => void this.announced.push(...(this.#answers.get(options) ?? [])),
      answer: () => {
        this.looks++;
        if (this.down.has(device)) throw new Error("Network is down");
        return 0;
      },
      close: () => void this.#answers.delete(options),
    };
  }

  /** What is answered for at the moment: "10.0.0.9 at 2", sorted. */
  answers(): string[] {
    return [...this.#answers]
      .flatMap(([{ device }, addresses]) => [...addresses].map((address) => `${address} at ${device}`))
      .sort();
  }
}
