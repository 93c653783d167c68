import { CodedError, type CodedErrorOptions } from "@bulrush/base";

/** Every code that this package throws. The README has the same list. */
export const CTL_ERROR_CODES = [
  /** The command line is wrong: exit code 2. */
  "CTL_USAGE",
  /** What was named does not exist or cannot be read as what it should be: exit code 1. */
  "CTL_INPUT",
  /** Whoever reads our output went away: exit code 0, silently. */
  "CTL_OUTPUT_CLOSED",
  /** The output cannot be written (a full disk): exit code 1. */
  "CTL_OUTPUT_FAILED",
] as const;
/** The exit code that each ends a command with stands at {@link CTL_ERROR_CODES}. */
export type CtlErrorCode = (typeof CTL_ERROR_CODES)[number];

/** Ends a command; the message is for the user, who sees nothing else of it. */
export class CtlError extends CodedError {
  override readonly name = "CtlError";
  declare readonly code: CtlErrorCode;

  constructor(message: string, options: CodedErrorOptions & { readonly code: CtlErrorCode }) {
    super(message, options);
  }
}

/** The command line is wrong. */
export function usageError(message: string): CtlError {
  return new CtlError(message, { code: "CTL_USAGE" });
}

/** The input is wrong. */
export function inputError(message: string, cause?: unknown): CtlError {
  return new CtlError(message, { code: "CTL_INPUT", cause });
}
