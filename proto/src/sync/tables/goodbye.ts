import { list, milliseconds, openOneOf, text } from "../field.ts";
import { GOODBYE_CODES, type Goodbye } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const goodbye: MessageTable<Goodbye> = defineMessage<Goodbye>({
  type: "goodbye",
  id: 23,
  from: "server",
  fields: {
    code: openOneOf(GOODBYE_CODES, "internal"),
    reason: text(0, 1024),
    retryAfterMs: milliseconds(),
    peers: list(text(1, 300), 64),
  },
});
