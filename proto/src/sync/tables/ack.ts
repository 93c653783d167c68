import { uint } from "../field.ts";
import type { Ack } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const ack: MessageTable<Ack> = defineMessage<Ack>({
  type: "ack",
  id: 3,
  from: "client",
  fields: { sequence: uint() },
});
