import type { KV } from "@bulrush/proto";

/** What V8 takes for each, about: a string's header, an object or list with its elements, a Map, one of its entries. */
const STRING_BYTES = 24;
const OBJECT_BYTES = 56;
const MAP_BYTES = 200;
const ENTRY_BYTES = 40;
const FIELD_BYTES = 16;
/** Nothing that can be sent comes to as much: what does is counted so, and not looked at any further. */
const MAX_BYTES = 512 * 1024 * 1024;

/** About what a KV takes in memory as an object. Strings count as if nobody else had them. */
export function objectBytes(kv: KV): number {
  let bytes = OBJECT_BYTES + 2 * STRING_BYTES + kv.path.length + kv.revision.length;
  // Not recursive: nothing has said yet that it is not too deep.
  const left: unknown[] = [kv.value];
  while (left.length > 0 && bytes < MAX_BYTES) {
    const value = left.pop();
    if (typeof value === "string") bytes += STRING_BYTES + value.length;
    else if (typeof value !== "object" || value === null) continue;
    else if (value instanceof Map) {
      bytes += MAP_BYTES + ENTRY_BYTES * value.size;
      for (const [name, each] of value) left.push(name, each);
    } else {
      const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
      bytes += OBJECT_BYTES + FIELD_BYTES * items.length;
      for (const each of items) left.push(each);
    }
  }
  return bytes;
}
