import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type TLSSocket } from "node:tls";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readFileSync } from "node:fs";
import type { TLSFinding } from "@bulrush/sync-client";
import { runCli } from "../testing/run-cli.ts";

const CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "tls-check-"));
  for (const ca of ["ours", "theirs"])
    openssl(
      "req",
      "-x509",
      ...CURVE,
      "-days",
      "2",
      "-subj",
      `/CN=${ca}`,
      "-keyout",
      at(`${ca}.key`),
      "-out",
      at(`${ca}.pem`),
    );
  issue("ours", "typha", "typha-server", 1);
  issue("ours", "felix", "typha-client", 1);
  issue("ours", "old", "typha-client", -1);
  issue("theirs", "stranger", "typha-client", 1);
});
after(() => rmSync(folder, { recursive: true }));

function openssl(...argv: readonly string[]): void {
  execFileSync("openssl", argv, { stdio: "pipe" });
}

function at(name: string): string {
  return join(folder, name);
}

function issue(ca: string, name: string, commonName: string, days: number): void {
  openssl("req", ...CURVE, "-subj", `/CN=${commonName}`, "-keyout", at(`${name}.key`), "-out", at(`${name}.csr`));
  writeFileSync(at("ext"), "basicConstraints=CA:FALSE\n");
  const issuer = ["-CA", at(`${ca}.pem`), "-CAkey", at(`${ca}.key`), "-set_serial", "7"];
  openssl(
    "x509",
    "-req",
    "-in",
    at(`${name}.csr`),
    ...issuer,
    "-days",
    String(days),
    "-extfile",
    at("ext"),
    "-out",
    at(`${name}.pem`),
  );
}

function felix(pair: string, cn = "typha-server"): Record<string, string> {
  return {
    FELIX_TYPHACAFILE: at("ours.pem"),
    FELIX_TYPHACERTFILE: at(`${pair}.pem`),
    FELIX_TYPHAKEYFILE: at(`${pair}.key`),
    FELIX_TYPHACN: cn,
  };
}

function typha(cn = "typha-client"): Record<string, string> {
  return {
    TYPHA_CAFILE: at("ours.pem"),
    TYPHA_SERVERCERTFILE: at("typha.pem"),
    TYPHA_SERVERKEYFILE: at("typha.key"),
    TYPHA_CLIENTCN: cn,
  };
}

const rows: readonly [title: string, env: () => Record<string, string>, want: readonly RegExp[]][] = [
  ["both sides fit together", () => ({ ...felix("felix"), ...typha() }), []],
  [
    "a client certificate that has expired",
    () => ({ ...felix("old"), ...typha() }),
    [/^WRONG client: certificate is in its dates: CN=typha-client: expired at 20\d\d-/],
  ],
  [
    "a client certificate of another CA",
    () => ({ ...felix("stranger"), ...typha() }),
    [
      /^WRONG client: certificate chains to the CA: CN=typha-client was issued by CN=theirs, which is not among: CN=ours/,
      /^WRONG client: certificate chains to Typha's CA: /,
    ],
  ],
  [
    "a server that wants another name",
    () => ({ ...felix("felix"), ...typha("felix") }),
    [
      /^WRONG client: certificate has the name required: Certificate has common name "typha-client", required is "felix"/,
    ],
  ],
  [
    "a client that wants another name",
    () => ({ ...felix("felix", "typha"), ...typha() }),
    [
      /^WRONG server: certificate has the name required: Certificate has common name "typha-server", required is "typha"/,
    ],
  ],
  [
    "a file that is not there",
    () => ({ ...felix("felix"), FELIX_TYPHAKEYFILE: at("none.key") }),
    [/^WRONG client: key can be read: .*none\.key: ENOENT/],
  ],
];
for (const [title, env, want] of rows) {
  test(`tls-check, from files: ${title}`, async () => {
    const { code, out, err } = await runCli(["tls-check"], "", env());
    const wrong = out.split("\n").filter((line) => line.startsWith("WRONG"));
    assert.equal(wrong.length, want.length, out + err);
    for (const [index, pattern] of want.entries()) assert.match(wrong[index] ?? "", pattern);
    assert.equal(code, want.length === 0 ? 0 : 1);
  });
}

test("tls-check dials, and says what is wrong with the server that answers", async (t) => {
  const options = { key: readFileSync(at("stranger.key")), cert: readFileSync(at("stranger.pem")) };
  const sockets: TLSSocket[] = [];
  const server = createServer(options, (socket) => {
    socket.on("error", () => {});
    sockets.push(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const addr = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { code, out } = await runCli(["tls-check", "--addr", addr, "-o", "json"], "", felix("felix"));
  assert.equal(code, 1);
  const wrong = (JSON.parse(out) as TLSFinding[]).filter(({ ok }) => !ok);
  assert.deepEqual(
    wrong.map(({ side, rule }) => `${side} ${rule}`),
    ["server certificate chains to our CA", "server certificate has the name required"],
  );
});

const bad: readonly [env: Record<string, string>, message: RegExp][] = [
  [{}, /No TLS settings are given/],
  [{ FELIX_TYPHACN: "x" }, /TLS is set in part: CA file, certificate file, key file missing/],
  [{ TYPHA_CLIENTCN: "x" }, /Typha's TLS settings are set in part/],
];
for (const [env, message] of bad) {
  test(`tls-check refuses ${JSON.stringify(env)}`, async () => {
    const { code, err } = await runCli(["tls-check"], "", env);
    assert.ok(code !== 0);
    assert.match(err, message);
  });
}
