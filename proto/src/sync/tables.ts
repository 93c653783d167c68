import type { SyncMessage } from "./message.ts";
import type { MessageTable } from "./message-table.ts";
import { ack } from "./tables/ack.ts";
import { delta } from "./tables/delta.ts";
import { goodbye } from "./tables/goodbye.ts";
import { hello } from "./tables/hello.ts";
import { ping } from "./tables/ping.ts";
import { pong } from "./tables/pong.ts";
import { reject } from "./tables/reject.ts";
import { snapshotChunk } from "./tables/snapshot-chunk.ts";
import { snapshotEnd } from "./tables/snapshot-end.ts";
import { status } from "./tables/status.ts";
import { welcome } from "./tables/welcome.ts";

/** The table of each message, by its type. */
export const MESSAGE_TABLES: { readonly [Type in SyncMessage["type"]]: MessageTable<SyncMessage & { type: Type }> } = {
  hello,
  pong,
  ack,
  welcome,
  snapshot: snapshotChunk,
  "snapshot-end": snapshotEnd,
  delta,
  status,
  ping,
  reject,
  goodbye,
};
