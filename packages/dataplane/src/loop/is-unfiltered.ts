import type { TableReadback, TableState } from "@bulrush/nftables";

/**
 * Packets have passed a table of ours unseen: it is not there or asleep, or a base chain is not (but for nat, which denies
 * nothing), or there is no rule in a base chain or in a chain that it leads to, where there should be.
 */
export function isUnfiltered(wanted: TableState, present: TableReadback | undefined): boolean {
  if (present === undefined || present.asleep) return true;
  for (const { base, name, rules } of wanted.chains.values()) {
    if (base === undefined || base.type === "nat") continue;
    const targets = rules.flatMap(({ statements }) =>
      statements.flatMap((one) => (one.kind === "verdict" && "chain" in one.verdict ? [one.verdict.chain] : [])),
    );
    const isOpen = (chain: string): boolean =>
      wanted.chains.get(chain)?.rules.length !== 0 && (present.chains.get(chain)?.rules ?? []).length === 0;
    if ([name, ...targets].some(isOpen)) return true;
  }
  return false;
}
