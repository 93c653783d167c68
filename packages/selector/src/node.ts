import { SelectorError } from "./errors.ts";

/** What a node does. Numbers, so that the evaluator is one jump table. */
export const Op = {
  all: 0,
  global: 1,
  has: 2,
  equal: 3,
  notEqual: 4,
  contains: 5,
  startsWith: 6,
  endsWith: 7,
  in: 8,
  notIn: 9,
  and: 10,
  or: 11,
  not: 12,
} as const;

/** Closed: a switch over it ends in `unreachable`. */
export type Op = (typeof Op)[keyof typeof Op];

/** `all()` and `global()`: always true here; they differ in text and id, and `global()` is given a meaning in a rule. */
export interface ConstantNode {
  readonly op: typeof Op.all | typeof Op.global;
  readonly depth: number;
}

/** `has(label)`. */
export interface HasNode {
  readonly op: typeof Op.has;
  readonly label: string;
  readonly depth: number;
}

/** Those that compare one label with one value. */
export type ValueOp =
  | typeof Op.equal
  | typeof Op.notEqual
  | typeof Op.contains
  | typeof Op.startsWith
  | typeof Op.endsWith;

/** `label == "value"` and its kin. */
export interface ValueNode {
  readonly op: ValueOp;
  readonly label: string;
  readonly value: string;
  readonly depth: number;
}

/** `label in {...}` and `label not in {...}`. */
export interface SetNode {
  readonly op: typeof Op.in | typeof Op.notIn;
  readonly label: string;
  /** In canonical order (by code point). */
  readonly values: ReadonlySet<string>;
  readonly depth: number;
}

/** `(a && b)`, `(a || b)`: two operands or more, in the order written. */
export interface GroupNode {
  readonly op: typeof Op.and | typeof Op.or;
  readonly operands: readonly SelectorNode[];
  readonly depth: number;
}

/** `!a`. Its operand is never a NotNode. */
export interface NotNode {
  readonly op: typeof Op.not;
  readonly operands: readonly [SelectorNode];
  readonly depth: number;
}

/**
 * A selector as a tree. `depth` is the number of and/or groups on the longest way down.
 *
 * Invariant: nodes are immutable and are made only by this file, where all of them are objects of one shape (unused
 * fields are empty), so that the evaluator's reads stay monomorphic.
 */
export type SelectorNode = ConstantNode | HasNode | ValueNode | SetNode | GroupNode | NotNode;

const NO_VALUES: ReadonlySet<string> = new Set();
const NO_NODES: readonly SelectorNode[] = [];

class NodeObject {
  readonly op: Op;
  readonly label: string;
  readonly value: string;
  readonly values: ReadonlySet<string>;
  readonly operands: readonly SelectorNode[];
  readonly depth: number;

  constructor(
    op: Op,
    label: string,
    value: string,
    values: ReadonlySet<string>,
    operands: readonly SelectorNode[],
    depth: number,
  ) {
    this.op = op;
    this.label = label;
    this.value = value;
    this.values = values;
    this.operands = operands;
    this.depth = depth;
  }
}

/** Longest label name, in characters. */
export const MAX_LABEL_LENGTH = 512;

function unwritable(what: string, expected: string): SelectorError {
  return new SelectorError("SELECTOR_UNWRITABLE", `Cannot write ${what} in a selector: expected ${expected}`, {
    position: 0,
    expected,
    found: what,
  });
}

function checkLabel(label: string): string {
  if (!/^[A-Za-z0-9_./-]{1,512}$/.test(label))
    throw unwritable(`label name "${label.slice(0, 40)}"`, "1 to 512 letters, digits and _ . / -");
  return label;
}

function checkValue(value: string): string {
  if (value.includes('"') && value.includes("'"))
    throw unwritable(`value ${value.slice(0, 40)}`, "only one kind of quote");
  return value;
}

/** By code point, which is also the order of the UTF-8 bytes. */
function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    let x = a.charCodeAt(i);
    let y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above everything else, yet are below U+E000 as code units.
    if (x >= 0xd800 && y >= 0xd800) {
      x = x >= 0xe000 ? x - 0x2000 : x + 0x2000;
      y = y >= 0xe000 ? y - 0x2000 : y + 0x2000;
    }
    return x - y;
  }
  return a.length - b.length;
}

function sortedSet(values: Iterable<string>): ReadonlySet<string> {
  const list = [...values];
  if (list.length > 1) list.sort(compareCodePoints);
  return new Set(list);
}

/** For the parser only, whose labels and values are writable by origin. */
export function parsedHas(label: string): SelectorNode {
  return new NodeObject(Op.has, label, "", NO_VALUES, NO_NODES, 0) as HasNode;
}

/** For the parser only, see {@link parsedHas}. */
export function parsedValue(op: ValueOp, label: string, value: string): SelectorNode {
  return new NodeObject(op, label, value, NO_VALUES, NO_NODES, 0) as ValueNode;
}

/** For the parser only, see {@link parsedHas}. */
export function parsedSet(op: SetNode["op"], label: string, values: readonly string[]): SelectorNode {
  return new NodeObject(op, label, "", sortedSet(values), NO_NODES, 0) as SetNode;
}

/** `all()`. */
export const ALL: SelectorNode = new NodeObject(Op.all, "", "", NO_VALUES, NO_NODES, 0) as ConstantNode;

/** `global()`. */
export const GLOBAL: SelectorNode = new NodeObject(Op.global, "", "", NO_VALUES, NO_NODES, 0) as ConstantNode;

/** `has(label)`. Throws SELECTOR_UNWRITABLE for a name outside the language. */
export function hasLabel(label: string): SelectorNode {
  return parsedHas(checkLabel(label));
}

/** `label == "value"` or another operator with one value. Throws SELECTOR_UNWRITABLE. */
export function compareLabel(op: ValueOp, label: string, value: string): SelectorNode {
  return parsedValue(op, checkLabel(label), checkValue(value));
}

/** `label in {values}` or `not in`. Throws SELECTOR_UNWRITABLE. */
export function labelInSet(op: SetNode["op"], label: string, values: Iterable<string>): SelectorNode {
  const list = [...values];
  for (const value of list) checkValue(value);
  return parsedSet(op, checkLabel(label), list);
}

function group(op: GroupNode["op"], operands: readonly SelectorNode[]): SelectorNode {
  const [first] = operands;
  if (operands.length === 1 && first !== undefined) return first;
  let depth = 0;
  for (const operand of operands) if (operand.depth > depth) depth = operand.depth;
  return new NodeObject(op, "", "", NO_VALUES, operands, depth + 1) as GroupNode;
}

/** `(a && b && ...)`; one operand stands alone, none is `all()`. Takes the array over: do not change it afterwards. */
export function andNode(operands: readonly SelectorNode[]): SelectorNode {
  return operands.length === 0 ? ALL : group(Op.and, operands);
}

/** `(a || b || ...)`; one operand stands alone, none is `!all()`. Takes the array over. */
export function orNode(operands: readonly SelectorNode[]): SelectorNode {
  return operands.length === 0 ? notNode(ALL) : group(Op.or, operands);
}

/** `!a`; a pair of negations cancels. */
export function notNode(operand: SelectorNode): SelectorNode {
  if (operand.op === Op.not) return operand.operands[0];
  return new NodeObject(Op.not, "", "", NO_VALUES, [operand], operand.depth) as unknown as NotNode;
}
