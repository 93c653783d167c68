import type { Clock } from "@bulrush/base";
import type { DatastoreLogger } from "../logger.ts";
import type { Problem } from "../problem.ts";

/** What a driver has of the process that it runs in. */
export interface DatastoreContext {
  readonly clock: Clock;
  readonly logger?: DatastoreLogger;
  /** Numbers in [0, 1), for pauses that differ between processes. Default Math.random. */
  readonly random?: () => number;
  /** Called with the whole list whenever it has changed. */
  readonly onProblems?: (problems: readonly Problem[]) => void;
}
