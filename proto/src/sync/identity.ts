import type { X509Certificate } from "node:crypto";
import { assert } from "@bulrush/base";

/** What a side requires of its peer's certificate, beside the chain to the CA. At least one is set. */
export interface IdentityRule {
  readonly commonName?: string;
  readonly uri?: string;
}

/** Who a certificate says that its holder is. */
export interface PeerIdentity {
  /** undefined where the subject has none, or more than one. */
  readonly commonName: string | undefined;
  /** The URIs among the subject alternative names. */
  readonly uris: readonly string[];
}

/** Reads the names alone: the chain and the dates are TLS's to check. */
export function identityOf(certificate: X509Certificate): PeerIdentity {
  const commonName: unknown = certificate.toLegacyObject().subject.CN;
  return {
    commonName: typeof commonName === "string" ? commonName : undefined,
    uris: parseAltNames(certificate.subjectAltName ?? "")
      .filter(({ kind }) => kind === "URI")
      .map(({ value }) => value),
  };
}

/**
 * The rule of both sides: the exact common name, or the exact URI among the alternative names. Where both are required,
 * either suffices. Host names play no part. Returns what is wrong, or undefined.
 */
export function checkIdentity(identity: PeerIdentity, rule: IdentityRule): string | undefined {
  assert(rule.commonName !== undefined || rule.uri !== undefined, "An identity rule requires something");
  if (rule.commonName !== undefined && identity.commonName === rule.commonName) return undefined;
  if (rule.uri !== undefined && identity.uris.includes(rule.uri)) return undefined;
  const name = identity.commonName === undefined ? "no common name" : `common name ${quote(identity.commonName)}`;
  const uris = identity.uris.length === 0 ? "no URI" : `URI ${identity.uris.map(quote).join(", ")}`;
  if (rule.uri === undefined) return `Certificate has ${name}, required is ${quote(rule.commonName)}`;
  if (rule.commonName === undefined) return `Certificate has ${uris}, required is ${quote(rule.uri)}`;
  return `Certificate has ${name} and ${uris}, required is common name ${quote(rule.commonName)} or URI ${quote(rule.uri)}`;
}

function quote(text: string | undefined): string {
  return JSON.stringify(text);
}

/**
 * Node's text form of the alternative names: `DNS:a, URI:b`; a value that could be taken for more than one stands as a
 * JSON string.
 */
function parseAltNames(text: string): { readonly kind: string; readonly value: string }[] {
  const names: { kind: string; value: string }[] = [];
  const pattern = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/y;
  for (let match = pattern.exec(text); match !== null && match[0] !== ""; match = pattern.exec(text)) {
    const [, kind = "", raw = ""] = match;
    names.push({ kind, value: raw.startsWith('"') ? (JSON.parse(raw) as string) : raw });
  }
  return names;
}
