import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import type { IdentityRule } from "@bulrush/proto";
import { certificateFile } from "../testing/websocket-client.ts";
import { clientCertificateProblem } from "./client-identity.ts";
import { checkTlsFiles, tlsServerOptions } from "./tls-material.ts";

const GOOD_URI = "spiffe://cluster/good";
const SIGNERS = ["first", "second", "stranger"] as const;
const NAMES = [undefined, "good", "bad"] as const;
const URIS = [undefined, GOOD_URI, "spiffe://cluster/bad"] as const;
const TRUSTED: readonly (readonly (typeof SIGNERS)[number][])[] = [["first"], ["second"], ["first", "second"]];
const RULES: readonly IdentityRule[] = [
  { commonName: "good" },
  { uri: GOOD_URI },
  { commonName: "good", uri: GOOD_URI },
  { commonName: "another", uri: GOOD_URI },
];

const folder = mkdtempSync(join(tmpdir(), "bulrush-tls-matrix-"));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string): string => join(folder, name);
const read = (name: string): Buffer => readFileSync(file(name));

function openssl(...words: readonly string[]): void {
  execFileSync("openssl", words, { stdio: "pipe" });
}

/** One key for all: it is the certificates that differ. */
function makeKey(): void {
  openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", file("key"));
}

function certificate(name: string, subject: string, ...more: readonly string[]): void {
  openssl("req", "-x509", "-new", "-key", file("key"), "-days", "2", "-subj", subject, "-out", file(name), ...more);
}

/** Of all rules: what is wrong with a client of this certificate; undefined: nothing. */
async function problems(ca: Buffer, cert: Buffer): Promise<readonly (string | undefined)[]> {
  const [serverKey, serverCert] = ["server.key", "server.crt"].map((name) => readFileSync(certificateFile(name)));
  const files = { key: serverKey ?? assert.fail(), cert: serverCert ?? assert.fail(), ca };
  const settings = { keyFile: "key", certFile: "cert", caFile: "ca", clientRule: {} };
  const server = createServer(tlsServerOptions(checkTlsFiles(settings, files), 600_000));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", key: read("key"), cert, rejectUnauthorized: false });
  const [socket] = (await once(server, "secureConnection")) as [TLSSocket];
  const found = RULES.map((rule) => clientCertificateProblem(socket, rule));
  socket.destroy();
  client.destroy();
  server.close();
  return found;
}

makeKey();
for (const signer of SIGNERS) certificate(`${signer}.crt`, `/CN=${signer}`);

for (const signer of SIGNERS)
  test(`clientCertificateProblem() of all names and URIs signed by ${signer}, under all rules and authorities`, async () => {
    for (const name of NAMES)
      for (const uri of URIS) {
        const issuer = ["-CA", file(`${signer}.crt`), "-CAkey", file("key"), "-addext", "basicConstraints=CA:FALSE"];
        const names = uri === undefined ? [] : ["-addext", `subjectAltName=URI:${uri}`];
        certificate("leaf.crt", name === undefined ? "/O=x" : `/O=x/CN=${name}`, ...issuer, ...names);
        for (const trusted of TRUSTED) {
          const ca = Buffer.concat(trusted.map((one) => read(`${one}.crt`)));
          const found = await problems(ca, read("leaf.crt"));
          for (const [i, rule] of RULES.entries()) {
            const isNamed = name !== undefined && name === rule.commonName;
            const isMet = isNamed || (uri !== undefined && uri === rule.uri);
            const words = `name ${name ?? "none"}, URI ${uri ?? "none"}, trusted ${trusted.join()}, ${JSON.stringify(rule)}`;
            if (!trusted.includes(signer)) assert.match(found[i] ?? "", /does not chain to our CA/, words);
            else if (isMet) assert.equal(found[i], undefined, words);
            else assert.match(found[i] ?? "", /^Certificate has .*, required is /, words);
          }
        }
      }
  });
