import type { ChainState, RuleState, Statement } from "@bulrush/nftables";

/**
 * All chains share one table, so each carries the name of the table it would have been in with iptables: chains of a
 * layer run at the same hooks and never jump into another layer.
 */
export type Layer = "raw" | "mangle" | "filter" | "nat";

/** The name of a chain or map in the kernel. */
export function layered(layer: Layer, name: string): string {
  return `${layer}-${name}`;
}

export function chain(layer: Layer, name: string, rules: readonly RuleState[]): ChainState {
  return { name: layered(layer, name), rules };
}

export function rule(...statements: readonly Statement[]): RuleState {
  return { statements };
}

export function commented(comment: string, ...statements: readonly Statement[]): RuleState {
  return { statements, comment };
}
