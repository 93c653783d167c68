import assert from "node:assert/strict";
import { test } from "node:test";
import type { TyphaConfig } from "./typha-config.ts";
import { loadTyphaConfig, syncPort, syncServerSettings, syncTlsSettings } from "./load-typha-config.ts";

const load = (env: Readonly<Record<string, string>>, fileText?: string): ReturnType<typeof loadTyphaConfig> =>
  loadTyphaConfig({ env, fileText, fileExists: (path) => !path.includes("missing") });

/** What a setting becomes when its variable has this text. */
const VALUES: readonly [name: keyof TyphaConfig, text: string, value: unknown][] = [
  ["DatastoreType", "FILE", "file"],
  ["DatastoreType", "Kubernetes", "kubernetes"],
  ["DatastoreType", "", undefined],
  ["EtcdEndpoints", "http://a:1, http://b:2", ["http://a:1/", "http://b:2/"]],
  ["LogFilePath", "none", ""],
  ["LogSeverityScreen", "debug", "DEBUG"],
  ["LogSeverityScreen", "none", ""],
  ["HealthEnabled", "yes", true],
  ["HealthPort", "0x10", 16],
  ["HealthPort", "65536", 9098],
  ["HealthHost", "bad host!", "localhost"],
  ["PrometheusMetricsClientAuth", "requireandverifyclientcert", "RequireAndVerifyClientCert"],
  ["SnapshotCacheMaxBatchSize", "0", 100],
  ["SnapshotCacheMaxBatchSize", "7", 7],
  ["ServerPingIntervalSecs", "0.5", 0.5],
  ["MaxConnectionsUpperLimit", "none", 0],
  ["ConnectionRebalancingMode", "none", "none"],
  ["AdminPort", "0", 0],
  ["StaleAfterSecs", "30", 30],
  ["ResumeMaxBytes", "1048576", 1048576],
];

for (const [name, text, value] of VALUES) {
  test(`loadTyphaConfig() reads ${name}="${text}"`, () => {
    const loaded = load({ [`TYPHA_${name.toUpperCase()}`]: text });
    assert.deepEqual(loaded.values[name], value);
  });
}

const DEFAULTS: Partial<TyphaConfig> = {
  EtcdAddr: "127.0.0.1:2379",
  EtcdScheme: "http",
  LogFilePath: "/var/log/calico/typha.log",
  LogSeverityFile: "INFO",
  LogSeverityScreen: "INFO",
  LogSeveritySys: "INFO",
  DebugDisableLogDropping: false,
  HealthEnabled: false,
  HealthHost: "localhost",
  HealthPort: 9098,
  PrometheusMetricsEnabled: false,
  PrometheusMetricsHost: "",
  PrometheusMetricsPort: 9093,
  PrometheusGoMetricsEnabled: true,
  PrometheusProcessMetricsEnabled: true,
  PrometheusMetricsClientAuth: "NoClientCert",
  SnapshotCacheMaxBatchSize: 100,
  ServerMaxMessageSize: 100,
  ServerMaxFallBehindSecs: 300,
  ServerNewClientFallBehindGracePeriod: 300,
  ServerMinBatchingAgeThresholdSecs: 0.01,
  ServerPingIntervalSecs: 10,
  ServerPongTimeoutSecs: 60,
  ServerHandshakeTimeoutSecs: 10,
  ServerWriteTimeoutSecs: 120,
  ServerPort: 0,
  ServerHost: "",
  DebugHost: "localhost",
  DebugPort: 0,
  ConnectionRebalancingMode: "none",
  ConnectionDropIntervalSecs: 1,
  ShutdownTimeoutSecs: 300,
  ShutdownConnectionDropIntervalMaxSecs: 1,
  MaxConnectionsUpperLimit: 10_000,
  MaxConnectionsLowerLimit: 400,
  K8sServicePollIntervalSecs: 30,
  K8sNamespace: "kube-system",
  K8sServiceName: "calico-typha",
  K8sPortName: "calico-typha",
  AdminHost: "localhost",
  AdminPort: 9097,
  StaleAfterSecs: 120,
  ResumeMaxBytes: 64 * 1024 * 1024,
  Workers: 0,
  InitialiseDatastore: "auto",
  ConnectionLimitBasis: "formula",
};

test("loadTyphaConfig() without any source gives the defaults", () => {
  const { values, warnings, errors } = load({});
  for (const [name, value] of Object.entries(DEFAULTS))
    assert.deepEqual(values[name as keyof TyphaConfig], value, name);
  assert.deepEqual([warnings, errors], [[], []]);
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
});

test("syncPort() is the well-known port unless another is set", () => {
  assert.equal(syncPort(load({}).values), 5473);
  assert.equal(syncPort(load({ TYPHA_SERVERPORT: "6000" }).values), 6000);
});
