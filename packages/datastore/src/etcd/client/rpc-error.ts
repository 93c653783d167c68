import { type ServiceError, status } from "@grpc/grpc-js";
import { messageOf } from "@bulrush/base";
import { datastoreCodeOf, DatastoreError, type DatastoreErrorCode } from "../../errors.ts";

/**
 * What etcd says in an error, where the code of gRPC alone does not tell. The texts are those of etcd's
 * api/v3rpc/rpctypes/error.go.
 */
const BY_TEXT: readonly (readonly [text: string, code: DatastoreErrorCode])[] = [
  ["required revision has been compacted", "DATASTORE_EXPIRED"],
  ["required revision is a future revision", "DATASTORE_REVISION_TOO_LARGE"],
  ["request is too large", "DATASTORE_INVALID"],
  // Of the server, whose gRPC is that of Go; ours writes it in upper case.
  ["grpc: received message larger than max", "DATASTORE_INVALID"],
  ["authentication failed", "DATASTORE_UNAUTHORIZED"],
  ["user name is empty", "DATASTORE_UNAUTHORIZED"],
  ["invalid auth token", "DATASTORE_UNAUTHORIZED"],
  ["revision of auth store is old", "DATASTORE_UNAUTHORIZED"],
  ["permission denied", "DATASTORE_UNAUTHORIZED"],
  ["too many requests", "DATASTORE_TOO_MANY_REQUESTS"],
];

const BY_STATUS: Readonly<Partial<Record<number, DatastoreErrorCode>>> = {
  [status.DEADLINE_EXCEEDED]: "DATASTORE_TIMEOUT",
  [status.PERMISSION_DENIED]: "DATASTORE_UNAUTHORIZED",
  [status.UNAUTHENTICATED]: "DATASTORE_UNAUTHORIZED",
  [status.UNIMPLEMENTED]: "DATASTORE_NOT_SUPPORTED",
  [status.UNAVAILABLE]: "DATASTORE_CONNECTION_REFUSED",
};

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}

/** The status of gRPC, or undefined for an error of another kind. */
export function statusOf(error: unknown): number | undefined {
  return isServiceError(error) ? error.code : undefined;
}

/** What the server (or gRPC itself) says, without the code that gRPC puts before it. */
export function detailsOf(error: unknown): string {
  return isServiceError(error) ? error.details : messageOf(error);
}

/** The code of this package for a text of etcd, if it has one of its own. */
export function codeOfText(text: string): DatastoreErrorCode | undefined {
  return BY_TEXT.find(([known]) => text.includes(known))?.[1];
}

/** An error of a call, as one of this package. One of this package comes back as it is. */
export function rpcError(op: string, endpoint: string, error: unknown): DatastoreError {
  if (error instanceof DatastoreError) return error;
  const details = detailsOf(error);
  const code = codeOfText(details) ?? BY_STATUS[statusOf(error) ?? -1] ?? "DATASTORE_FAILED";
  return new DatastoreError(`${op} at ${endpoint}: ${details}`, { code, op, cause: error, data: { endpoint } });
}

/** True if another member may do better: this one is not there, has no leader, or does not answer. */
export function isOfMember(error: unknown): boolean {
  const code = statusOf(error);
  if (code === status.UNAVAILABLE || code === status.DEADLINE_EXCEEDED) return true;
  return datastoreCodeOf(error) === "DATASTORE_TIMEOUT";
}

/** True if nothing was sent because the connection was closed before: somebody else gave the member up. */
export function isClosed(error: unknown): boolean {
  return statusOf(error) === undefined && detailsOf(error) === "Channel has been shut down";
}

/** True if the token is no longer good: a new one may be. */
export function isOfToken(error: unknown): boolean {
  return /invalid auth token|revision of auth store is old/.test(detailsOf(error));
}
