import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CertificateAuthority, type TlsFiles, writeTlsFiles } from "../lab/certificates.ts";

export const ADMIN_TOKEN = "admin-token";

/** The keys of a kube-apiserver. */
export interface KubeFiles {
  readonly server: TlsFiles;
  /** A client of the group system:masters. */
  readonly admin: TlsFiles;
  readonly caPem: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly tokens: string;
}

export async function writeKubeFiles(directory: string): Promise<KubeFiles> {
  const ca = await CertificateAuthority.create("kubernetes");
  const server = await ca.issue({
    commonName: "kube-apiserver",
    ipSans: ["127.0.0.1", "10.96.0.1"],
    dnsSans: ["localhost", "kubernetes.default.svc"],
  });
  const admin = await ca.issue({ commonName: "admin", organization: "system:masters" });
  const { privateKey, publicKey } = generateKeyPairSync("rsa", {
    modulusLength: 2048,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  const files: KubeFiles = {
    server: writeTlsFiles(directory, "server", ca, server),
    admin: writeTlsFiles(directory, "admin", ca, admin),
    caPem: ca.caPem,
    serviceAccountKey: join(directory, "sa.key"),
    serviceAccountPublicKey: join(directory, "sa.pub"),
    tokens: join(directory, "tokens.csv"),
  };
  writeFileSync(files.serviceAccountKey, privateKey, { mode: 0o600 });
  writeFileSync(files.serviceAccountPublicKey, publicKey);
  writeFileSync(files.tokens, `${ADMIN_TOKEN},admin,admin,"system:masters"\n`, { mode: 0o600 });
  return files;
}

/** Writes a kubeconfig with one context, for `KUBECONFIG`. JSON is YAML. */
export function writeKubeconfig(file: string, server: string, caPem: string, token: string): void {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "lab",
    clusters: [
      { name: "lab", cluster: { server, "certificate-authority-data": Buffer.from(caPem).toString("base64") } },
    ],
    users: [{ name: "lab", user: { token } }],
    contexts: [{ name: "lab", context: { cluster: "lab", user: "lab" } }],
  };
  writeFileSync(file, `${JSON.stringify(config, null, 2)}\n`, { mode: 0o600 });
}
