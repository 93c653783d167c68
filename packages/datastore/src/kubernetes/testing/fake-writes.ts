import { isObject, type JsonObject } from "@bulrush/model";
import type { Collection, FakeObjects, StoredObject } from "./fake-objects.ts";

/** A write that came in, of an object or of its status. */
export interface FakeWrite {
  readonly method: string;
  readonly collection: Collection;
  readonly root: string;
  readonly namespace: string | undefined;
  /** Undefined for a POST. */
  readonly name: string | undefined;
  readonly isStatus: boolean;
  readonly body: JsonObject;
}

export interface FakeAnswer {
  readonly code: number;
  readonly reason?: string;
  readonly body: unknown;
}

/** Kinds whose status only a write of the status changes. */
const WITH_STATUS: ReadonlySet<string> = new Set(["IPPool", "Tier", "CalicoNodeStatus", "Pod", "Node", "Service"]);

/** Does what an API server does with a write: preconditions, conflicts, a status of its own. */
export function answerWrite(objects: FakeObjects, write: FakeWrite): FakeAnswer {
  const { method, collection, root, namespace, body } = write;
  const metadata = isObject(body["metadata"]) ? body["metadata"] : {};
  const name = write.name ?? String(metadata["name"]);
  const known = objects.list(root).find((one) => one.metadata.name === name && one.metadata.namespace === namespace);
  const refuse = (code: number, reason: string, message: string): FakeAnswer => ({ code, reason, body: message });
  const label = `${collection.plural} "${name}"`;
  if (method === "POST") {
    if (known !== undefined) return refuse(409, "AlreadyExists", `${label} already exists`);
    return { code: 201, body: objects.put(root, withoutStatus(body, collection, undefined)) };
  }
  if (known === undefined) return refuse(404, "NotFound", `${label} not found`);
  const conditions = method === "DELETE" && isObject(body["preconditions"]) ? body["preconditions"] : metadata;
  const { uid = known.metadata["uid"], resourceVersion = known.metadata.resourceVersion } = conditions;
  if (uid !== known.metadata["uid"])
    return refuse(409, "Conflict", `Precondition failed: UID in precondition: ${String(uid)}`);
  if (resourceVersion !== known.metadata.resourceVersion)
    return refuse(409, "Conflict", `${label}: the object has been modified`);
  switch (method) {
    case "DELETE":
      objects.remove(root, namespace, name);
      return { code: 200, body: { kind: "Status", status: "Success" } };
    case "PATCH":
      return { code: 200, body: objects.put(root, merge(known, body) as unknown as StoredObject) };
    case "PUT": {
      const next = write.isStatus
        ? { ...known, status: body["status"] }
        : withoutStatus(body, collection, known["status"]);
      return { code: 200, body: objects.put(root, next) };
    }
    default:
      return refuse(405, "MethodNotAllowed", "no");
  }
}

function withoutStatus(body: JsonObject, { kind }: Collection, known: unknown): StoredObject {
  if (!WITH_STATUS.has(kind)) return body as unknown as StoredObject;
  const { status: _, ...rest } = body;
  return { ...rest, ...(known !== undefined && { status: known }) } as unknown as StoredObject;
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const out: JsonObject = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete out[key];
    else out[key] = merge(out[key], value);
  }
  return out;
}
