import type { Right, Statement } from "@bulrush/nftables";
import type { PortRange } from "@bulrush/proto";
import type { SetLookup } from "../set-shape.ts";
import { addressAndPort, type Family, inSet, isPort, match, notInSet, port, type Side } from "../statements.ts";
import { anyOf, EVERY, type FieldMatch } from "./net-match.ts";

/** Slots of one block of ports; a range takes two. */
const BLOCK_SLOTS = 15;

/** Splits ports into blocks, in the order given. */
export function portBlocks(ports: readonly PortRange[]): PortRange[][] {
  const blocks: PortRange[][] = [];
  let slots = BLOCK_SLOTS;
  for (const range of ports) {
    const needed = range.first === range.last ? 1 : 2;
    let block = blocks.at(-1);
    if (block === undefined || slots + needed > BLOCK_SLOTS) {
      block = [];
      blocks.push(block);
      slots = 0;
    }
    block.push(range);
    slots += needed;
  }
  return blocks;
}

/** Ports without doubles and overlaps, ascending: the kernel refuses overlapping ranges in an anonymous set. */
export function mergePorts(ports: readonly PortRange[]): PortRange[] {
  const merged: PortRange[] = [];
  for (const range of ports.toSorted((a, b) => a.first - b.first || a.last - b.last)) {
    const last = merged.at(-1);
    if (last !== undefined && range.first <= last.last)
      merged[merged.length - 1] = { first: last.first, last: Math.max(last.last, range.last) };
    else merged.push({ first: range.first, last: range.last });
  }
  return merged;
}

function blockOperand(block: readonly PortRange[]): Right {
  const [only, second] = block;
  if (only !== undefined && second === undefined)
    return only.first === only.last
      ? { kind: "value", value: only.first }
      : { kind: "range", first: only.first, last: only.last };
  return { kind: "anonymous", elements: block.map((range) => (range.first === range.last ? range.first : range)) };
}

/** Numeric ports and sets of named ports of one side: one of all of them must hold. */
export function matchPorts(
  side: Side,
  ports: readonly PortRange[] | undefined,
  namedSetIds: readonly string[] | undefined,
  family: Family,
  sets: SetLookup,
): FieldMatch {
  if (ports === undefined && namedSetIds === undefined) return EVERY;
  const [only] = ports ?? [];
  if (ports?.length === 1 && only !== undefined && only.first === only.last && (namedSetIds?.length ?? 0) === 0)
    return { kind: "all", statements: [isPort(side, only.first)] };
  const alternatives: Statement[][] = portBlocks(mergePorts(ports ?? [])).map((block) => [
    match(port(side), "==", blockOperand(block)),
  ]);
  for (const id of namedSetIds ?? [])
    for (const name of sets(id).names) alternatives.push([inSet(addressAndPort(side, family), name)]);
  return alternatives.length === 0 ? EVERY : anyOf(alternatives);
}

/** None of the ports, and in none of the sets. */
export function matchNoPorts(
  side: Side,
  ports: readonly PortRange[] | undefined,
  namedSetIds: readonly string[] | undefined,
  family: Family,
  sets: SetLookup,
): Statement[] {
  if (ports === undefined && namedSetIds === undefined) return [];
  return [
    ...portBlocks(mergePorts(ports ?? [])).map((block) => match(port(side), "!=", blockOperand(block))),
    ...(namedSetIds ?? []).flatMap((id) => sets(id).names.map((name) => notInSet(addressAndPort(side, family), name))),
  ];
}

/** Protocols whose first four bytes are the ports. */
export function hasPorts(): Statement {
  return match({ kind: "meta", key: "l4proto" }, "==", { kind: "anonymous", elements: ["tcp", "udp", "sctp"] });
}
