/** Where in the input something stands. */
export interface SourcePosition {
  /** Path as it was reached: below the directory that was given, or "-" for standard input. */
  readonly file: string;
  /** Counts from 1; 0 when the whole file is meant. */
  readonly document: number;
  /** Counts from 1; 0 when not known. */
  readonly line: number;
}

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
}

/** One line: `policies/web.yaml:12 (document 2): NetworkPolicy shop/web: spec.order: ...`. */
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
  return parts.join(": ");
}
