import { constants, createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
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

/** What the files hold. */
export interface TlsFiles {
  readonly key: Buffer;
  readonly cert: Buffer;
  readonly ca: Buffer;
}

/** What was read, fit to be served. */
export interface TlsMaterial extends TlsFiles {
  /** End of the server certificate's life, Unix ms. */
  readonly expiresAtMs: number;
  /** Other servers have the common name, or the first URI, of this one's certificate; undefined: it has neither. */
  readonly fellowRule: IdentityRule | undefined;
}

/**
 * Reads the files and checks that they fit together. A certificate that is out of its time is taken: there is no better.
 *
 * @throws TyphaError TYPHA_TLS_FILE, naming the file.
 */
export function readTlsMaterial(settings: SyncTlsSettings): TlsMaterial {
  const read = (file: string): Buffer => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw unreadable(file, cause);
    }
  };
  return checkTlsFiles(settings, {
    key: read(settings.keyFile),
    cert: read(settings.certFile),
    ca: read(settings.caFile),
  });
}

/** Reads the files only. Rejects like {@link readTlsMaterial}. */
export async function readTlsFiles(settings: SyncTlsSettings): Promise<TlsFiles> {
  const read = async (file: string): Promise<Buffer> => {
    try {
      return await readFile(file);
    } catch (cause) {
      throw unreadable(file, cause);
    }
  };
  const [key, cert, ca] = await Promise.all([read(settings.keyFile), read(settings.certFile), read(settings.caFile)]);
  return { key, cert, ca };
}

export function sameTlsFiles(a: TlsFiles, b: TlsFiles): boolean {
  return a.key.equals(b.key) && a.cert.equals(b.cert) && a.ca.equals(b.ca);
}

/**
 * Checks that the files fit together and, with `nowMs` (Unix), that the certificate is of that time.
 *
 * @throws TyphaError TYPHA_TLS_FILE, naming the file.
 */
export function checkTlsFiles(settings: SyncTlsSettings, files: TlsFiles, nowMs?: number): TlsMaterial {
  const { key, cert, ca } = files;
  const certificate = parse(settings.certFile, () => new X509Certificate(cert));
  parse(settings.caFile, () => new X509Certificate(ca));
  const privateKey = parse(settings.keyFile, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw unfit(
      settings.keyFile,
      `The key in ${settings.keyFile} is not that of the certificate in ${settings.certFile}`,
    );
  const expiresAtMs = Date.parse(certificate.validTo);
  if (nowMs !== undefined && nowMs >= expiresAtMs)
    throw unfit(settings.certFile, `The certificate in ${settings.certFile} expired at ${certificate.validTo}`);
  if (nowMs !== undefined && nowMs < Date.parse(certificate.validFrom))
    throw unfit(
      settings.certFile,
      `The certificate in ${settings.certFile} is valid only from ${certificate.validFrom} on`,
    );
  return { key, cert, ca, expiresAtMs, fellowRule: fellowRuleOf(certificate) };
}

function unfit(file: string, message: string): TyphaError {
  return new TyphaError(message, { code: "TYPHA_TLS_FILE", data: { file } });
}

function unreadable(file: string, cause: unknown): TyphaError {
  return new TyphaError(`Cannot read ${file}: ${messageOf(cause)}`, { code: "TYPHA_TLS_FILE", cause, data: { file } });
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
