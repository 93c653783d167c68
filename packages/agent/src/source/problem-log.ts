import { formatProblem, type Problem } from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";

/** Logs a list of problems that is told as a whole whenever it changes: each problem once, and once when it is gone. */
export function problemLog(logger: Logger): (problems: readonly Problem[]) => void {
  let known = new Set<string>();
  return (problems) => {
    const now = new Set(problems.map(formatProblem));
    for (const problem of now) if (!known.has(problem)) logger.warn("Problem in the datastore", { problem });
    for (const problem of known) if (!now.has(problem)) logger.info("Problem in the datastore is mended", { problem });
    known = now;
  };
}
