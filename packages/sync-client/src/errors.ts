import { CodedError } from "@bulrush/base";

/** Every code of {@link SyncClientError}, with what it means. A code is never used again for something else. */
export const SYNC_CLIENT_ERROR_CODES = {
  SYNC_CLIENT_BAD_ADDRESS: "A server address is not host:port",
  SYNC_CLIENT_DISCOVERY: "No server is known: the list is empty, or could not be read",
  SYNC_CLIENT_TLS_INCOMPLETE: "Some TLS parameters are set and others, which they need, are not",
  SYNC_CLIENT_TLS_MATERIAL: "The CA, certificate or key of this client cannot be read or used",
  SYNC_CLIENT_TLS_UNTRUSTED: "The server's certificate does not chain to the CA, or is out of its dates",
  SYNC_CLIENT_TLS_IDENTITY: "The server's certificate has neither the common name nor the URI that is required",
  SYNC_CLIENT_TLS_REFUSED:
    "The server ended the TLS handshake, or the connection right after it: it does not accept this client's certificate",
  SYNC_CLIENT_CONNECT: "The server cannot be reached",
  SYNC_CLIENT_UPGRADE: "What answers is not a server of the sync protocol",
  SYNC_CLIENT_TIMEOUT: "The server did not answer, or took no data, in time; `data.phase` says when",
  SYNC_CLIENT_REJECTED: "The server rejected the hello; `data.reject` is its code",
  SYNC_CLIENT_GOODBYE: "The server ended the stream; `data.goodbye` is its code",
  SYNC_CLIENT_STALE: "The server has had no answer from its datastore for long, and knows less than this client",
  SYNC_CLIENT_PROTOCOL: "The server broke the protocol; the next connection asks for a full snapshot",
  SYNC_CLIENT_CLOSED: "The connection was closed without a word",
} as const;

/** Match on it, not on messages. What each means stands at {@link SYNC_CLIENT_ERROR_CODES}. */
export type SyncClientErrorCode = keyof typeof SYNC_CLIENT_ERROR_CODES;

/** Why a connection could not be made or was lost, or why a setting cannot be used. */
export class SyncClientError extends CodedError {
  override readonly name = "SyncClientError";
  declare readonly code: SyncClientErrorCode;

  constructor(
    code: SyncClientErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly data?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, { code, op: "Follow sync server", ...options });
  }
}
