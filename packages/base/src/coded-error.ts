/** What an operational error carries beside its message. */
export interface CodedErrorOptions {
  /** Stable identifier, upper case with underscores. Callers match on it, never on the message. */
  readonly code: string;
  /** What was being attempted: "Read manifest", "Bind netlink socket". */
  readonly op?: string;
  readonly cause?: unknown;
  /** Facts for the log line: file, field, peer, errno, limit. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/**
 * An operational error: something outside the program is wrong and the program goes on.
 * Every package derives its own class, with all of its codes in its `errors.ts`.
 */
export class CodedError extends Error {
  override readonly name: string = "CodedError";
  /** Callers match on it, never on the message. */
  readonly code: string;
  readonly op: string | undefined;
  /** Facts for the log line; empty where there are none. */
  readonly data: Readonly<Record<string, unknown>>;

  constructor(message: string, options: CodedErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = options.code;
    this.op = options.op;
    this.data = options.data ?? {};
  }
}

/** True when `error` is a {@link CodedError} (or any error with a `code` property) of this code. */
export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
