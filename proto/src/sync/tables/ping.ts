import { milliseconds, optional, uint } from "../field.ts";
import type { Ping } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const ping: MessageTable<Ping> = defineMessage<Ping>({
  type: "ping",
  id: 21,
  from: "server",
  fields: {
    sentAtMs: milliseconds(),
    upstreamAgeMs: milliseconds(),
    sequence: uint(),
    staleSinceMs: optional(milliseconds()),
  },
});
