import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";

/** One change of the cluster, as the case file has it: an object with a single key that names it. */
export type OracleAction =
  | { readonly CreatePolicy: { readonly Policy: Resource } }
  | { readonly UpdatePolicy: { readonly Policy: Resource } }
  | { readonly DeletePolicy: { readonly Namespace: string; readonly Name: string } }
  | { readonly CreateNamespace: { readonly Namespace: string; readonly Labels: Labels } }
  | { readonly SetNamespaceLabels: { readonly Namespace: string; readonly Labels: Labels } }
  | { readonly DeleteNamespace: { readonly Namespace: string } }
  | { readonly CreatePod: { readonly Namespace: string; readonly Pod: string; readonly Labels: Labels } }
  | { readonly SetPodLabels: { readonly Namespace: string; readonly Pod: string; readonly Labels: Labels } }
  | { readonly DeletePod: { readonly Namespace: string; readonly Pod: string } };

export type Labels = Readonly<Record<string, string>>;

export interface OracleStep {
  readonly actions: readonly OracleAction[];
  /** `PROTOCOL/port` -> source pod -> one character a target pod, in the order of `order`: "." connects, "X" does not. */
  readonly combined: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly order: readonly string[];
}

export interface OracleCase {
  readonly description: string;
  readonly tags: readonly string[];
  readonly steps: readonly OracleStep[];
}

/** One cell of a step's table: does this flow connect? */
export interface OracleCell {
  readonly from: string;
  readonly to: string;
  readonly protocol: "TCP" | "UDP" | "SCTP";
  readonly port: number;
  readonly connects: boolean;
}

/** The 230 cases with the right answer for every source, target, port and protocol. */
export function loadOracleCases(): OracleCase[] {
  const file = join(import.meta.dirname, "..", "..", "testdata", "netpol-cases.json");
  return JSON.parse(readFileSync(file, "utf8")) as OracleCase[];
}

/** The cells of a step, a pod's traffic to itself left out. */
export function cellsOf(step: OracleStep): OracleCell[] {
  const cells: OracleCell[] = [];
  for (const [service, rows] of Object.entries(step.combined)) {
    const [protocol, port] = service.split("/") as [OracleCell["protocol"], string];
    for (const [from, row] of Object.entries(rows))
      for (const [i, to] of step.order.entries())
        if (from !== to) cells.push({ from, to, protocol, port: Number(port), connects: row[i] === "." });
  }
  return cells;
}
