export type * from "./dataplane/message.ts";
export type * from "./dataplane/rule.ts";
export {
  decodeClientMessage,
  decodeMessage,
  decodeServerMessage,
  encodeMessage,
  type EncodeOptions,
  frameMessage,
} from "./sync/codec.ts";
export { PROTO_ERROR_CODES, ProtoError, type ProtoErrorCode } from "./sync/errors.ts";
export { checkIdentity, identityOf, type IdentityRule, type PeerIdentity } from "./sync/identity.ts";
export { CLIENT_MESSAGE_LIMITS, type DecodeLimits, SERVER_MESSAGE_LIMITS } from "./sync/limits.ts";
export * from "./sync/message.ts";
export { hashValue } from "./sync/value-hash.ts";
export { negotiateVersion, OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSIONS } from "./sync/versions.ts";
export { websocketHeader } from "./sync/websocket.ts";
