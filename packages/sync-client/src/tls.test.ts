import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { after, before, test, type TestContext } from "node:test";
import { Authority, type LeafOptions, type Pair } from "./testing/certificates.ts";
import { startClient, sync } from "./testing/fixture.ts";
import { ScriptedServer, until } from "./testing/scripted-server.ts";
import { type TLSMaterial, type TLSParameters, type TLSSource, tlsFromParameters } from "./tls.ts";

const CN = "typha-server";
const URI = "spiffe://cluster.local/typha";

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

function serve(pair: Pair): Promise<ScriptedServer> {
  return ScriptedServer.start({ ca: ours.ca, cert: pair.cert, key: pair.key });
}

function material(rule: Pick<TLSMaterial, "serverCN" | "serverURISAN">, pair: Pair = client): TLSMaterial {
  return { ca: ours.ca, cert: pair.cert, key: pair.key, ...rule };
}

const BY_NAME = { serverCN: CN };
const BY_URI = { serverURISAN: URI };
const BY_EITHER = { ...BY_NAME, ...BY_URI };

/** The server's certificate, and whether a client that requires the name, the URI, or either accepts it. */
const SERVERS: readonly (readonly [string, LeafOptions, boolean, boolean, boolean])[] = [
  ["neither", {}, false, false, false],
  ["the name", { commonName: CN }, true, false, true],
  ["the URI", { uri: URI }, false, true, true],
  ["both", { commonName: CN, uri: URI }, true, true, true],
  ["a bad name and the URI", { commonName: "typha-other", uri: URI }, false, true, true],
  ["the name and a bad URI", { commonName: CN, uri: "spiffe://other" }, true, false, true],
  ["both bad", { commonName: "typha-other", uri: "spiffe://other" }, false, false, false],
];

/** Why a client of this material does not get to the server. */
async function refusal(
  t: TestContext,
  server: ScriptedServer,
  tls: TLSSource,
): Promise<{ code: string; message: string }> {
  const fixture = startClient([server.address], { tls });
  t.after(() => fixture.client.stop());
  await until(() => fixture.client.state().lastError !== undefined, "the client gave up");
  const { lastError } = fixture.client.state();
  assert.ok(lastError);
  return lastError;
}

for (const [name, leaf, byName, byURI, byEither] of SERVERS)
  test(`a server whose certificate has ${name}`, async (t) => {
    const server = await serve(ours.issue(leaf));
    t.after(() => server.close());
    for (const [rule, isAccepted] of [
      [BY_NAME, byName],
      [BY_URI, byURI],
      [BY_EITHER, byEither],
    ] as const) {
      if (isAccepted) {
        const fixture = startClient([server.address], { tls: material(rule) });
        t.after(() => fixture.client.stop());
        await sync(fixture, server);
      } else {
        const accepted = server.accepted;
        const { code, message } = await refusal(t, server, material(rule));
        assert.equal(code, "SYNC_CLIENT_TLS_IDENTITY");
        for (const wanted of Object.values(rule)) assert.ok(message.includes(wanted), message);
        assert.equal(server.accepted, accepted, "not a byte of the protocol was spoken");
      }
    }
  });

test("a server of another authority is refused", async (t) => {
  const pair = foreign.issue({ commonName: CN, uri: URI });
  const server = await serve(pair);
  t.after(() => server.close());
  const { code, message } = await refusal(t, server, material(BY_EITHER));
  assert.equal(code, "SYNC_CLIENT_TLS_UNTRUSTED");
  assert.match(message, /Server certificate refused, 127\.0\.0\.1:\d+: /);
});

test("a server whose certificate is out of date is refused", async (t) => {
  const server = await serve(ours.issue({ commonName: CN, isExpired: true }));
  t.after(() => server.close());
  const { code, message } = await refusal(t, server, material(BY_NAME));
  assert.equal(code, "SYNC_CLIENT_TLS_UNTRUSTED");
  assert.match(message, /expired/);
});

test("a client whose certificate the server does not trust learns that it is the client's", async (t) => {
  const server = await serve(ours.issue({ commonName: CN }));
  t.after(() => server.close());
  const { code } = await refusal(t, server, material(BY_NAME, foreign.issue({ commonName: "typha-client" })));
  assert.equal(code, "SYNC_CLIENT_TLS_REFUSED");
  assert.equal(server.accepted, 0);
});

test("a client and a server that disagree about TLS do not understand each other", async (t) => {
  const plain = await ScriptedServer.start();
  const secure = await serve(ours.issue({ commonName: CN }));
  t.after(() => Promise.all([plain.close(), secure.close()]));
  assert.equal((await refusal(t, plain, material(BY_NAME))).code, "SYNC_CLIENT_UPGRADE");
  const fixture = startClient([secure.address]);
  t.after(() => fixture.client.stop());
  await until(() => fixture.client.state().lastError !== undefined, "the client gave up");
  assert.equal(fixture.client.state().lastError?.code, "SYNC_CLIENT_CONNECT");
  assert.equal(plain.accepted + secure.accepted, 0);
});

test("material that cannot be used is named, and never replaced by plain TCP", async (t) => {
  const server = await ScriptedServer.start();
  t.after(() => server.close());
  const other = ours.issue({ commonName: "other" });
  const bad: readonly (readonly [string, TLSSource, string])[] = [
    ["a key of another certificate", { ...material(BY_NAME), key: other.key }, "SYNC_CLIENT_TLS_MATERIAL"],
    ["no PEM", { ...material(BY_NAME), cert: "nonsense" }, "SYNC_CLIENT_TLS_MATERIAL"],
    ["no identity", material({}), "SYNC_CLIENT_TLS_INCOMPLETE"],
    ["a source that fails", () => Promise.reject(new Error("no vault")), "SYNC_CLIENT_TLS_MATERIAL"],
  ];
  for (const [name, tls, wanted] of bad) assert.equal((await refusal(t, server, tls)).code, wanted, name);
  assert.equal(server.accepted, 0);
});

test("tlsFromParameters() reads the files at each dial", async (t) => {
  const pair = ours.issue({ commonName: CN });
  const server = await serve(pair);
  t.after(() => server.close());
  const files = ours.issue({ commonName: "typha-client" });
  const { cert } = files;
  rmSync(files.certFile);
  const tls = tlsFromParameters({
    caFile: ours.caFile,
    certFile: files.certFile,
    keyFile: files.keyFile,
    serverCN: CN,
  });
  assert.ok(tls);
  const fixture = startClient([server.address], { tls });
  t.after(() => fixture.client.stop());
  await until(() => fixture.client.state().phase === "waiting", "the client waits");
  assert.equal(fixture.client.state().lastError?.code, "SYNC_CLIENT_TLS_MATERIAL");
  assert.ok(fixture.client.state().lastError?.message.includes(files.certFile));
  writeFileSync(files.certFile, cert);
  await fixture.clock.advance(400);
  await sync(fixture, server);
});

const ALL: TLSParameters = { caFile: "ca", certFile: "cert", keyFile: "key" };
/** Parameters, and what is missing; undefined where they are whole or absent. */
const PARAMETERS: readonly (readonly [string, TLSParameters, readonly string[] | undefined])[] = [
  ["nothing", {}, undefined],
  ["only empty strings", { caFile: "", certFile: "", keyFile: "", serverCN: "", serverURISAN: "" }, undefined],
  ["the files and a name", { ...ALL, serverCN: "a" }, undefined],
  ["the files and a URI", { ...ALL, serverURISAN: "a" }, undefined],
  ["everything", { ...ALL, serverCN: "a", serverURISAN: "b" }, undefined],
  ["one file", { caFile: "ca" }, ["certificate file", "key file", "server common name or URI"]],
  ["a name alone", { serverCN: "a" }, ["CA file", "certificate file", "key file"]],
  ["a URI alone", { serverURISAN: "a" }, ["CA file", "certificate file", "key file"]],
  ["the files without identity", ALL, ["server common name or URI"]],
  ["no CA", { ...ALL, caFile: "", serverCN: "a" }, ["CA file"]],
  ["no certificate", { ...ALL, certFile: undefined, serverCN: "a" }, ["certificate file"]],
  ["no key", { ...ALL, keyFile: "", serverCN: "a" }, ["key file"]],
];

for (const [name, parameters, missing] of PARAMETERS)
  test(`tlsFromParameters() with ${name}`, () => {
    if (missing !== undefined)
      assert.throws(() => tlsFromParameters(parameters), { code: "SYNC_CLIENT_TLS_INCOMPLETE", data: { missing } });
    else assert.equal(tlsFromParameters(parameters) === undefined, !Object.values(parameters).some(Boolean));
  });
