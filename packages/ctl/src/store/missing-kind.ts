import { datastoreCodeOf } from "@bulrush/datastore";

/** True where a datastore does not have a kind at all: the driver cannot, or the server does not know it. */
export function isMissingKind(error: unknown): boolean {
  const code = datastoreCodeOf(error);
  return code === "DATASTORE_NOT_SUPPORTED" || code === "DATASTORE_NOT_FOUND";
}
