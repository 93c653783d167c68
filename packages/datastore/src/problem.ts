import { printable } from "@bulrush/base";

/** Where in the input something stands. */
export interface SourcePosition {
  /** Path as it was reached: below the directory that was given, or "-" for standard input. */
  readonly file: string;
  /** Counts from 1; 0 when the whole file is meant. */
  readonly document: number;
  /** Counts from 1; 0 when not known. */
  readonly line: number;
}

/**
 * "error": something is left out or stands in its last good form. "warning": surely not meant, but it counts as
 * written.
 */
export type ProblemSeverity = "error" | "warning";

/** Something wrong with stored data, in words for its owner. It stays listed until it is mended. */
export interface Problem {
  readonly severity: ProblemSeverity;
  /** A sentence start without a full stop; does not repeat the position. */
  readonly message: string;
  readonly source?: SourcePosition;
  /** As written in the manifest, where known. */
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  /** Dotted path with indexes: `spec.ingress[0].source.nets[1]`. */
  readonly field?: string;
  /** What was done about it: "kept the last good contents", "ignored". */
  readonly effect?: string;
  /** Since when it is so, clock milliseconds, where somebody has watched it. */
  readonly sinceMs?: number;
}

/** One line, whatever the input holds: `policies/web.yaml:12 (document 2): NetworkPolicy shop/web: spec.order: ...`. */
export function formatProblem(problem: Problem): string {
  const { source } = problem;
  const parts: string[] = [];
  if (source !== undefined) {
    const line = source.line > 0 ? `:${source.line}` : "";
    parts.push(`${source.file}${line}${source.document > 1 ? ` (document ${source.document})` : ""}`);
  }
  if (problem.kind !== undefined) {
    const name = problem.name ?? "";
    parts.push(`${problem.kind} ${problem.namespace ? `${problem.namespace}/` : ""}${name}`.trim());
  }
  if (problem.field !== undefined) parts.push(problem.field);
  parts.push(problem.effect === undefined ? problem.message : `${problem.message}; ${problem.effect}`);
  return printable(parts.join(": "));
}

/**
 * At most `max` problems: the first ones, and one that counts the rest and is as severe as the worst of them. Input
 * that is all wrong fills no log.
 */
export function boundedProblems(problems: readonly Problem[], max: number): readonly Problem[] {
  if (problems.length <= max) return problems;
  const rest = problems.slice(max - 1);
  const { source } = rest[0] ?? {};
  const more: Problem = {
    severity: rest.some(({ severity }) => severity === "error") ? "error" : "warning",
    message: `${rest.length} more problems`,
    ...(source !== undefined && { source }),
  };
  return [...problems.slice(0, max - 1), more];
}
