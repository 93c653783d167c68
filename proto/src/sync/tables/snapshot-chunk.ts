import { kvList } from "../kv.ts";
import type { SnapshotChunk } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const snapshotChunk: MessageTable<SnapshotChunk> = defineMessage<SnapshotChunk>({
  type: "snapshot",
  id: 17,
  from: "server",
  fields: { kvs: kvList },
});
