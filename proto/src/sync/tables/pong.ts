import { milliseconds } from "../field.ts";
import type { Pong } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const pong: MessageTable<Pong> = defineMessage<Pong>({
  type: "pong",
  id: 2,
  from: "client",
  fields: { pingSentAtMs: milliseconds() },
});
