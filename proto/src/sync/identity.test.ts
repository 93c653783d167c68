import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { checkIdentity, identityOf, type IdentityRule } from "./identity.ts";

const folder = mkdtempSync(join(tmpdir(), "bulrush-identity-"));
after(() => rmSync(folder, { recursive: true }));

const SELF_SIGNED = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1".split(" ");

/** A self-signed certificate, as the openssl command makes it. */
function certificate(subject: string, ...more: readonly string[]): X509Certificate {
  const file = join(folder, "cert.pem");
  const files = ["-keyout", join(folder, "key.pem"), "-out", file];
  execFileSync("openssl", [...SELF_SIGNED, "-subj", subject, ...files, ...more], { stdio: "pipe" });
  return new X509Certificate(readFileSync(file));
}

test("identityOf() reads the common name and the URIs", () => {
  const names = "DNS:a.example,URI:spiffe://x/typha,IP:10.0.0.1,URI:spiffe://x/other,email:a@b.c";
  assert.deepEqual(identityOf(certificate("/O=x/CN=typha-server", "-addext", `subjectAltName=${names}`)), {
    commonName: "typha-server",
    uris: ["spiffe://x/typha", "spiffe://x/other"],
  });
});

test("identityOf() reads a certificate without either", () => {
  assert.deepEqual(identityOf(certificate("/O=x")), { commonName: undefined, uris: [] });
});

test("identityOf() takes no common name from a subject with two", () => {
  assert.equal(identityOf(certificate("/CN=typha-server/CN=other")).commonName, undefined);
});

test("identityOf() is not fooled by names that look like other names", () => {
  const uri = 'x, URI:spiffe://x/typha", DNS:y';
  const config = join(folder, "names.cnf");
  const names = ["DNS.1=a\\, URI:spiffe://x/evil", `URI.1='${uri}'`];
  const lines = [
    "[req]",
    "distinguished_name=dn",
    "x509_extensions=ext",
    "[dn]",
    "[ext]",
    "subjectAltName=@names",
    "[names]",
  ];
  writeFileSync(config, [...lines, ...names, ""].join("\n"));
  const { uris } = identityOf(certificate("/CN=a", "-config", config));
  assert.deepEqual(uris, [uri]);
});

const CN: IdentityRule = { commonName: "good" };
const URI: IdentityRule = { uri: "spiffe://good" };
const EITHER: IdentityRule = { ...CN, ...URI };

/** Whose certificate, and whether it passes the rule on the name, on the URI, on either. */
const MATRIX: readonly (readonly [string | undefined, readonly string[], boolean, boolean, boolean])[] = [
  [undefined, [], false, false, false],
  ["good", [], true, false, true],
  ["bad", [], false, false, false],
  [undefined, ["spiffe://good"], false, true, true],
  [undefined, ["spiffe://bad"], false, false, false],
  ["good", ["spiffe://good"], true, true, true],
  ["good", ["spiffe://bad"], true, false, true],
  ["bad", ["spiffe://good"], false, true, true],
  ["bad", ["spiffe://bad"], false, false, false],
  ["Good", ["SPIFFE://good"], false, false, false],
  ["good ", ["spiffe://good/"], false, false, false],
  ["spiffe://good", ["good"], false, false, false],
  [undefined, ["spiffe://bad", "spiffe://good"], false, true, true],
];

for (const [commonName, uris, byName, byUri, byEither] of MATRIX)
  test(`checkIdentity() of name ${commonName ?? "(none)"} and URIs ${uris.join(" ") || "(none)"}`, () => {
    const identity = { commonName, uris };
    assert.equal(checkIdentity(identity, CN) === undefined, byName);
    assert.equal(checkIdentity(identity, URI) === undefined, byUri);
    assert.equal(checkIdentity(identity, EITHER) === undefined, byEither);
  });

test("checkIdentity() says what it has and what it wants, in three different ways", () => {
  const identity = { commonName: "bad", uris: ["spiffe://bad"] };
  assert.equal(checkIdentity(identity, CN), 'Certificate has common name "bad", required is "good"');
  assert.equal(checkIdentity(identity, URI), 'Certificate has URI "spiffe://bad", required is "spiffe://good"');
  assert.equal(
    checkIdentity({ commonName: undefined, uris: [] }, EITHER),
    'Certificate has no common name and no URI, required is common name "good" or URI "spiffe://good"',
  );
});

test("checkIdentity() without a rule is a bug", () => {
  assert.throws(() => checkIdentity({ commonName: "good", uris: [] }, {}), /requires something/);
});
