import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { messageOf } from "@bulrush/base";

/** Whose files or certificate a finding is about. */
export type TLSSide = "client" | "server";

/** One rule that was looked at. */
export interface TLSFinding {
  readonly side: TLSSide;
  /** What is asked for, in short: "key fits certificate". */
  readonly rule: string;
  readonly ok: boolean;
  /** What was found, with names and dates. */
  readonly detail: string;
  /** ISO 8601: the dates of the certificate that this is about. */
  readonly validFrom?: string;
  readonly validTo?: string;
}

/** The paths, as the settings name them. */
export interface TLSFiles {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** What was read, as far as it can be used. */
export interface InspectedFiles {
  readonly findings: readonly TLSFinding[];
  readonly certificate: X509Certificate | undefined;
  /** Every certificate of the CA file. */
  readonly authorities: readonly X509Certificate[];
}

/** RFC 5280 section 4.2.1.12: what a certificate may be used for. */
const PURPOSES: Readonly<Record<TLSSide, { readonly oid: string; readonly name: string }>> = {
  server: { oid: "1.3.6.1.5.5.7.3.1", name: "TLS server (serverAuth)" },
  client: { oid: "1.3.6.1.5.5.7.3.2", name: "TLS client (clientAuth)" },
};
const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Looks at the files of one side, without any connection: readable, of one another, in their dates. */
export async function inspectFiles(side: TLSSide, files: TLSFiles, nowMs: number): Promise<InspectedFiles> {
  const findings: TLSFinding[] = [];
  const find = (rule: string, ok: boolean, detail: string): void => void findings.push({ side, rule, ok, detail });
  const read = async <T>(what: string, file: string, parse: (text: string) => T): Promise<T | undefined> => {
    try {
      const parsed = parse(await readFile(file, "utf8"));
      find(`${what} can be read`, true, file);
      return parsed;
    } catch (error) {
      find(`${what} can be read`, false, `${file}: ${messageOf(error)}`);
      return undefined;
    }
  };
  const authorities = (await read("CA file", files.caFile, readCertificates)) ?? [];
  const chain = await read("certificate", files.certFile, readCertificates);
  const key = await read<KeyObject>("key", files.keyFile, (text) => createPrivateKey(text));
  const [certificate, ...between] = chain ?? [];
  if (certificate !== undefined && key !== undefined) {
    const fits = certificate.checkPrivateKey(key);
    find("key fits certificate", fits, `${files.keyFile} ${fits ? "is" : "is not"} the key of ${files.certFile}`);
  }
  for (const authority of authorities) findings.push(datesOf(side, "CA", authority, nowMs));
  if (certificate !== undefined) {
    findings.push(datesOf(side, "certificate", certificate, nowMs), purposeOf(side, certificate));
    if (authorities.length > 0) findings.push(chainOf(side, certificate, [...between, ...authorities]));
  }
  return { findings, certificate, authorities };
}

/** Whether now is within the dates of a certificate. */
export function datesOf(side: TLSSide, what: string, certificate: X509Certificate, nowMs: number): TLSFinding {
  const [fromMs, toMs] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  const [validFrom, validTo] = [fromMs, toMs].map((ms) => new Date(ms).toISOString()) as [string, string];
  const days = Math.floor((toMs - nowMs) / 86_400_000);
  const detail =
    nowMs < fromMs
      ? `not valid before ${validFrom}`
      : nowMs > toMs
        ? `expired at ${validTo}`
        : `valid until ${validTo} (${days} days)`;
  const name = nameOf(certificate);
  return {
    side,
    rule: `${what} is in its dates`,
    ok: nowMs >= fromMs && nowMs <= toMs,
    detail: `${name}: ${detail}`,
    validFrom,
    validTo,
  };
}

/** Whether the certificate of a side goes up to one of these. */
export function chainOf(side: TLSSide, certificate: X509Certificate, issuers: readonly X509Certificate[]): TLSFinding {
  const rule = "certificate chains to the CA";
  let at = certificate;
  for (let depth = 0; depth < 8; depth++) {
    const issuer = issuers.find((one) => at.checkIssued(one) && at.verify(one.publicKey));
    if (issuer === undefined) {
      const known = issuers.map(nameOf).join("; ");
      const detail = `${nameOf(at)} was issued by ${oneLine(at.issuer)}, which is not among: ${known}`;
      return { side, rule, ok: false, detail };
    }
    if (issuer.ca || issuer.raw.equals(at.raw)) return { side, rule, ok: true, detail: `issued by ${nameOf(issuer)}` };
    at = issuer;
  }
  return { side, rule, ok: false, detail: "the chain has more than 8 certificates" };
}

/** Whether the certificate may be used on this side. One that names no purposes may be used for all. */
export function purposeOf(side: TLSSide, certificate: X509Certificate): TLSFinding {
  const { oid, name } = PURPOSES[side];
  // The types promise an array; a certificate without the extension has none.
  const purposes = certificate.keyUsage as readonly string[] | undefined;
  const ok = purposes === undefined || purposes.includes(oid);
  const detail =
    purposes === undefined ? "no purposes are named: all are allowed" : ok ? name : `${name} is not among its purposes`;
  return { side, rule: "certificate is for this side", ok, detail };
}

/** The subject in one line. */
export function nameOf(certificate: X509Certificate): string {
  return oneLine(certificate.subject);
}

function oneLine(name: string): string {
  return name === "" ? "(no name)" : name.replaceAll("\n", ", ");
}

function readCertificates(text: string): readonly X509Certificate[] {
  const found = text.match(PEM) ?? [];
  if (found.length === 0) throw new Error("it has no certificate in PEM form");
  return found.map((pem) => new X509Certificate(pem));
}
