import { isObject, type JsonObject } from "@bulrush/model";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";

/** What an answer that is no success says about itself. */
export interface StatusFacts {
  /** What was being done: "List pods". */
  readonly op: string;
  /** HTTP status, or the `code` of a Status object in a watch. */
  readonly status: number;
  /** The Status object, or the text of the answer if it was none. */
  readonly body: unknown;
  /** From the Retry-After header, milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Longer messages are cut: an answer may be a whole page of HTML. */
const MAX_MESSAGE = 500;

/**
 * A Status of the API server (k8s.io/apimachinery, meta/v1 `Status`) as an error of this package. `data` has `status`,
 * `reason` and, where the server asks for a pause, `retryAfterMs`.
 */
export function statusError({ op, status, body, retryAfterMs }: StatusFacts): DatastoreError {
  const object: JsonObject = isObject(body) ? body : {};
  const details = isObject(object["details"]) ? object["details"] : {};
  const reason = typeof object["reason"] === "string" ? object["reason"] : "";
  const message = messageOfStatus(status, object["message"] ?? body);
  const seconds = details["retryAfterSeconds"];
  const pauseMs = retryAfterMs ?? (typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined);
  return new DatastoreError(`${op}: ${message}`, {
    code: codeOf(status, reason, message, details),
    op,
    data: { status, ...(reason !== "" && { reason }), ...(pauseMs !== undefined && { retryAfterMs: pauseMs }) },
  });
}

function messageOfStatus(status: number, message: unknown): string {
  const text = typeof message === "string" ? message.trim().slice(0, MAX_MESSAGE) : "";
  return text === "" ? `HTTP ${status}` : text;
}

function codeOf(status: number, reason: string, message: string, details: JsonObject): DatastoreErrorCode {
  switch (status) {
    case 400:
      return "DATASTORE_INVALID";
    case 401:
    case 403:
      return "DATASTORE_UNAUTHORIZED";
    case 404:
      return "DATASTORE_NOT_FOUND";
    case 409:
      return reason === "AlreadyExists"
        ? "DATASTORE_ALREADY_EXISTS"
        : // Another object has the name by now: the one that was meant is gone.
          message.includes("UID in precondition")
          ? "DATASTORE_NOT_FOUND"
          : "DATASTORE_CONFLICT";
    case 410:
      return "DATASTORE_EXPIRED";
    case 422:
      return "DATASTORE_INVALID";
    case 429:
      return "DATASTORE_TOO_MANY_REQUESTS";
    // A gateway before a server that is not there, or a server that is not ready.
    case 502:
    case 503:
      return "DATASTORE_CONNECTION_REFUSED";
    case 504:
      return isRevisionTooLarge(message, details) ? "DATASTORE_REVISION_TOO_LARGE" : "DATASTORE_TIMEOUT";
    default:
      return reason === "Expired" || reason === "Gone" ? "DATASTORE_EXPIRED" : "DATASTORE_FAILED";
  }
}

/** `ResourceVersionTooLarge` of k8s.io/apimachinery; older servers have only the words. */
function isRevisionTooLarge(message: string, details: JsonObject): boolean {
  const causes: unknown = details["causes"];
  if (Array.isArray(causes) && causes.some((cause) => isObject(cause) && cause["reason"] === "ResourceVersionTooLarge"))
    return true;
  return message.includes("Too large resource version");
}

/** How long a failed answer asks to wait, milliseconds; undefined if it does not. */
export function retryAfterMsOf(error: unknown): number | undefined {
  if (!(error instanceof DatastoreError)) return undefined;
  const ms = error.data["retryAfterMs"];
  return typeof ms === "number" ? ms : undefined;
}
