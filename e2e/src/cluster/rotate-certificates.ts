import { X509Certificate } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { must } from "@bulrush/base";
import type { KubeObject } from "../kube/kube-admin.ts";
import type { TlsFiles } from "../lab/certificates.ts";
import { type ClusterWorld, makeSecrets } from "./cluster-world.ts";
import type { OperatorView } from "./operator-view.ts";
import { writeAgentTls } from "./typha-view.ts";

const NAMESPACE = "kube-system";
const TLS_MS = 30_000;

/**
 * New pairs under a new CA for both sides, by docs/operations.md: both CAs first, then the pairs, then the old CA goes.
 * Every Typha shows and wants the new ones at the end. The number of streams, all of which were there all the while.
 *
 * @throws Error when a stream ended.
 */
export async function rotateCertificates(world: ClusterWorld, view: OperatorView, directory: string): Promise<number> {
  const old = await writeAgentTls(world.admin, NAMESPACE, join(directory, "old"));
  const before = await view.connections();
  const made = makeSecrets();
  const secrets = made.filter(({ kind }) => kind === "Secret");
  const bundle = must(
    made.find(({ kind }) => kind === "ConfigMap"),
    "a ConfigMap",
  );
  const { caBundle } = bundle["data"] as { readonly caBundle: string };
  const bothCas = `${readFileSync(old.ca, "utf8").trimEnd()}\n${caBundle}`;
  await apply(world, [{ ...bundle, data: { caBundle: bothCas } }]);
  const fresh = await writeAgentTls(world.admin, NAMESPACE, join(directory, "fresh"));
  writeFileSync(fresh.cert, pemOf(secrets, "node-certs", "tls.crt"));
  writeFileSync(fresh.key, pemOf(secrets, "node-certs", "tls.key"));
  await world.until("every Typha trusts the new CA", () => view.tlsProblem(fresh));
  await apply(world, secrets);
  const wanted = new X509Certificate(pemOf(secrets, "typha-certs", "tls.crt")).fingerprint256;
  await world.until("every Typha shows its new certificate", async () => {
    for (const { host, port } of world.servers())
      if ((await shownBy(host, port, fresh)) !== wanted) return `${host} does not`;
    return undefined;
  });
  await apply(world, [bundle]);
  const alone = await writeAgentTls(world.admin, NAMESPACE, join(directory, "new"));
  await world.until("every Typha refuses the old certificate", async () => {
    const host = await view.whoTakes({ ...old, ca: alone.ca });
    return host === undefined ? view.tlsProblem(alone) : `${host} takes it`;
  });
  const after = await view.connections();
  const ended = [...before].filter(([id]) => !after.has(id)).map(([, hostname]) => hostname);
  if (ended.length > 0) throw new Error(`Streams that did not stay: ${ended.join(", ")}`);
  return before.size;
}

async function apply(world: ClusterWorld, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await world.admin.apply(object);
  await world.refreshVolumes();
}

function pemOf(secrets: readonly KubeObject[], name: string, key: string): Buffer {
  const secret = secrets.find(({ metadata }) => metadata.name === name);
  const data = secret?.["data"] as Readonly<Record<string, string>> | undefined;
  return Buffer.from(must(data?.[key], `${name} ${key}`), "base64");
}

/** The fingerprint of the certificate that a server shows. */
function shownBy(host: string, port: number, files: TlsFiles): Promise<string> {
  const [ca, cert, key] = [files.ca, files.cert, files.key].map((file) => readFileSync(file, "utf8"));
  return new Promise((resolve, reject) => {
    const options = { host, port, ca, cert, key, checkServerIdentity: () => undefined, timeout: TLS_MS };
    const socket = connect(options, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "none");
      socket.destroy();
    });
    socket.on("error", reject);
    socket.on("timeout", () => socket.destroy(new Error("no answer")));
  });
}
