import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** PEM of one certificate and its key. */
export interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly certFile: string;
  readonly keyFile: string;
}

export interface LeafOptions {
  readonly commonName?: string;
  readonly uri?: string;
  /** An address of a host. */
  readonly ip?: string;
  /** Ended yesterday. */
  readonly isExpired?: boolean;
}

/** For tests: a certificate authority in a folder of its own, by the openssl command. */
export class Authority {
  readonly folder: string;
  readonly ca: Buffer;
  readonly caFile: string;
  readonly #keyFile: string;
  #serial = 0;

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), "bulrush-ca-"));
    this.caFile = join(this.folder, "ca.pem");
    this.#keyFile = join(this.folder, "ca.key");
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl([
      "req",
      "-x509",
      ...curve,
      "-days",
      "2",
      "-subj",
      `/CN=${name}`,
      "-keyout",
      this.#keyFile,
      "-out",
      this.caFile,
    ]);
    this.ca = readFileSync(this.caFile);
  }

  issue({ commonName, uri, ip, isExpired = false }: LeafOptions): Pair {
    const base = join(this.folder, `leaf-${++this.#serial}`);
    const [keyFile, requestFile, certFile, extensionFile] = ["key", "csr", "pem", "ext"].map(
      (end) => `${base}.${end}`,
    ) as [string, string, string, string];
    const subject = commonName === undefined ? "/O=bulrush" : `/O=bulrush/CN=${commonName}`;
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    openssl(["req", ...curve, "-subj", subject, "-keyout", keyFile, "-out", requestFile]);
    const names = [...(uri === undefined ? [] : [`URI:${uri}`]), ...(ip === undefined ? [] : [`IP:${ip}`])];
    writeFileSync(
      extensionFile,
      names.length === 0 ? "basicConstraints=CA:FALSE\n" : `subjectAltName=${names.join(",")}\n`,
    );
    const issuer = ["-CA", this.caFile, "-CAkey", this.#keyFile, "-set_serial", String(this.#serial)];
    const days = ["-days", isExpired ? "-1" : "1"];
    openssl(["x509", "-req", "-in", requestFile, ...issuer, ...days, "-extfile", extensionFile, "-out", certFile]);
    return { cert: readFileSync(certFile), key: readFileSync(keyFile), certFile, keyFile };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

function openssl(parameters: readonly string[]): void {
  execFileSync("openssl", parameters, { stdio: "pipe" });
}
