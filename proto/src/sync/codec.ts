import { ProtoError } from "./errors.ts";
import { decodeFields, encodeFields } from "./field.ts";
import { bodyOf, CODEC_PLAIN, CODEC_ZSTD, compressBody } from "./frame.ts";
import { checkKVCount } from "./kv.ts";
import { CLIENT_MESSAGE_LIMITS, type DecodeLimits, SERVER_MESSAGE_LIMITS } from "./limits.ts";
import type { ClientMessage, Delta, ServerMessage, SnapshotChunk, SyncMessage } from "./message.ts";
import type { MessageTable } from "./message-table.ts";
import { packBody } from "./pack.ts";
import type { PackedKVs } from "./packed-kvs.ts";
import { MESSAGE_TABLES } from "./tables.ts";
import { unpackBody } from "./unpack.ts";
import { websocketHeaderBytes, writeWebsocketHeader } from "./websocket.ts";

/**
 * ```
 *  frame     = codec byte (0 plain, 1 zstd) | body
 *  body      = MessagePack array: message number, then the fields by position
 *  websocket = header (2, 4 or 10 bytes) | frame
 * ```
 */
export interface EncodeOptions {
  /** Bodies of this many bytes and more are compressed, if that makes them smaller. Default: never. */
  readonly compressFromBytes?: number;
}

type AnyTable = MessageTable<SyncMessage>;

const TABLES_BY_TYPE = MESSAGE_TABLES as unknown as Readonly<Record<string, AnyTable>>;
const TABLES_BY_ID: ReadonlyMap<unknown, AnyTable> = new Map(
  Object.values(TABLES_BY_TYPE).map((table) => [table.id, table]),
);
/** Where the KVs stand in the messages that have them: element of the array. */
const KV_POSITIONS: ReadonlyMap<unknown, number> = new Map(
  Object.values(TABLES_BY_TYPE).flatMap((table): [number, number][] => {
    const index = Object.keys(table.fields).indexOf("kvs");
    return index < 0 ? [] : [[table.id, index + 1]];
  }),
);

/**
 * A frame in a Buffer of its own, for `ws.send` and the like. The message is trusted, but for its KVs: they come from
 * outside, and one that no client can read would end every client's stream, again and again. Throws {@link ProtoError}
 * for those, and PROTO_TOO_BIG when no client would take the frame (SERVER_MESSAGE_LIMITS).
 */
export function encodeMessage(message: SyncMessage, options: EncodeOptions = {}): Buffer {
  return encodeAfter(message, options, false);
}

/**
 * A frame with the header of a server's websocket message before it, in one Buffer: ready for the socket's own `write`,
 * the same bytes for every client.
 */
export function frameMessage(message: ServerMessage, options: EncodeOptions = {}): Buffer {
  return encodeAfter(message, options, true);
}

/** A message whose KVs are packed already. */
export type PackedMessage = (Omit<SnapshotChunk, "kvs"> | Omit<Delta, "kvs">) & { readonly kvs: PackedKVs };

/** {@link frameMessage} of packed KVs: the same bytes, but for the ids of the records. */
export function framePackedMessage(message: PackedMessage, options: EncodeOptions = {}): Buffer {
  return encodeAfter(message as unknown as SyncMessage, options, true);
}

function encodeAfter(message: SyncMessage, options: EncodeOptions, withHeader: boolean): Buffer {
  const table = TABLES_BY_TYPE[message.type] as AnyTable;
  const packed = packBody(encodeFields(table.fields, message, [table.id]));
  if (packed.length > SERVER_MESSAGE_LIMITS.maxBodyBytes)
    throw new ProtoError("PROTO_TOO_BIG", `A ${message.type} message has ${packed.length} bytes`, {
      data: { bytes: packed.length, limit: SERVER_MESSAGE_LIMITS.maxBodyBytes },
    });
  let codec = CODEC_PLAIN;
  let body = packed;
  if (packed.length >= (options.compressFromBytes ?? Number.POSITIVE_INFINITY)) {
    const compressed = compressBody(packed);
    if (compressed.length < packed.length) {
      codec = CODEC_ZSTD;
      body = compressed;
    }
  }
  const frameBytes = 1 + body.length;
  const headerBytes = withHeader ? websocketHeaderBytes(frameBytes) : 0;
  // Not from the pool: frames are kept, and one kept slice would hold a whole pool block.
  const out = Buffer.allocUnsafeSlow(headerBytes + frameBytes);
  if (withHeader) writeWebsocketHeader(out, frameBytes);
  out[headerBytes] = codec;
  out.set(body, headerBytes + 1);
  return out;
}

/**
 * Reads one frame and checks every field; elements after the known fields are ignored. The result shares no bytes with
 * `frame`. Throws {@link ProtoError}.
 */
export function decodeMessage(frame: Uint8Array, limits: DecodeLimits): SyncMessage {
  const raw = unpackBody(bodyOf(frame, limits));
  if (!Array.isArray(raw)) throw new ProtoError("PROTO_MALFORMED", "The body is not an array");
  const items = raw as readonly unknown[];
  const table = TABLES_BY_ID.get(items[0]);
  if (table === undefined)
    throw new ProtoError("PROTO_UNKNOWN_TYPE", `Message number ${printable(items[0])} is not known`);
  if (limits.from !== "either" && table.from !== limits.from)
    throw new ProtoError("PROTO_WRONG_DIRECTION", `A ${limits.from} may not send a ${table.type} message`);
  const kvPosition = KV_POSITIONS.get(table.id);
  if (kvPosition !== undefined) checkKVCount(items[kvPosition], limits.maxKVs, `${table.type}.kvs`);
  const fields = decodeFields(table.fields, items, 1, `${table.type}.`);
  return { type: table.type, ...fields } as SyncMessage;
}

/** What a server reads: {@link decodeMessage} with its limits. */
export function decodeClientMessage(frame: Uint8Array, limits: DecodeLimits = CLIENT_MESSAGE_LIMITS): ClientMessage {
  return decodeMessage(frame, { ...limits, from: "client" }) as ClientMessage;
}

/** What a client reads: {@link decodeMessage} with its limits. */
export function decodeServerMessage(frame: Uint8Array, limits: DecodeLimits = SERVER_MESSAGE_LIMITS): ServerMessage {
  return decodeMessage(frame, { ...limits, from: "server" }) as ServerMessage;
}

function printable(raw: unknown): string {
  return typeof raw === "number" ? String(raw) : `of type ${typeof raw}`;
}
