import { CodedError } from "@bulrush/base";

/** Every code of {@link ProtoError}, with what it means. A code is never used again for something else. */
export const PROTO_ERROR_CODES = {
  PROTO_TRUNCATED: "The frame ends inside a value",
  PROTO_TOO_BIG: "The frame, its decoded form, its nesting or a list in it is over its bound",
  PROTO_MALFORMED: "The body is not MessagePack of the kind that the protocol uses",
  PROTO_UNKNOWN_CODEC: "The first byte of the frame names no codec",
  PROTO_BAD_COMPRESSION: "The compressed body cannot be decoded, or carries no checksum",
  PROTO_UNKNOWN_TYPE: "The message number names no message",
  PROTO_WRONG_DIRECTION: "The message is one that only the other side may send",
  PROTO_BAD_FIELD: "A field is missing, of the wrong type or out of bounds; `data.field` names it",
} as const;

/** Match on it, not on messages. */
export type ProtoErrorCode = keyof typeof PROTO_ERROR_CODES;

/** What is wrong with bytes from a peer. The connection that they came on is of no more use; nothing else is harmed. */
export class ProtoError extends CodedError {
  override readonly name = "ProtoError";
  declare readonly code: ProtoErrorCode;

  constructor(
    code: ProtoErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly data?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, { code, op: "Decode sync message", ...options });
  }
}
