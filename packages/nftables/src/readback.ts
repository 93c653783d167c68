import type { RuleHandle } from "./operation.ts";
import type { BaseChain, KeyField, TableFamily } from "./state.ts";
import type { Verdict } from "./statement.ts";

/** One table as it is in the kernel, read at one generation. Plain data. */
export interface TableReadback {
  readonly kind: "readback";
  readonly family: TableFamily;
  readonly name: string;
  /** That of the whole namespace while it was read. */
  readonly generation: number;
  /** True: somebody has put it to sleep, and no packet comes to its base chains. */
  readonly asleep: boolean;
  readonly chains: ReadonlyMap<string, ChainReadback>;
  /** Named sets; anonymous ones are part of the rules. */
  readonly sets: ReadonlyMap<string, SetReadback>;
  /** Verdict maps. */
  readonly maps: ReadonlyMap<string, MapReadback>;
  readonly flowtables: ReadonlyMap<string, FlowtableReadback>;
}

/** A chain as it was read; rules in the order in which packets meet them. */
export interface ChainReadback {
  readonly name: string;
  /** Missing for a chain that is only jumped to. */
  readonly base?: BaseChain;
  readonly rules: readonly RuleReadback[];
}

/** A rule as it was read: not its statements, which the kernel does not keep, but what tells it from others. */
export interface RuleReadback {
  /** Names the rule in its chain until it is replaced or deleted. */
  readonly handle: RuleHandle;
  /** From its user data; missing for a rule without one. */
  readonly comment?: string;
  /**
   * The rule's expressions in canonical text, counters' values left out and anonymous sets spelled out: equal to
   * `ruleKey` of a rule that does the same with the same expressions.
   */
  readonly key: string;
  /** Sum of nothing: the values of the rule's first counter, if it has one. */
  readonly counter?: { readonly packets: bigint; readonly bytes: bigint };
}

/** What counts, or leads on, in a rule: for those who ask how many packets it has seen. */
export interface CountedRule {
  readonly chain: string;
  readonly comment?: string;
  /** The chain that the rule jumps or goes to. */
  readonly target?: string;
  readonly counter?: { readonly packets: bigint; readonly bytes: bigint };
}

/** A named set as it was read. */
export interface SetReadback {
  readonly name: string;
  /** `undefined` when the set is of a type that we never make; it can only be deleted. */
  readonly key: readonly KeyField[] | undefined;
  readonly interval: boolean;
  /** Bound given at its making; missing when it has none. */
  readonly size?: number;
  /** Packets may add to it; its elements are left out. */
  readonly dynamic?: boolean;
  /** Canonical text as in {@link SetState}; a range that is no CIDR reads "first-last". */
  readonly elements: ReadonlySet<string>;
}

/** A verdict map as it was read, with all its elements. */
export interface MapReadback {
  readonly name: string;
  /** `undefined` when the map is of a type that we never make; it can only be deleted. */
  readonly key: KeyField | undefined;
  readonly elements: ReadonlyMap<string, Verdict>;
}

/** A flow table as it was read. */
export interface FlowtableReadback {
  readonly name: string;
  /** False when it is of a kind that we never make (another hook, in hardware); it can only be deleted. */
  readonly isOwnKind: boolean;
  /** Those that are there at the moment. */
  readonly devices: readonly string[];
}
