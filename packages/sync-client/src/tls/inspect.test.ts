import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemClock } from "@bulrush/base";
import { Authority, type Pair } from "../testing/certificates.ts";
import { ScriptedServer } from "../testing/scripted-server.ts";
import type { TLSMaterial } from "../tls.ts";
import { inspectFiles, type TLSFinding } from "./inspect-files.ts";
import { identityFinding, inspectServer } from "./inspect-server.ts";

let ours: Authority;
let foreign: Authority;
let client: Pair;
before(() => {
  ours = new Authority("ours");
  foreign = new Authority("foreign");
  client = ours.issue({ commonName: "typha-client" });
});
after(() => {
  ours.remove();
  foreign.remove();
});

/** What does not hold, as "side rule: detail". */
function wrong(findings: readonly TLSFinding[]): string[] {
  return findings.filter(({ ok }) => !ok).map(({ side, rule, detail }) => `${side} ${rule}: ${detail}`);
}

test("inspectFiles() finds nothing wrong with good files, and says until when they are good", async () => {
  const files = { caFile: ours.caFile, certFile: client.certFile, keyFile: client.keyFile };
  const { findings, certificate } = await inspectFiles("client", files, Date.now());
  assert.deepEqual(wrong(findings), []);
  assert.match(certificate?.subject ?? "", /CN=typha-client/);
  const dates = findings.find(({ rule }) => rule === "certificate is in its dates");
  assert.ok(Date.parse(dates?.validTo ?? "") > Date.now());
  assert.match(dates?.detail ?? "", /CN=typha-client: valid until 20.*Z \([01] days\)/);
});

test("inspectFiles() names the file, the rule and the date of what is wrong", async () => {
  const expired = ours.issue({ commonName: "old", isExpired: true });
  const other = foreign.issue({ commonName: "stranger" });
  const empty = join(ours.folder, "empty.pem");
  writeFileSync(empty, "nothing\n");
  const rows: readonly [caFile: string, certFile: string, keyFile: string, want: readonly RegExp[]][] = [
    [
      ours.caFile,
      expired.certFile,
      expired.keyFile,
      [/^server certificate is in its dates: .*CN=old: expired at 20.*Z$/],
    ],
    [
      ours.caFile,
      client.certFile,
      expired.keyFile,
      [/^server key fits certificate: .*leaf-\d+\.key is not the key of /],
    ],
    [
      ours.caFile,
      other.certFile,
      other.keyFile,
      [/certificate chains to the CA: .*stranger was issued by CN=foreign, which is not among: CN=ours/],
    ],
    [empty, client.certFile, client.keyFile, [/CA file can be read: .*empty\.pem: it has no certificate in PEM form/]],
    [ours.caFile, client.certFile, `${client.keyFile}.gone`, [/key can be read: .*\.gone: ENOENT/]],
  ];
  for (const [caFile, certFile, keyFile, want] of rows) {
    const { findings } = await inspectFiles("server", { caFile, certFile, keyFile }, Date.now());
    const found = wrong(findings);
    assert.equal(found.length, want.length, found.join("\n"));
    for (const [index, pattern] of want.entries()) assert.match(found[index] ?? "", pattern);
  }
  const files = { caFile: ours.caFile, certFile: client.certFile, keyFile: client.keyFile };
  const early = await inspectFiles("client", files, Date.now() - 30 * 86_400_000);
  assert.match(wrong(early.findings).join("\n"), /CA is in its dates: CN=ours: not valid before 20/);
});

async function inspect(
  t: { after(end: () => Promise<void>): void },
  pair: Pair,
  tls: Partial<TLSMaterial> = {},
  silenceMs = 30_000,
) {
  const server = await ScriptedServer.start({ ca: ours.ca, cert: pair.cert, key: pair.key });
  t.after(() => server.close());
  const material: TLSMaterial = { ca: ours.ca, cert: client.cert, key: client.key, serverCN: "typha-server", ...tls };
  const clock = systemClock({ keepAlive: true });
  const options = { address: server.address, tls: material, clock, timeoutMs: 60_000, silenceMs };
  return { server, findings: inspectServer(options) };
}

test("inspectServer() finds nothing wrong with a good server that says nothing against us", async (t) => {
  const { findings } = await inspect(t, ours.issue({ commonName: "typha-server" }), {}, 1);
  const all = await findings;
  assert.deepEqual(wrong(all), []);
  assert.equal(all.at(-1)?.rule, "server accepts our certificate");
});

test("inspectServer() tells what is wrong with the server's certificate", async (t) => {
  const rows: readonly [pair: Pair, tls: Partial<TLSMaterial>, want: RegExp][] = [
    [
      ours.issue({ commonName: "other" }),
      {},
      /^server certificate has the name required: .*"other", required is "typha-server"/,
    ],
    [foreign.issue({ commonName: "typha-server" }), {}, /^server certificate chains to our CA: UNABLE_TO/],
    [
      ours.issue({ commonName: "typha-server", isExpired: true }),
      {},
      /^server certificate is in its dates: .*expired at 20/m,
    ],
  ];
  for (const [pair, tls, want] of rows) {
    const { findings } = await inspect(t, pair, tls);
    assert.match(wrong(await findings).join("\n"), want);
  }
});

test("inspectServer() tells that the server does not take our certificate, and why", async (t) => {
  const pair = ours.issue({ commonName: "typha-server" });
  const polite = await inspect(t, pair);
  const peer = await polite.server.accept();
  peer.send({ type: "reject", code: "identity", reason: "Certificate has common name x", retryAfterMs: 0, peers: [] });
  assert.deepEqual(wrong(await polite.findings), [
    "client server accepts our certificate: Certificate has common name x",
  ]);
  const stranger = foreign.issue({ commonName: "typha-client" });
  const rude = await inspect(t, pair, { cert: stranger.cert, key: stranger.key });
  assert.match(
    wrong(await rude.findings).join("\n"),
    /^client server accepts our certificate: SYNC_CLIENT_TLS_REFUSED|^server TLS handshake/,
  );
});

test("inspectServer() says that nobody answers", async (t) => {
  const { server, findings } = await inspect(t, ours.issue({ commonName: "typha-server" }), {}, 1);
  await findings;
  const { address } = server;
  await server.close();
  t.after(() => Promise.resolve());
  const tls = { ca: ours.ca, cert: client.cert, key: client.key, serverCN: "x" };
  const gone = await inspectServer({ address, tls, clock: systemClock({ keepAlive: true }) });
  assert.match(wrong(gone).join("\n"), /^server TLS handshake: 127.*ECONNREFUSED/);
});

test("identityFinding() is the rule of the protocol", async () => {
  const files = { caFile: ours.caFile, certFile: client.certFile, keyFile: client.keyFile };
  const { certificate } = await inspectFiles("client", files, Date.now());
  assert.ok(certificate);
  assert.equal(identityFinding("client", certificate, { commonName: "typha-client" }).ok, true);
  assert.match(identityFinding("client", certificate, { uri: "spiffe://x" }).detail, /has no URI, required is/);
});
