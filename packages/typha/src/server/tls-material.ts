import { constants, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { TlsOptions } from "node:tls";
import { messageOf } from "@bulrush/base";
import { identityOf, type IdentityRule } from "@bulrush/proto";
import { TyphaError } from "../errors.ts";

/** What mutual TLS is set up from: paths of PEM files, and who may connect. */
export interface SyncTlsSettings {
  readonly keyFile: string;
  readonly certFile: string;
  /** Every client certificate must chain to one of these. */
  readonly caFile: string;
  readonly clientRule: IdentityRule;
}

/** What was read, fit to be served. */
export interface TlsMaterial {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly ca: Buffer;
  /** End of the server certificate's life, Unix ms. */
  readonly expiresAtMs: number;
  /** Other servers have the common name, or the first URI, of this one's certificate; undefined: it has neither. */
  readonly fellowRule: IdentityRule | undefined;
}

/**
 * Reads the files and checks that they fit together.
 *
 * @throws TyphaError TYPHA_TLS_FILE, naming the file.
 */
export function readTlsMaterial(settings: SyncTlsSettings): TlsMaterial {
  const key = readFile(settings.keyFile);
  const cert = readFile(settings.certFile);
  const ca = readFile(settings.caFile);
  const certificate = parse(settings.certFile, () => new X509Certificate(cert));
  parse(settings.caFile, () => new X509Certificate(ca));
  const privateKey = parse(settings.keyFile, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TyphaError(`The key in ${settings.keyFile} is not that of the certificate in ${settings.certFile}`, {
      code: "TYPHA_TLS_FILE",
      data: { file: settings.keyFile },
    });
  }
  return { key, cert, ca, expiresAtMs: Date.parse(certificate.validTo), fellowRule: fellowRuleOf(certificate) };
}

function fellowRuleOf(certificate: X509Certificate): IdentityRule | undefined {
  const { commonName, uris } = identityOf(certificate);
  const [uri] = uris;
  if (commonName === undefined && uri === undefined) return undefined;
  return { ...(commonName !== undefined && { commonName }), ...(uri !== undefined && { uri }) };
}

/**
 * How the sync port speaks TLS. Client certificates are asked for, but a bad one does not fail the handshake: the
 * listener looks at it and tells the peer what is wrong, which an alert (or, in Node, nothing at all) does not.
 * AES-128 first: it is the fastest, and breaks no sooner. No session tickets: they cost a write and keys to guard, and
 * a resumed session would skip the look at the certificate.
 */
export function tlsServerOptions(material: TlsMaterial, handshakeTimeoutMs: number): TlsOptions {
  return {
    key: material.key,
    cert: material.cert,
    ca: material.ca,
    requestCert: true,
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    ciphers: [
      "TLS_AES_128_GCM_SHA256",
      "TLS_AES_256_GCM_SHA384",
      "TLS_CHACHA20_POLY1305_SHA256",
      "ECDHE-ECDSA-AES128-GCM-SHA256",
      "ECDHE-RSA-AES128-GCM-SHA256",
      "ECDHE-ECDSA-AES256-GCM-SHA384",
      "ECDHE-RSA-AES256-GCM-SHA384",
    ].join(":"),
    honorCipherOrder: true,
    secureOptions: constants.SSL_OP_NO_TICKET,
    // The listener's own timer, which covers the upgrade too, comes first.
    handshakeTimeout: handshakeTimeoutMs + 1000,
  };
}

function readFile(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new TyphaError(`Cannot read ${file}: ${messageOf(cause)}`, { code: "TYPHA_TLS_FILE", cause, data: { file } });
  }
}

function parse<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new TyphaError(`${file} holds nothing that can be used: ${messageOf(cause)}`, {
      code: "TYPHA_TLS_FILE",
      cause,
      data: { file },
    });
  }
}
