import { isObject, type JsonObject } from "@bulrush/model";
import { messageOf } from "@bulrush/base";
import { DatastoreError } from "../../errors.ts";
import { statusError } from "../client/status-error.ts";

/** An event of a watch before its object is read (k8s.io/apimachinery, meta/v1 `WatchEvent`). */
export type RawEvent =
  | { readonly type: "added" | "modified" | "deleted"; readonly object: unknown }
  /** `isInitialEnd`: all of the list has been sent (annotation `k8s.io/initial-events-end`). */
  | { readonly type: "bookmark"; readonly revision: string; readonly isInitialEnd: boolean }
  | { readonly type: "error"; readonly error: DatastoreError };

const TYPES = { ADDED: "added", MODIFIED: "modified", DELETED: "deleted" } as const;

/** Reads whole lines of a watch. What is no event is an error event: what follows it cannot be trusted. */
export function* rawEvents(lines: Buffer, op: string): Generator<RawEvent, void, undefined> {
  for (const line of lines.toString("utf8").split("\n")) {
    if (line !== "") yield rawEvent(line, op);
  }
}

function rawEvent(line: string, op: string): RawEvent {
  let event: unknown;
  try {
    event = JSON.parse(line);
  } catch (error) {
    return malformed(op, `an event is no JSON: ${messageOf(error)}`);
  }
  if (!isObject(event)) return malformed(op, "an event is no object");
  const { type, object } = event;
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type: TYPES[type], object };
    case "BOOKMARK": {
      const metadata = metadataOf(object);
      const revision = metadata["resourceVersion"];
      if (typeof revision !== "string" || revision === "") return malformed(op, "a bookmark without a resourceVersion");
      const annotations = isObject(metadata["annotations"]) ? metadata["annotations"] : {};
      return { type: "bookmark", revision, isInitialEnd: annotations["k8s.io/initial-events-end"] === "true" };
    }
    case "ERROR": {
      const code = isObject(object) && typeof object["code"] === "number" ? object["code"] : 0;
      return { type: "error", error: statusError({ op, status: code, body: object }) };
    }
    default:
      return malformed(op, `an event of unknown type ${JSON.stringify(type)?.slice(0, 60) ?? ""}`);
  }
}

function metadataOf(object: unknown): JsonObject {
  const metadata = isObject(object) ? object["metadata"] : undefined;
  return isObject(metadata) ? metadata : {};
}

function malformed(op: string, what: string): RawEvent {
  return { type: "error", error: new DatastoreError(`${op}: ${what}`, { code: "DATASTORE_MALFORMED", op }) };
}
