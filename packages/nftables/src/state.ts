import type { Statement, Verdict } from "./statement.ts";

/** The state of one table, desired or read back: pure data. Chains, sets and maps refer to each other by name. */
export interface TableState {
  readonly family: TableFamily;
  readonly name: string;
  readonly chains: ReadonlyMap<string, ChainState>;
  readonly sets: ReadonlyMap<string, SetState>;
  /** Verdict maps. */
  readonly maps: ReadonlyMap<string, VerdictMapState>;
  /** Default: none. */
  readonly flowtables?: ReadonlyMap<string, FlowtableState>;
}

/**
 * A flow table: established flows that a rule hands to it are forwarded as soon as they arrive at one of its devices, and
 * meet no rule any more. It hangs on the ingress hook with priority 0 and counts for conntrack. Which devices it has is not
 * part of its state: they come and go with interfaces, in transactions of their own, and those that went are gone by
 * themselves.
 */
export interface FlowtableState {
  readonly name: string;
  /**
   * A set of addresses whose flows must not be in it (the rules see to that). When a plan adds members to the set, the flow
   * table is made anew by the same batch: what is in it of theirs goes back to the rules, and no flow breaks.
   */
  readonly except?: string;
}

/** Families that we make tables of. `inet` sees packets of IPv4 and IPv6. */
export type TableFamily = "ip" | "ip6" | "inet" | "arp";

/** A chain, desired. Packets meet the rules in order. */
export interface ChainState {
  readonly name: string;
  /** Present for a chain that hangs on a kernel hook. */
  readonly base?: BaseChain;
  readonly rules: readonly RuleState[];
}

/** Where a base chain hangs. All but the policy are fixed once it is there: a change of them makes the chain anew. */
export interface BaseChain {
  readonly type: "filter" | "nat" | "route";
  readonly hook: "prerouting" | "input" | "forward" | "output" | "postrouting";
  /** Lower runs first. */
  readonly priority: number;
  /** What becomes of a packet that no rule has decided. */
  readonly policy: "accept" | "drop";
}

/** A rule, desired. Two rules are the same when their statements and comments are. */
export interface RuleState {
  readonly statements: readonly Statement[];
  /** Printed after the rule and kept in its user data. At most 253 bytes, else NFT_INVALID. */
  readonly comment?: string;
}

/** Types of fields in keys, by nft's names. `ifname` has at most 15 bytes; `mark` is 32 bits. */
export type KeyField = "ipv4_addr" | "ipv6_addr" | "inet_proto" | "inet_service" | "ifname" | "mark";

/**
 * A set. Elements are text in one canonical form: "10.0.0.1"; "10.0.0.0/24" (interval sets only; a full-length prefix
 * is written without its length); fields of a concatenation joined by " . ": "10.0.0.1 . tcp . 8080".
 */
export interface SetState {
  readonly name: string;
  /** One field, or several for a concatenation. */
  readonly key: readonly KeyField[];
  /** True for sets of CIDRs; overlapping elements are refused by the kernel. */
  readonly interval: boolean;
  /**
   * The most elements it may ever hold: the kernel makes room for them at once (four times faster to fill) and refuses
   * more with ENFILE. A change makes the set anew. Default: no bound, grows as needed.
   */
  readonly size?: number;
  /**
   * Packets may add to it, by statements of rules, for as long as these say. What it holds then is no part of the state:
   * `elements` are empty, and nothing is compared. Single values only, with a `size`. A change makes the set anew.
   */
  readonly dynamic?: boolean;
  readonly elements: ReadonlySet<string>;
}

/** A verdict map. */
export interface VerdictMapState {
  readonly name: string;
  /** One field only: no concatenations, no intervals. */
  readonly key: KeyField;
  /** Keys in the canonical text of {@link SetState}. */
  readonly elements: ReadonlyMap<string, Verdict>;
}
