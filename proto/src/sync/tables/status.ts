import { oneOf, uint } from "../field.ts";
import type { Status } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const status: MessageTable<Status> = defineMessage<Status>({
  type: "status",
  id: 20,
  from: "server",
  fields: { sequence: uint(), status: oneOf(["wait-for-ready", "resync", "in-sync"]) },
});
