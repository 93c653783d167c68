import "reflect-metadata"; // the certificate library asks for it before itself
import { webcrypto } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto as unknown as Parameters<typeof x509.cryptoProvider.set>[0]);

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 86_400_000;

export interface Identity {
  readonly certPem: string;
  readonly keyPem: string;
}

export interface IdentityOptions {
  readonly commonName: string;
  readonly organization?: string;
  readonly uriSan?: string;
  readonly ipSans?: readonly string[];
  readonly dnsSans?: readonly string[];
  readonly notAfter?: Date;
}

/** Makes certificates for a lab: one CA, any number of leaves. ECDSA P-256, valid for a day unless said otherwise. */
export class CertificateAuthority {
  readonly caPem: string;
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;
  #serial = 1;

  private constructor(keys: webcrypto.CryptoKeyPair, certificate: x509.X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
    this.caPem = certificate.toString("pem");
  }

  static async create(name = "Bulrush lab CA"): Promise<CertificateAuthority> {
    const keys = await newKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: new Date(Date.now() + DAY_MS),
      extensions: [
        new x509.BasicConstraintsExtension(true, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      ],
    });
    return new CertificateAuthority(keys, certificate);
  }

  async issue(options: IdentityOptions): Promise<Identity> {
    const keys = await newKeys();
    const names: x509.JsonGeneralNames = [
      ...(options.uriSan === undefined ? [] : [{ type: "url" as const, value: options.uriSan }]),
      ...(options.ipSans ?? []).map((value) => ({ type: "ip" as const, value })),
      ...(options.dnsSans ?? []).map((value) => ({ type: "dns" as const, value })),
    ];
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `${options.organization === undefined ? "" : `O=${options.organization}, `}CN=${options.commonName}`,
      issuer: this.#certificate.subject,
      serialNumber: (++this.#serial).toString(16).padStart(2, "0"),
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: ALGORITHM,
      notBefore: new Date(Date.now() - DAY_MS),
      notAfter: options.notAfter ?? new Date(Date.now() + DAY_MS),
      extensions: [
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth]),
        ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
      ],
    });
    const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
    return { certPem: certificate.toString("pem"), keyPem: x509.PemConverter.encode(key, "PRIVATE KEY") };
  }
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

export interface TlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Writes `<name>.crt`, `<name>.key` and `ca.crt` into a directory and returns their paths. */
export function writeTlsFiles(directory: string, name: string, ca: CertificateAuthority, identity: Identity): TlsFiles {
  const files = {
    ca: join(directory, "ca.crt"),
    cert: join(directory, `${name}.crt`),
    key: join(directory, `${name}.key`),
  };
  writeFileSync(files.ca, ca.caPem);
  writeFileSync(files.cert, identity.certPem);
  writeFileSync(files.key, identity.keyPem, { mode: 0o600 });
  return files;
}
