import type { Operand, Statement } from "@bulrush/nftables";
import type { SetLookup } from "../set-shape.ts";
import { inSet, notInSet } from "../statements.ts";
import { anyOf, type FieldMatch } from "./net-match.ts";

/** One of these kernel sets must hold the operand. */
export function matchSet(operand: Operand, names: readonly string[]): FieldMatch {
  return anyOf(names.map((name) => [inSet(operand, name)]));
}

/** No set of the list may hold the operand: in neither kernel set of any. */
export function matchNoSets(operand: Operand, ids: readonly string[], sets: SetLookup): Statement[] {
  return ids.flatMap((id) => sets(id).names.map((name) => notInSet(operand, name)));
}
