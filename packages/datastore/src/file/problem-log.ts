import type { DatastoreLogger } from "../logger.ts";
import { formatProblem, type Problem } from "../problem.ts";

/** Logs a list of problems that is told as a whole: each problem once, and once when it is gone. */
export function problemLog(logger: DatastoreLogger | undefined): (problems: readonly Problem[]) => void {
  let known: ReadonlySet<string> = new Set();
  return (problems) => {
    const now = new Map(problems.map((problem) => [formatProblem(problem), problem.severity]));
    for (const [problem, severity] of now)
      if (!known.has(problem)) logger?.[severity === "error" ? "error" : "warn"]("Manifest problem", { problem });
    for (const problem of known) if (!now.has(problem)) logger?.info("Manifest problem is mended", { problem });
    known = new Set(now.keys());
  };
}
