import type { FlowVerdict } from "@bulrush/calc";
import type { ListedTier } from "./policy-list.ts";

/** A flow as it is typed. */
export interface AskedFlow {
  readonly from: string;
  readonly to: string;
  readonly protocol: string;
  /** "" where the protocol has none. */
  readonly port: string;
}

/** To the thread that has the graph. */
export type ToGraph =
  | { readonly type: "load" }
  | { readonly type: "explain"; readonly id: number; readonly flow: AskedFlow };

/** From it. */
export type FromGraph =
  | { readonly type: "progress"; readonly text: string }
  | { readonly type: "failed"; readonly message: string }
  | { readonly type: "loaded"; readonly snapshot: LoadedSnapshot }
  | { readonly type: "explained"; readonly id: number; readonly answer: ExplainAnswer };

/** What the graph was made from, and what the pages show of it. */
export interface LoadedSnapshot {
  readonly epoch: string;
  readonly sequence: number;
  readonly status: string;
  readonly keys: number;
  readonly atMs: number;
  /** Keys that this version does not know. */
  readonly unknownKeys: number;
  readonly tiers: readonly ListedTier[];
  /** What a flow may start or end at, in order. */
  readonly ends: readonly string[];
}

/** A flow, and what is said of it. */
export interface Explained {
  readonly flow: AskedFlow;
  readonly verdict: FlowVerdict;
}

/** One for each backend where a service was asked for, else one. */
export type ExplainAnswer =
  | { readonly ok: true; readonly answers: readonly Explained[] }
  | { readonly ok: false; readonly problem: string };
