import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that this package throws. Codes are never reused; the README has the same list. */
export const DATAPLANE_ERROR_CODES = [
  /** The kernel refused the ruleset in every way that we know to write it. The last one that it took stays. */
  "DATAPLANE_PROGRAM",
  /** Links or addresses cannot be listed or followed. */
  "DATAPLANE_MONITOR",
  /** The worker thread ended by itself. */
  "DATAPLANE_WORKER",
] as const;
/** Match on it, not on messages. */
export type DataplaneErrorCode = (typeof DATAPLANE_ERROR_CODES)[number];

/** What ends a dataplane. The kernel state stays; the process should exit and be started again. */
export class DataplaneError extends CodedError {
  override readonly name = "DataplaneError";

  constructor(message: string, options: CodedErrorOptions & { readonly code: DataplaneErrorCode }) {
    super(message, options);
  }
}
