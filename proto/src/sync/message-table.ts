import type { FieldTable } from "./field.ts";
import type { SyncMessage } from "./message.ts";

/**
 * One message on the wire: an array of its number and then its fields, by position. A field is never moved, removed or
 * given another meaning; new ones are optional and come last.
 */
export interface MessageTable<M extends SyncMessage> {
  readonly type: M["type"];
  /** First element of the array. Never used again for another message. */
  readonly id: number;
  readonly from: "client" | "server";
  /** In wire order. */
  readonly fields: FieldTable<Omit<M, "type">>;
}

/** Checks a table against the message's type. */
export function defineMessage<M extends SyncMessage>(table: MessageTable<M>): MessageTable<M> {
  return table;
}
