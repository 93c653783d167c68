import { MAX_BUCKETS } from "../bucket-digests.ts";
import { list, milliseconds, oneOf, optional, text, uint } from "../field.ts";
import { SYNCER_TYPES, type Welcome } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const welcome: MessageTable<Welcome> = defineMessage<Welcome>({
  type: "welcome",
  id: 16,
  from: "server",
  fields: {
    version: uint(1, 65_535),
    epoch: text(1, 64),
    syncer: oneOf(SYNCER_TYPES),
    resume: oneOf(["deltas", "buckets", "snapshot"]),
    sequence: uint(),
    connectionId: text(1, 64),
    serverName: text(0, 253),
    buckets: optional(list(uint(0, MAX_BUCKETS - 1), MAX_BUCKETS)),
    staleSinceMs: optional(milliseconds()),
    pingIntervalMs: optional(milliseconds()),
  },
});
