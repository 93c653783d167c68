import type { BaseChain, KeyField, RuleState, TableFamily } from "./state.ts";
import type { Verdict } from "./statement.ts";

/** Which table. */
export interface TableRef {
  readonly family: TableFamily;
  readonly name: string;
}

/** A set without its elements. */
export interface SetShape {
  readonly name: string;
  readonly key: readonly KeyField[];
  /** As in {@link SetState}, as `key` is. A shape that differs from what is there is refused (EEXIST). */
  readonly interval: boolean;
  /** See {@link SetState.size}. */
  readonly size?: number;
  /** See {@link SetState.dynamic}. */
  readonly dynamic?: boolean;
}

/** A verdict map without its elements. */
export interface MapShape {
  readonly name: string;
  readonly key: KeyField;
}

/** A flow table, and devices of it. */
export interface FlowtableShape {
  readonly name: string;
  /** Those that are there already stay. A device that does not exist is refused: ENOENT. */
  readonly devices: readonly string[];
}

/** A rule as the kernel knows it, within its chain. */
export type RuleHandle = number;

/**
 * One step of a transaction, as data. `add-*` of something that is there already in the same shape does nothing,
 * unless `exclusive` is set (then EEXIST).
 */
export type NftOperation =
  | {
      readonly kind: "add-table";
      readonly table: TableRef;
      readonly exclusive?: boolean;
      /** True: no packet comes to its base chains, false: they do; of a table that is there too. Default: as it is. */
      readonly asleep?: boolean;
    }
  /** Takes everything in the table with it. */
  | { readonly kind: "delete-table"; readonly table: TableRef }
  | {
      readonly kind: "add-chain";
      readonly table: TableRef;
      readonly chain: string;
      readonly base?: BaseChain;
      readonly exclusive?: boolean;
    }
  /** Refused (EBUSY) while a rule or a verdict map leads to it; takes its own rules with it. */
  | { readonly kind: "delete-chain"; readonly table: TableRef; readonly chain: string }
  /** Takes its rules, not the chain. Others may still jump to it. */
  | { readonly kind: "flush-chain"; readonly table: TableRef; readonly chain: string }
  /** At the end of the chain. */
  | { readonly kind: "add-rule"; readonly table: TableRef; readonly chain: string; readonly rule: RuleState }
  /** In front of the rule `before`, or at the chain's beginning. */
  | {
      readonly kind: "insert-rule";
      readonly table: TableRef;
      readonly chain: string;
      readonly rule: RuleState;
      readonly before?: RuleHandle;
    }
  /** In the same place, under a new handle, counters at zero. */
  | {
      readonly kind: "replace-rule";
      readonly table: TableRef;
      readonly chain: string;
      readonly handle: RuleHandle;
      readonly rule: RuleState;
    }
  | { readonly kind: "delete-rule"; readonly table: TableRef; readonly chain: string; readonly handle: RuleHandle }
  | { readonly kind: "add-set"; readonly table: TableRef; readonly set: SetShape; readonly exclusive?: boolean }
  | { readonly kind: "delete-set"; readonly table: TableRef; readonly set: string }
  | { readonly kind: "flush-set"; readonly table: TableRef; readonly set: string }
  /** What is there already stays as it is. Refused (ENOENT) without the set. */
  | {
      readonly kind: "add-elements";
      readonly table: TableRef;
      readonly set: SetShape;
      readonly elements: readonly string[];
      readonly exclusive?: boolean;
    }
  /** Refused (ENOENT) where one is not there. */
  | {
      readonly kind: "delete-elements";
      readonly table: TableRef;
      readonly set: SetShape;
      readonly elements: readonly string[];
    }
  | { readonly kind: "add-map"; readonly table: TableRef; readonly map: MapShape; readonly exclusive?: boolean }
  | { readonly kind: "delete-map"; readonly table: TableRef; readonly map: string }
  | {
      readonly kind: "add-map-elements";
      readonly table: TableRef;
      readonly map: MapShape;
      readonly elements: readonly (readonly [key: string, verdict: Verdict])[];
    }
  | {
      readonly kind: "delete-map-elements";
      readonly table: TableRef;
      readonly map: MapShape;
      readonly keys: readonly string[];
    }
  /** Of one that is there, adds the devices that it lacks. */
  | {
      readonly kind: "add-flowtable";
      readonly table: TableRef;
      readonly flowtable: FlowtableShape;
      readonly exclusive?: boolean;
    }
  /** With its devices and all flows in it. */
  | { readonly kind: "delete-flowtable"; readonly table: TableRef; readonly flowtable: string }
  | { readonly kind: "delete-flowtable-devices"; readonly table: TableRef; readonly flowtable: FlowtableShape };

/** The operation in a few words, for messages: "add-rule ip calico filter-cali-FORWARD". */
export function describeOperation(operation: NftOperation): string {
  const { kind, table } = operation;
  const where = `${kind} ${table.family} ${table.name}`;
  switch (kind) {
    case "add-table":
    case "delete-table":
      return where;
    case "add-chain":
    case "delete-chain":
    case "flush-chain":
    case "add-rule":
    case "insert-rule":
      return `${where} ${operation.chain}`;
    case "replace-rule":
    case "delete-rule":
      return `${where} ${operation.chain} handle ${operation.handle}`;
    case "add-set":
      return `${where} ${operation.set.name}`;
    case "delete-set":
    case "flush-set":
      return `${where} ${operation.set}`;
    case "add-elements":
    case "delete-elements":
      return `${where} ${operation.set.name} (${operation.elements.length})`;
    case "add-map":
      return `${where} ${operation.map.name}`;
    case "delete-map":
      return `${where} ${operation.map}`;
    case "add-map-elements":
      return `${where} ${operation.map.name} (${operation.elements.length})`;
    case "delete-map-elements":
      return `${where} ${operation.map.name} (${operation.keys.length})`;
    case "add-flowtable":
    case "delete-flowtable-devices":
      return `${where} ${operation.flowtable.name} (${operation.flowtable.devices.length})`;
    case "delete-flowtable":
      return `${where} ${operation.flowtable}`;
  }
}
