import { list, milliseconds, openOneOf, text } from "../field.ts";
import { REJECT_CODES, type Reject } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const reject: MessageTable<Reject> = defineMessage<Reject>({
  type: "reject",
  id: 22,
  from: "server",
  fields: {
    code: openOneOf(REJECT_CODES, "internal"),
    reason: text(0, 1024),
    retryAfterMs: milliseconds(),
    peers: list(text(1, 300), 64),
  },
});
