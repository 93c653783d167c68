import { uint } from "../field.ts";
import type { SnapshotEnd } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const snapshotEnd: MessageTable<SnapshotEnd> = defineMessage<SnapshotEnd>({
  type: "snapshot-end",
  id: 18,
  from: "server",
  fields: { sequence: uint(), count: uint() },
});
