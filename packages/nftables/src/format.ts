import type { RuleState, TableFamily, TableState } from "./state.ts";

/** The table in nft syntax, as `nft -f` reads it. */
export function formatRuleset(_table: TableState): string {
  return "";
}

/** One rule in nft syntax, on one line. */
export function formatRule(_rule: RuleState, _family: TableFamily): string {
  return "";
}
