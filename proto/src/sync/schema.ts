import { createHash } from "node:crypto";
import type { FieldType } from "./field.ts";
import { MESSAGE_TABLES } from "./tables.ts";

/** The wire format as text: a line for each message and field, in the order of their numbers. */
export function describeSchema(): string {
  return Object.values(MESSAGE_TABLES)
    .sort((a, b) => a.id - b.id)
    .flatMap((table) => [
      `${table.id} ${table.type} from ${table.from}`,
      ...Object.entries(table.fields as Readonly<Record<string, FieldType<unknown>>>).map(
        ([name, type], index) => `  ${index + 1} ${name}: ${type.spec}`,
      ),
    ])
    .join("\n");
}

/** What pins a protocol version: it changes with every change of the wire format. */
export function schemaHash(): string {
  return createHash("sha256").update(describeSchema()).digest("hex").slice(0, 16);
}
