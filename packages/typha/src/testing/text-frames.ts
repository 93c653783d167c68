import { type KV, ProtoError, type ServerMessage } from "@bulrush/proto";

/** A stand-in for the codec that a person can read: one line a message. Refuses more than `maxBytes`. */
export function encodeText(message: ServerMessage, maxBytes: number = Number.POSITIVE_INFINITY): Buffer {
  const frame = Buffer.from(`${formatMessage(message)}\n`);
  if (frame.length > maxBytes) throw new ProtoError("PROTO_TOO_BIG", "Too big");
  return frame;
}

function formatMessage(message: ServerMessage): string {
  switch (message.type) {
    case "snapshot":
      return `snapshot ${message.kvs.map(formatKV).join(" ")}`;
    case "snapshot-end":
      return `snapshot-end at ${message.sequence}, ${message.count} keys`;
    case "delta":
      return `delta ${message.fromSequence} to ${message.sequence}: ${message.kvs.map(formatKV).join(" ") || "no KVs"}`;
    case "status":
      return `status ${message.status} at ${message.sequence}`;
    default:
      return JSON.stringify(message);
  }
}

function formatKV(kv: KV): string {
  const value = kv.value === undefined ? "" : `=${JSON.stringify(kv.value)}`;
  return `${kv.updateType}:${kv.path}${value}@${kv.revision}`;
}
