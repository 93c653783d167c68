import { CodedError, type CodedErrorOptions, hasCode } from "@bulrush/base";

/** Every code of this package. Callers match on these, never on messages; a number or name is never reused. */
export const DATASTORE_ERROR_CODES = [
  /** The thing, or the whole API of that kind, does not exist. */
  "DATASTORE_NOT_FOUND",
  /** The revision asked for is compacted away (HTTP 410), or a list's continuation is. */
  "DATASTORE_EXPIRED",
  /** The server has not reached the revision asked for ("too large resource version"). */
  "DATASTORE_REVISION_TOO_LARGE",
  /** Not allowed to (401, 403). */
  "DATASTORE_UNAUTHORIZED",
  /** Nobody answers at the address. */
  "DATASTORE_CONNECTION_REFUSED",
  /** The server asks for a pause (429). */
  "DATASTORE_TOO_MANY_REQUESTS",
  /** The driver cannot do this for this kind (watch it, write it). */
  "DATASTORE_NOT_SUPPORTED",
  /** A write lost a race: the revision is not the newest. */
  "DATASTORE_CONFLICT",
  "DATASTORE_ALREADY_EXISTS",
  /** The store refuses what was to be written (422). */
  "DATASTORE_INVALID",
  /** Somebody else is writing and does not finish. */
  "DATASTORE_LOCKED",
  /** The answer, or what is stored, cannot be read. */
  "DATASTORE_MALFORMED",
  /** No answer within the time allowed. */
  "DATASTORE_TIMEOUT",
  /** The settings make no sense together. */
  "DATASTORE_BAD_CONFIG",
  /** The datastore holds data of a Calico before version 3. */
  "DATASTORE_LEGACY_DATA",
  /** Nobody has made what everybody relies on: the ClusterInformation `default`. */
  "DATASTORE_NOT_INITIALISED",
  /** Anything else. */
  "DATASTORE_FAILED",
] as const;

/** Match on it, not on messages. */
export type DatastoreErrorCode = (typeof DATASTORE_ERROR_CODES)[number];

/** An operational error of a driver. `data` names what it was about (kind, file, endpoint). */
export class DatastoreError extends CodedError {
  override readonly name = "DatastoreError";
  declare readonly code: DatastoreErrorCode;

  constructor(message: string, options: CodedErrorOptions & { readonly code: DatastoreErrorCode }) {
    super(message, options);
  }
}

/** The code of an error of this package; `DATASTORE_FAILED` for anything else that was thrown. */
export function datastoreCodeOf(error: unknown): DatastoreErrorCode {
  return DATASTORE_ERROR_CODES.find((code) => hasCode(error, code)) ?? "DATASTORE_FAILED";
}
