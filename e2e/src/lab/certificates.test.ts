import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { CertificateAuthority } from "./certificates.ts";

test("CertificateAuthority issues leaves that its CA verifies", async () => {
  const ca = await CertificateAuthority.create();
  const leaf = await ca.issue({ commonName: "typha-client", uriSan: "spiffe://lab/agent" });
  const certificate = new X509Certificate(leaf.certPem);
  assert.ok(certificate.verify(new X509Certificate(ca.caPem).publicKey));
  assert.equal(certificate.subject, "CN=typha-client");
  assert.equal(certificate.subjectAltName, "URI:spiffe://lab/agent");
});

test("CertificateAuthority puts addresses, names and an organization into a leaf", async () => {
  const ca = await CertificateAuthority.create();
  const leaf = await ca.issue({
    commonName: "server",
    organization: "system:masters",
    ipSans: ["127.0.0.1"],
    dnsSans: ["kubernetes.default"],
  });
  const certificate = new X509Certificate(leaf.certPem);
  assert.equal(certificate.subject, "O=system:masters\nCN=server");
  assert.equal(certificate.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(certificate.checkHost("kubernetes.default"), "kubernetes.default");
});
