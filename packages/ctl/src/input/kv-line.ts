import { messageOf } from "@bulrush/base";
import { isObject, readKV, type SyncStatus, type Update, valueFromPlain } from "@bulrush/model";

/** What a line of a KV stream asks for. */
export type StreamItem =
  | { readonly type: "updates"; readonly updates: readonly Update[]; readonly unknownKeys: readonly string[] }
  | { readonly type: "status"; readonly status: SyncStatus }
  | { readonly type: "bad"; readonly message: string };

const STATUSES: ReadonlySet<string> = new Set<SyncStatus>(["wait-for-ready", "resync", "in-sync"]);

/**
 * Reads one line: `{"key","value"}` (a null or missing value deletes), an array of them, or `{"status"}`. Keys that the
 * graph does not know are only named, for older and newer writers have more kinds. The value's shape is not checked
 * here: the validation filter does that.
 */
export function parseStreamLine(text: string): StreamItem {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch (error) {
    return bad(`not JSON: ${messageOf(error)}`);
  }
  if (isObject(line) && "status" in line) {
    const { status } = line;
    if (typeof status === "string" && STATUSES.has(status)) return { type: "status", status: status as SyncStatus };
    return bad(`status is ${JSON.stringify(status)}, expected "wait-for-ready", "resync" or "in-sync"`);
  }
  const updates: Update[] = [];
  const unknownKeys: string[] = [];
  for (const item of Array.isArray(line) ? (line as unknown[]) : [line]) {
    if (!isObject(item) || typeof item["key"] !== "string") return bad('no "key" with text in it');
    const update = toUpdate(item["key"], item["value"] ?? undefined, item["revision"]);
    if (update === undefined) unknownKeys.push(item["key"]);
    else updates.push(update);
  }
  return { type: "updates", updates, unknownKeys };
}

function toUpdate(text: string, plain: unknown, revision: unknown): Update | undefined {
  const read = readKV(text, plain);
  if (read === undefined) return undefined;
  const { key, path, value } = read;
  const common = { key, path, revision: typeof revision === "string" ? revision : "" };
  if (value === undefined) return { ...common, value: undefined, type: "deleted" };
  return { ...common, value: valueFromPlain(key, value), type: "unknown" };
}

function bad(message: string): StreamItem {
  return { type: "bad", message };
}
