import { messageOf } from "@bulrush/base";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";

/** What Node and libuv say when there is nobody to talk to, or nobody any more. */
const NOBODY: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENETDOWN",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
]);

function nodeCodeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  // Several addresses were tried: they tend to fail alike.
  if (error instanceof AggregateError && error.errors.length > 0) return nodeCodeOf(error.errors[0]);
  return "code" in error && typeof error.code === "string" ? error.code : "";
}

/** An error of the connection, as one of this package. One of this package comes back as it is. */
export function networkError(op: string, error: unknown): DatastoreError {
  if (error instanceof DatastoreError) return error;
  const cause = nodeCodeOf(error);
  const code: DatastoreErrorCode = NOBODY.has(cause) ? "DATASTORE_CONNECTION_REFUSED" : "DATASTORE_FAILED";
  const message = messageOf(error) || cause;
  return new DatastoreError(`${op}: ${message}`, { code, op, cause: error, data: cause === "" ? {} : { cause } });
}
