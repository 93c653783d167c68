import { CodedError } from "@bulrush/base";

/** Every code that this package throws. Codes are never reused. */
export const NFT_ERROR_CODES = {
  /** The kernel refused the transaction; nothing of it was done. `failures` names the operations. */
  refused: "NFT_REFUSED",
  /** The ruleset changed since the generation that the transaction was made for. Read again and plan anew. */
  staleGeneration: "NFT_STALE_GENERATION",
  /** The transaction does not fit the socket's send buffer. `data.bytes` and `data.limit` say how much. */
  tooLarge: "NFT_TOO_LARGE",
  /** The ruleset kept changing while it was read. Try again later. */
  unstable: "NFT_UNSTABLE",
  /** A listing failed. Never to be taken for an empty ruleset. */
  readFailed: "NFT_READ_FAILED",
  /** The answer to a transaction was lost: it was done or not done as a whole. Read back. */
  outcomeUnknown: "NFT_OUTCOME_UNKNOWN",
  /** What was handed in cannot be encoded: a bad element, a name that is too long, an unknown set. */
  invalid: "NFT_INVALID",
} as const;

/** Match on it, not on messages; what each calls for stands at {@link NFT_ERROR_CODES}. */
export type NftErrorCode = (typeof NFT_ERROR_CODES)[keyof typeof NFT_ERROR_CODES];

/** One operation that the kernel refused. */
export interface NftFailure {
  /** Index into `transaction.operations`; -1 when the batch as a whole failed. */
  readonly index: number;
  /** The operation in words: "add-rule ip calico filter-cali-FORWARD". */
  readonly operation: string;
  readonly errno: number;
  readonly errnoName: string;
  /** The kernel's own words, where it has any. */
  readonly extAck?: string;
  /** Where in the message it found fault: bytes from the message's head to the attribute's. */
  readonly offset?: number;
}

/** What an error is made of. `op` is the attempted step in words: "Run transaction". Default: no failures, no data. */
export interface NftErrorOptions {
  readonly code: NftErrorCode;
  readonly op: string;
  readonly failures?: readonly NftFailure[];
  readonly cause?: unknown;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** An operational error of nf_tables. */
export class NftError extends CodedError {
  override readonly name = "NftError";
  /** The operations that the kernel refused, in its order; empty for codes that name none. */
  readonly failures: readonly NftFailure[];

  constructor(message: string, options: NftErrorOptions) {
    super(message, {
      code: options.code,
      op: options.op,
      ...(options.cause === undefined ? {} : { cause: options.cause }),
      data: { ...options.data, ...(options.failures === undefined ? {} : { failures: options.failures }) },
    });
    this.failures = options.failures ?? [];
  }
}

/** True when some operation of the transaction failed with this errno name: "ENOENT", "EEXIST", "EBUSY". */
export function failedWith(error: unknown, errnoName: string): boolean {
  return error instanceof NftError && error.failures.some((failure) => failure.errnoName === errnoName);
}
