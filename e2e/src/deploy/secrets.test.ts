/** The Secrets that deploy/certificates/make-secrets.sh makes. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { join } from "node:path";
import { test } from "node:test";
import { asObject, DEPLOY, parseYaml } from "./manifest.ts";
import { variants } from "./variants.ts";
import { envValue, find, onlyContainer, type ProjectedSource, templateOf } from "./workload.ts";

const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

test("make-secrets.sh makes what the manifests mount, good for what each side does with it", () => {
  const script = join(DEPLOY, "certificates", "make-secrets.sh");
  const text = execFileSync(script, ["policy", "30"], { encoding: "utf8" });
  const objects = parseYaml(text, script).map((value) => asObject(value, script));
  const dataOf = (kind: string, name: string): Readonly<Record<string, string>> => {
    const object = find(objects, kind, name);
    assert.equal(object.metadata.namespace, "policy");
    return object["data"] as Record<string, string>;
  };
  const pem = (data: Readonly<Record<string, string>>, key: string): string =>
    Buffer.from(data[key] ?? "", "base64").toString();
  const ca = new X509Certificate(dataOf("ConfigMap", "typha-ca")["caBundle"] ?? "");
  assert.ok(ca.ca && ca.verify(ca.publicKey));

  const base = variants().get("base") ?? [];
  const typha = onlyContainer(templateOf(find(base, "Deployment", "calico-typha")));
  const agent = onlyContainer(templateOf(find(base, "DaemonSet", "bulrush-agent")));
  for (const [name, commonName, usages] of [
    ["typha-certs", envValue(agent, "FELIX_TYPHACN"), [SERVER_AUTH, CLIENT_AUTH]],
    ["node-certs", envValue(typha, "TYPHA_CLIENTCN"), [CLIENT_AUTH]],
  ] as const) {
    const data = dataOf("Secret", name);
    const certificate = new X509Certificate(pem(data, "tls.crt"));
    assert.equal(certificate.subject, `CN=${commonName ?? ""}`);
    assert.deepEqual(certificate.keyUsage, usages);
    assert.ok(certificate.verify(ca.publicKey), name);
    assert.ok(Date.parse(certificate.validTo) > Date.now() + 29 * 86_400_000);
    assert.doesNotThrow(() => createSecureContext({ cert: pem(data, "tls.crt"), key: pem(data, "tls.key") }));
  }
  for (const object of [find(base, "Deployment", "calico-typha"), find(base, "DaemonSet", "bulrush-agent")]) {
    const sources = templateOf(object).spec.volumes?.flatMap(({ projected }) => projected?.sources ?? []) ?? [];
    for (const { secret, configMap } of sources as readonly ProjectedSource[]) {
      for (const { key } of secret?.items ?? []) assert.ok(key in dataOf("Secret", secret?.name ?? ""), key);
      for (const { key } of configMap?.items ?? []) assert.ok(key in dataOf("ConfigMap", configMap?.name ?? ""), key);
    }
  }
});
