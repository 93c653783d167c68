import { digests } from "../digests-field.ts";
import { group, oneOf, optional, text, uint } from "../field.ts";
import { type Hello, SYNCER_TYPES } from "../message.ts";
import { defineMessage, type MessageTable } from "../message-table.ts";

export const hello: MessageTable<Hello> = defineMessage<Hello>({
  type: "hello",
  id: 1,
  from: "client",
  fields: {
    version: uint(1, 65_535),
    hostname: text(1, 253),
    syncer: oneOf(SYNCER_TYPES),
    info: text(0, 512),
    clientId: text(1, 64),
    resume: optional(group({ epoch: text(1, 64), sequence: uint() })),
    digests: optional(digests),
    revision: optional(uint()),
  },
});
