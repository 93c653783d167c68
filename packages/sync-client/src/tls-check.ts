import { X509Certificate } from "node:crypto";
import type { ConnectionOptions } from "node:tls";
import { messageOf } from "@bulrush/base";
import { checkIdentity, identityOf, type IdentityRule } from "@bulrush/proto";
import { SyncClientError } from "./errors.ts";
import type { TLSMaterial } from "./tls.ts";

/**
 * The options of a mutually authenticated connection: chain against our CA, identity by the rule of the protocol, the
 * host name unchecked. `tls.connect` calls `checkServerIdentity` only after the chain was found good.
 */
export function tlsOptions(material: TLSMaterial): ConnectionOptions {
  const { ca, cert, key, serverCN, serverURISAN } = material;
  const rule: IdentityRule = {
    ...(serverCN === undefined ? {} : { commonName: serverCN }),
    ...(serverURISAN === undefined ? {} : { uri: serverURISAN }),
  };
  if (rule.commonName === undefined && rule.uri === undefined)
    throw new SyncClientError("SYNC_CLIENT_TLS_INCOMPLETE", "No identity is required of the server; set a name or URI");
  return {
    ca,
    cert,
    key,
    minVersion: "TLSv1.2",
    rejectUnauthorized: true,
    checkServerIdentity: (_host, certificate) => {
      const problem = checkIdentity(identityOf(new X509Certificate(certificate.raw)), rule);
      return problem === undefined
        ? undefined
        : new SyncClientError("SYNC_CLIENT_TLS_IDENTITY", `Server refused: ${problem}`);
    },
  };
}

/** Verification errors of OpenSSL, as Node names them (X509_V_ERR_...). */
const UNTRUSTED: ReadonlySet<string> = new Set([
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "CERT_SIGNATURE_FAILURE",
  "CERT_NOT_YET_VALID",
  "CERT_HAS_EXPIRED",
  "CERT_CHAIN_TOO_LONG",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "PATH_LENGTH_EXCEEDED",
]);

/** Puts a name on what went wrong while dialling; `isSecured` once the TLS handshake is over. */
export function dialError(cause: unknown, where: string, isSecured: boolean): SyncClientError {
  if (cause instanceof SyncClientError) return cause;
  const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
  const text = `${where}: ${messageOf(cause)}`;
  if (UNTRUSTED.has(code))
    return new SyncClientError("SYNC_CLIENT_TLS_UNTRUSTED", `Server certificate refused, ${text}`, { cause });
  // An error of OpenSSL: "ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED" and the like, or, where it met a write, EPROTO with
  // OpenSSL's words.
  const isSSL = code.startsWith("ERR_SSL_") || code === "EPROTO";
  if (isSSL && /\balert\b/i.test(`${code.replaceAll("_", " ")} ${messageOf(cause)}`))
    return new SyncClientError("SYNC_CLIENT_TLS_REFUSED", `Server ended the TLS handshake, ${text}`, { cause });
  // In TLS 1.3 the client's part ends before the server has looked at the client's certificate.
  if (isSecured && (code === "ECONNRESET" || code === "EPIPE"))
    return new SyncClientError(
      "SYNC_CLIENT_TLS_REFUSED",
      `Server closed the connection right after the TLS handshake, it may not accept our certificate, ${text}`,
      { cause },
    );
  if (code.startsWith("ERR_OSSL_") || code === "ERR_INVALID_ARG_TYPE")
    return new SyncClientError("SYNC_CLIENT_TLS_MATERIAL", `TLS material cannot be used, ${text}`, { cause });
  // No TLS ("wrong version number"), no HTTP ("HPE_INVALID_CONSTANT"), or HTTP that refuses the upgrade.
  const isForeign =
    isSSL ||
    code.startsWith("HPE_") ||
    /^Unexpected server response|subprotocol|^Invalid (Sec-WebSocket|Upgrade)/i.test(messageOf(cause));
  if (isForeign) return new SyncClientError("SYNC_CLIENT_UPGRADE", `No sync server answers, ${text}`, { cause });
  return new SyncClientError("SYNC_CLIENT_CONNECT", `Cannot connect, ${text}`, { cause });
}
