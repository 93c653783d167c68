import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTyphaConfig, syncPort, syncServerSettings, syncTlsSettings } from "./load-typha-config.ts";

const load = (env: Readonly<Record<string, string>>, fileText?: string): ReturnType<typeof loadTyphaConfig> =>
  loadTyphaConfig({ env, fileText, fileExists: (path) => !path.includes("missing") });

test("loadTyphaConfig() without any source has nothing to say", () => {
  const { warnings, errors, origins } = load({});
  assert.deepEqual([warnings, errors, origins.size], [[], [], 0]);
});

test("loadTyphaConfig() takes a variable of any case, with its value as it is, before the file", () => {
  const { values, origins } = load(
    { TyPHA_clientcn: "a=b" },
    "[global]\nCLIENTCN = file\nHealthPort = 1\n[x]\nHealthPort = 2\n",
  );
  assert.equal(values.ClientCN, "a=b");
  assert.equal(values.HealthPort, 2, "the last duplicate wins, over sections");
  assert.equal(origins.get("ClientCN")?.source, "environment");
});

test("loadTyphaConfig() warns of unknown names with the nearest one, and not of service links", () => {
  const { warnings, errors } = load({
    TYPHA_HEALTHPROT: "1",
    TYPHA_SERVICE_HOST: "10.0.0.1",
    TYPHA_PORT_5473_TCP: "tcp://10.0.0.1:5473",
    TYPHA_PORT: "tcp://10.0.0.1:5473",
  });
  assert.deepEqual(errors, []);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]?.message ?? "", /TYPHA_HEALTHPROT.*HealthPort/);
});

test("loadTyphaConfig() stops at a datastore type that it does not know, or at none", () => {
  for (const text of ["oracle", "none"])
    assert.match(load({ TYPHA_DATASTORETYPE: text }).errors[0]?.message ?? "", /TYPHA_DATASTORETYPE/);
});

test("loadTyphaConfig() says which settings are accepted without effect", () => {
  const { warnings } = load({ TYPHA_DEBUGPORT: "6060" });
  assert.match(warnings[0]?.message ?? "", /accepted, no effect, because/);
});

const FILES = { TYPHA_SERVERKEYFILE: "k", TYPHA_SERVERCERTFILE: "c", TYPHA_CAFILE: "ca" };
const TLS: readonly [name: string, env: Readonly<Record<string, string>>, missing: RegExp | ""][] = [
  ["one file", { TYPHA_SERVERKEYFILE: "k" }, /ServerCertFile, CAFile, ClientCN or ClientURISAN/],
  ["three files without an identity", FILES, /missing: ClientCN or ClientURISAN/],
  ["only an identity", { TYPHA_CLIENTCN: "x" }, /ServerKeyFile, ServerCertFile, CAFile/],
  ["a file that does not exist", { ...FILES, TYPHA_CAFILE: "missing", TYPHA_CLIENTCN: "x" }, /CAFile/],
  ["files and a common name", { ...FILES, TYPHA_CLIENTCN: "x" }, ""],
  ["files and a URI", { ...FILES, TYPHA_CLIENTURISAN: "x" }, ""],
  ["files and both", { ...FILES, TYPHA_CLIENTCN: "x", TYPHA_CLIENTURISAN: "y" }, ""],
  ["nothing", {}, ""],
];

for (const [name, env, missing] of TLS) {
  test(`loadTyphaConfig() ${missing === "" ? "accepts" : "refuses"} TLS with ${name}`, () => {
    const { errors, values } = load(env);
    if (missing === "") {
      assert.deepEqual(errors, []);
      assert.equal(syncTlsSettings(values) !== undefined, "TYPHA_CAFILE" in env);
    } else assert.match(errors.map(({ message }) => message).join("\n"), missing);
  });
}

test("syncTlsSettings() requires what is set, and only that", () => {
  const { values } = load({ ...FILES, TYPHA_CLIENTURISAN: "spiffe://x" });
  assert.deepEqual(syncTlsSettings(values)?.clientRule, { uri: "spiffe://x" });
});

test("syncServerSettings() turns seconds into milliseconds and bad times into defaults", () => {
  const { values } = load({
    TYPHA_SERVERPINGINTERVALSECS: "20",
    TYPHA_SERVERPONGTIMEOUTSECS: "40",
    TYPHA_SERVERWRITETIMEOUTSECS: "-1",
    TYPHA_SERVERHANDSHAKETIMEOUTSECS: "0",
    TYPHA_SHUTDOWNTIMEOUTSECS: "2.5",
  });
  const settings = syncServerSettings(values, "me");
  assert.equal(settings.pongTimeoutMs, 120_000, "at most twice the ping interval counts as six times it");
  assert.equal(settings.writeTimeoutMs, 120_000);
  assert.equal(settings.handshakeTimeoutMs, 10_000);
  assert.equal(settings.shutdownTimeoutMs, 2500);
  const rare = syncServerSettings(load({ TYPHA_SERVERPINGINTERVALSECS: "7200" }).values, "me");
  assert.equal(rare.pingIntervalMs, 600_000, "clients wait for no ping that comes less often");
});

test("syncPort() is the well-known port unless another is set", () => {
  assert.equal(syncPort(load({}).values), 5473);
  assert.equal(syncPort(load({ TYPHA_SERVERPORT: "6000" }).values), 6000);
});
