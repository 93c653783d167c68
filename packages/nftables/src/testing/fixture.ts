import type { MapShape, SetShape, TableRef } from "../operation.ts";
import type { BaseChain, RuleState } from "../state.ts";
import type { Statement, Verdict } from "../statement.ts";
import type { Transaction } from "../transaction.ts";

export const T: TableRef = { family: "ip", name: "t" };
export const HASH: SetShape = { name: "hash", key: ["ipv4_addr"], interval: false };
export const NETS: SetShape = { name: "nets", key: ["ipv4_addr"], interval: true };
export const SIZED: SetShape = { name: "sized", key: ["ipv4_addr"], interval: false, size: 2 };
export const DYNAMIC: SetShape = { name: "dynamic", key: ["ipv4_addr"], interval: false, size: 64, dynamic: true };
export const PORTS: SetShape = { name: "ports", key: ["ipv4_addr", "inet_proto", "inet_service"], interval: false };
export const MAP: MapShape = { name: "map", key: "ifname" };
export const INPUT: BaseChain = { type: "filter", hook: "input", priority: 0, policy: "accept" };
export const OUTPUT: BaseChain = { type: "filter", hook: "output", priority: 0, policy: "accept" };

function rule(...statements: readonly Statement[]): RuleState {
  return { statements };
}

function verdict(value: Verdict): RuleState {
  return rule({ kind: "verdict", verdict: value });
}

export function inSet(name: string): RuleState {
  return rule({
    kind: "match",
    left: { kind: "payload", field: "ip saddr" },
    op: "==",
    right: { kind: "set", name },
  });
}

export function addTo(set: string): RuleState {
  return rule({
    kind: "set-element",
    change: "add",
    set,
    key: { kind: "payload", field: "ip saddr" },
    timeoutSeconds: 60,
  });
}

export const VMAP: RuleState = rule({ kind: "vmap", key: { kind: "meta", key: "iifname" }, map: "map" });
export function jump(chain: string): RuleState {
  return verdict({ kind: "jump", chain });
}
export function offload(flowtable: string): RuleState {
  return rule({ kind: "flow-offload", flowtable });
}
export const FORWARD: BaseChain = { type: "filter", hook: "forward", priority: 0, policy: "accept" };
export const ACCEPT: RuleState = verdict({ kind: "accept" });

export type Build = (transaction: Transaction) => void;

/** What one transaction must do, whoever runs it. */
export interface ComplianceCase {
  readonly name: string;
  /** Done first, in a transaction of its own; the table `t` is made before it. */
  readonly before?: Build;
  readonly run: Build;
  /** "index errno" of each operation that must fail, or nothing when all must work. */
  readonly fails?: readonly string[];
  /** It works and changes nothing, so that the generation stays. */
  readonly idle?: boolean;
}
