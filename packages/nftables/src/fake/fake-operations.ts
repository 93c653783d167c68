import { unreachable } from "@bulrush/base";
import { type Interval, parseInterval } from "../element/interval.ts";
import { encodeKey, keyShape } from "../element/key-shape.ts";
import { setKeyShape } from "../element/set-elements.ts";
import type { FlowtableShape, MapShape, NftOperation, RuleHandle, SetShape } from "../operation.ts";
import type { BaseChain, RuleState } from "../state.ts";
import type { Verdict } from "../statement.ts";
import { compareBytes } from "../wire/bytes.ts";
import { hex } from "../wire/hex.ts";
import {
  copyTable,
  type FakeChain,
  type FakeElement,
  type FakeMap,
  type FakeRule,
  type FakeSet,
  type FakeTable,
  ruleFlowtable,
  ruleSets,
  ruleTargets,
  tableKey,
  verdictTarget,
} from "./fake-state.ts";

/** What the kernel would answer to an operation: an errno name. */
export class FakeRefusal extends Error {
  override readonly name = "FakeRefusal";
  readonly errnoName: FakeErrno;

  constructor(errnoName: FakeErrno) {
    super(errnoName);
    this.errnoName = errnoName;
  }
}

export type FakeErrno =
  | "EBUSY"
  | "EEXIST"
  | "EINVAL"
  | "ELOOP"
  | "ENFILE"
  | "ENOENT"
  | "EOPNOTSUPP"
  | "ERANGE"
  | "ENAMETOOLONG";

function refuse(errnoName: FakeErrno): never {
  throw new FakeRefusal(errnoName);
}

/** NFT_NAME_MAXLEN less the NUL. */
const MAX_NAME_BYTES = 255;

/** The tables while a transaction is carried out. Nothing of it is seen outside before it is committed. */
export class FakeOperations {
  readonly tables: Map<string, FakeTable>;
  readonly #nextHandle: () => RuleHandle;
  readonly #hasDevice: (name: string) => boolean;
  readonly #hasFlowtables: boolean;
  readonly #missing: ReadonlySet<string>;
  readonly #copied = new Set<string>();
  /** Tables that were put to sleep or woken. */
  readonly #turned = new Set<string>();
  /** Some operation has done something. The kernel counts a generation for nothing less. */
  changed = false;

  constructor(
    tables: ReadonlyMap<string, FakeTable>,
    nextHandle: () => RuleHandle,
    kernel: {
      readonly hasDevice: (name: string) => boolean;
      readonly hasFlowtables: boolean;
      readonly missingStatements: ReadonlySet<string>;
    },
  ) {
    this.#missing = kernel.missingStatements;
    this.#hasDevice = kernel.hasDevice;
    this.#hasFlowtables = kernel.hasFlowtables;
    this.tables = new Map(tables);
    this.#nextHandle = nextHandle;
  }

  /** Carries out one operation, or throws {@link FakeRefusal} and changes nothing. */
  apply(operation: NftOperation): void {
    const key = tableKey(operation.table);
    if (operation.kind === "add-table") {
      if (this.tables.has(key)) {
        if (operation.exclusive === true) refuse("EEXIST");
        this.#putToSleep(key, operation.asleep);
        return;
      }
      checkName(operation.table.name);
      const { asleep = false, table: ref } = operation;
      this.tables.set(key, { ref, asleep, chains: new Map(), sets: new Map(), flowtables: new Map() });
      this.#copied.add(key);
      this.changed = true;
      return;
    }
    const table = this.#table(key);
    this.changed = this.#applyTo(table, operation) || this.changed;
  }

  /** As it is, where nothing is asked for. */
  #putToSleep(key: string, asleep: boolean | undefined): void {
    const table = this.#table(key);
    if (asleep === undefined || asleep === table.asleep) return;
    // Hooks are taken and given back when the transaction is done: until then nothing else may touch them.
    if (this.#turned.has(key)) refuse("EINVAL");
    this.#turned.add(key);
    table.asleep = asleep;
    this.changed = true;
  }

  /** Returns whether anything was done. */
  #applyTo(table: FakeTable, operation: Exclude<NftOperation, { kind: "add-table" }>): boolean {
    switch (operation.kind) {
      case "delete-table":
        this.tables.delete(tableKey(table.ref));
        return true;
      case "add-chain":
        if (operation.base !== undefined && this.#turned.has(tableKey(table.ref))) refuse("EINVAL");
        return addChain(table, operation.chain, operation.base, operation.exclusive === true);
      case "delete-chain":
        return deleteChain(table, operation.chain);
      case "flush-chain":
        return setRules(table, operation.chain, () => []);
      case "add-rule":
        return this.#addRule(table, operation.chain, operation.rule, (rules, rule) => [...rules, rule]);
      case "insert-rule":
        return this.#addRule(table, operation.chain, operation.rule, (rules, rule) => {
          const at = operation.before === undefined ? 0 : indexOfHandle(rules, operation.before);
          return rules.toSpliced(at, 0, rule);
        });
      case "replace-rule":
        return this.#addRule(table, operation.chain, operation.rule, (rules, rule) =>
          rules.toSpliced(indexOfHandle(rules, operation.handle), 1, rule),
        );
      case "delete-rule":
        return setRules(table, operation.chain, (rules) => rules.toSpliced(indexOfHandle(rules, operation.handle), 1));
      case "add-set":
        return addSet(table, { kind: "set", shape: operation.set, elements: new Map() }, operation.exclusive === true);
      case "add-map":
        return addSet(table, { kind: "map", shape: operation.map, elements: new Map() }, operation.exclusive === true);
      case "delete-set":
        return deleteSet(table, operation.set);
      case "delete-map":
        return deleteSet(table, operation.map);
      case "flush-set": {
        const set = findSet(table, operation.set);
        table.sets.set(operation.set, { ...set, elements: new Map() });
        return set.elements.size > 0;
      }
      case "add-elements":
        return addElements(table, operation.set, operation.elements, operation.exclusive === true);
      case "delete-elements":
        return deleteElements(table, operation.set, operation.elements);
      case "add-map-elements":
        return addMapElements(table, operation.map, operation.elements);
      case "delete-map-elements":
        return deleteMapElements(table, operation.map, operation.keys);
      case "add-flowtable":
        if (!this.#hasFlowtables || !operation.flowtable.devices.every(this.#hasDevice)) refuse("ENOENT");
        return addFlowtable(table, operation.flowtable, operation.exclusive === true);
      case "delete-flowtable":
        return deleteFlowtable(table, operation.flowtable);
      case "delete-flowtable-devices":
        return deleteFlowtableDevices(table, operation.flowtable);
      default:
        return unreachable(operation);
    }
  }

  #table(key: string): FakeTable {
    const table = this.tables.get(key) ?? refuse("ENOENT");
    if (this.#copied.has(key)) return table;
    const copy = copyTable(table);
    this.tables.set(key, copy);
    this.#copied.add(key);
    return copy;
  }

  #addRule(
    table: FakeTable,
    chain: string,
    rule: RuleState,
    place: (rules: readonly FakeRule[], rule: FakeRule) => readonly FakeRule[],
  ): boolean {
    if (!table.chains.has(chain)) refuse("ENOENT");
    if (rule.statements.some(({ kind }) => this.#missing.has(kind))) refuse("ENOENT");
    for (const { name, use } of ruleSets(rule)) {
      const set = table.sets.get(name) ?? refuse("ENOENT");
      if (use === "map" && set.kind !== "map") refuse("EINVAL");
      // No time for its elements.
      if (use === "add" && (set.kind !== "set" || set.shape.dynamic !== true)) refuse("EOPNOTSUPP");
    }
    for (const target of ruleTargets(rule)) checkTarget(table, target);
    const flowtable = ruleFlowtable(rule);
    if (flowtable !== undefined && !table.flowtables.has(flowtable)) refuse("ENOENT");
    const added: FakeRule = { handle: this.#nextHandle(), rule };
    return setRules(table, chain, (rules) => place(rules, added));
  }
}

function checkName(name: string): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) refuse("ERANGE");
}

/** A verdict may lead to any chain that hangs on no hook. */
function checkTarget(table: FakeTable, name: string): void {
  const chain = table.chains.get(name) ?? refuse("ENOENT");
  if (chain.base !== undefined) refuse("EOPNOTSUPP");
}

function addChain(table: FakeTable, name: string, base: BaseChain | undefined, exclusive: boolean): boolean {
  checkName(name);
  const present = table.chains.get(name);
  if (present === undefined) {
    table.chains.set(name, { base, rules: [] });
    return true;
  }
  if (exclusive) refuse("EEXIST");
  if (base === undefined) return true;
  const now = present.base ?? refuse("EOPNOTSUPP");
  if (now.type !== base.type || now.hook !== base.hook || now.priority !== base.priority) refuse("EOPNOTSUPP");
  table.chains.set(name, { ...present, base });
  return true;
}

function findChain(table: FakeTable, name: string): FakeChain {
  return table.chains.get(name) ?? refuse("ENOENT");
}

function deleteChain(table: FakeTable, name: string): boolean {
  findChain(table, name);
  for (const [other, chain] of table.chains)
    if (other !== name && chain.rules.some(({ rule }) => ruleTargets(rule).includes(name))) refuse("EBUSY");
  for (const set of table.sets.values())
    if (set.kind === "map")
      for (const { verdict } of set.elements.values()) if (verdictTarget(verdict) === name) refuse("EBUSY");
  table.chains.delete(name);
  return true;
}

function setRules(
  table: FakeTable,
  name: string,
  change: (rules: readonly FakeRule[]) => readonly FakeRule[],
): boolean {
  const chain = findChain(table, name);
  const rules = change(chain.rules);
  table.chains.set(name, { ...chain, rules });
  return rules.length > 0 || chain.rules.length > 0;
}

function indexOfHandle(rules: readonly FakeRule[], handle: RuleHandle): number {
  const index = rules.findIndex((rule) => rule.handle === handle);
  return index < 0 ? refuse("ENOENT") : index;
}

function addSet(table: FakeTable, set: FakeSet | FakeMap, exclusive: boolean): boolean {
  checkName(set.shape.name);
  const present = table.sets.get(set.shape.name);
  if (present === undefined) {
    table.sets.set(set.shape.name, set);
    return true;
  }
  if (exclusive || shapeText(present) !== shapeText(set)) refuse("EEXIST");
  return true;
}

function shapeText(set: FakeSet | FakeMap): string {
  if (set.kind === "map") return `map ${set.shape.key}`;
  const { dynamic, interval, key, size } = set.shape;
  return `set ${key.join(" . ")} ${interval} ${size ?? ""} ${dynamic === true}`;
}

function findSet(table: FakeTable, name: string): FakeSet | FakeMap {
  return table.sets.get(name) ?? refuse("ENOENT");
}

function deleteSet(table: FakeTable, name: string): boolean {
  findSet(table, name);
  for (const chain of table.chains.values())
    if (chain.rules.some(({ rule }) => ruleSets(rule).some((set) => set.name === name))) refuse("EBUSY");
  table.sets.delete(name);
  return true;
}

function rangeOf(shape: SetShape, text: string): Interval {
  const keys = setKeyShape(shape);
  if (shape.interval) return parseInterval(keys, text);
  const key = encodeKey(keys, text);
  return { first: key, last: key };
}

function sameRange(a: Interval, b: Interval): boolean {
  return compareBytes(a.first, b.first) === 0 && compareBytes(a.last, b.last) === 0;
}

function addElements(table: FakeTable, shape: SetShape, texts: readonly string[], exclusive: boolean): boolean {
  const set = findSet(table, shape.name);
  if (set.kind !== "set") refuse("EINVAL");
  const elements = new Map<string, FakeElement>(set.elements);
  for (const text of texts) {
    const range = rangeOf(set.shape, text);
    const present = elements.get(hex(range.first));
    if (present !== undefined && sameRange(present.range, range)) {
      if (exclusive) refuse("EEXIST");
      continue;
    }
    for (const other of set.shape.interval ? elements.values() : [])
      if (compareBytes(range.first, other.range.last) <= 0 && compareBytes(other.range.first, range.last) <= 0)
        refuse("EEXIST");
    elements.set(hex(range.first), { range });
    if (set.shape.size !== undefined && elements.size > set.shape.size) refuse("ENFILE");
  }
  table.sets.set(shape.name, { ...set, elements });
  return elements.size !== set.elements.size;
}

function deleteElements(table: FakeTable, shape: SetShape, texts: readonly string[]): boolean {
  const set = findSet(table, shape.name);
  if (set.kind !== "set") refuse("EINVAL");
  const elements = new Map<string, FakeElement>(set.elements);
  for (const text of texts) {
    const range = rangeOf(set.shape, text);
    const present = elements.get(hex(range.first)) ?? refuse("ENOENT");
    if (!sameRange(present.range, range)) refuse("ENOENT");
    elements.delete(hex(range.first));
  }
  table.sets.set(shape.name, { ...set, elements });
  return elements.size !== set.elements.size;
}

function addMapElements(table: FakeTable, shape: MapShape, added: readonly (readonly [string, Verdict])[]): boolean {
  const map = findSet(table, shape.name);
  if (map.kind !== "map") refuse("EINVAL");
  const elements = new Map(map.elements);
  for (const [text, verdict] of added) {
    const key = encodeKey(keyShape([map.shape.key]), text);
    const target = verdictTarget(verdict);
    if (target !== undefined) checkTarget(table, target);
    const present = elements.get(hex(key));
    if (present === undefined) elements.set(hex(key), { key, verdict });
    else if (present.verdict.kind !== verdict.kind || verdictTarget(present.verdict) !== target) refuse("EEXIST");
  }
  table.sets.set(shape.name, { ...map, elements });
  return elements.size !== map.elements.size;
}

function deleteMapElements(table: FakeTable, shape: MapShape, keys: readonly string[]): boolean {
  const map = findSet(table, shape.name);
  if (map.kind !== "map") refuse("EINVAL");
  const elements = new Map(map.elements);
  for (const text of keys) if (!elements.delete(hex(encodeKey(keyShape([map.shape.key]), text)))) refuse("ENOENT");
  table.sets.set(shape.name, { ...map, elements });
  return true;
}

function addFlowtable(table: FakeTable, { devices, name }: FlowtableShape, exclusive: boolean): boolean {
  checkName(name);
  const present = table.flowtables.get(name);
  if (present !== undefined && exclusive) refuse("EEXIST");
  for (const [other, taken] of table.flowtables)
    if (other !== name && devices.some((device) => taken.has(device))) refuse("EEXIST");
  table.flowtables.set(name, new Set([...(present ?? []), ...devices]));
  return true;
}

function deleteFlowtable(table: FakeTable, name: string): boolean {
  if (!table.flowtables.has(name)) refuse("ENOENT");
  for (const { rules } of table.chains.values())
    if (rules.some(({ rule }) => ruleFlowtable(rule) === name)) refuse("EBUSY");
  table.flowtables.delete(name);
  return true;
}

function deleteFlowtableDevices(table: FakeTable, { devices, name }: FlowtableShape): boolean {
  const rest = new Set(table.flowtables.get(name) ?? refuse("ENOENT"));
  for (const device of devices) if (!rest.delete(device)) refuse("ENOENT");
  table.flowtables.set(name, rest);
  return true;
}
