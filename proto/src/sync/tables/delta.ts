import { milliseconds, uint } from "../field.ts";
import { kvList } from "../kv.ts";
import type { Delta } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const delta: MessageTable<Delta> = defineMessage<Delta>({
  type: "delta",
  id: 19,
  from: "server",
  fields: { fromSequence: uint(), sequence: uint(), kvs: kvList, seenAtMs: milliseconds() },
});
