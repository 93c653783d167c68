import type { Operand, Statement } from "@bulrush/nftables";
import type { SetLookup } from "../set-shape.ts";
import { inSet, notInSet } from "../statements.ts";
import { anyOf, type FieldMatch } from "./net-match.ts";

/** Every set of the list must hold the operand: one field a set, since each may be two kernel sets. */
export function matchSets(operand: Operand, ids: readonly string[] | undefined, sets: SetLookup): FieldMatch[] {
  return (ids ?? []).map((id) => anyOf(sets(id).names.map((name) => [inSet(operand, name)])));
}

/** No set of the list may hold the operand: in neither kernel set of any. */
export function matchNoSets(operand: Operand, ids: readonly string[] | undefined, sets: SetLookup): Statement[] {
  return (ids ?? []).flatMap((id) => sets(id).names.map((name) => notInSet(operand, name)));
}
