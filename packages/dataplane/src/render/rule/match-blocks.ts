import type { RuleState, Statement } from "@bulrush/nftables";
import type { MarkBits } from "../../config/dataplane-config.ts";
import { rule } from "../layer.ts";
import { clearMark, marked, setMark, unmarked } from "../statements.ts";

/** Rules that go ahead of the one that acts, and what that one must ask first. */
export interface MatchBlocks {
  readonly before: readonly RuleState[];
  readonly condition: readonly Statement[];
}

const NO_BLOCKS: MatchBlocks = { before: [], condition: [] };

/**
 * A rule is an AND of matches; an OR inside it takes several rules and a bit of the mark to remember the outcome.
 *
 *     scratch0: the packet matches every group so far       scratch1: it matches the group at hand
 *
 *     group 1      clear scratch0 and scratch1
 *                  each alternative:  matches -> set scratch0
 *     group 2...   clear scratch1
 *                  each alternative:  matches -> set scratch1
 *                  scratch1 not set -> clear scratch0
 *     then         the rule itself:   scratch0 set, other matches -> act
 *
 * Why not one rule for each combination of alternatives: that is a product, not a sum, and the packet would be counted
 * and logged in several places.
 */
export function matchBlocks(groups: readonly (readonly (readonly Statement[])[])[], marks: MarkBits): MatchBlocks {
  if (groups.length === 0) return NO_BLOCKS;
  const before: RuleState[] = [];
  for (const [i, alternatives] of groups.entries()) {
    const bit = i === 0 ? marks.scratch0 : marks.scratch1;
    before.push(rule(clearMark(i === 0 ? marks.scratch0 + marks.scratch1 : bit)));
    for (const statements of alternatives) before.push(rule(...statements, setMark(bit)));
    if (i > 0) before.push(rule(unmarked(bit), clearMark(marks.scratch0)));
  }
  return { before, condition: [marked(marks.scratch0)] };
}
