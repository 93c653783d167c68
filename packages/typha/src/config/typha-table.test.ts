import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTyphaConfig } from "./load-typha-config.ts";
import type { TyphaConfig } from "./typha-config.ts";
import { TYPHA_TABLE } from "./typha-table.ts";

/** A type of setting: texts that it takes and what they become, and texts that it does not take. */
interface Type {
  readonly takes: readonly (readonly [text: string, value: unknown])[];
  readonly refuses: readonly string[];
  /** What `none` becomes. */
  readonly none: unknown;
}

const BOOL: Type = {
  takes: [
    ...["true", "1", "yes", "y", "t", "TRUE", "Yes"].map((text) => [text, true] as const),
    ...["false", "0", "no", "n", "f", "FALSE", "No"].map((text) => [text, false] as const),
  ],
  refuses: ["on", "2", "tru", "-1"],
  none: false,
};
const PORT: Type = {
  takes: [
    ["0", 0],
    ["65535", 65_535],
    ["0x1f90", 8080],
    ["017", 15],
  ],
  refuses: ["-1", "65536", "http", "80.5", "8 0"],
  none: 0,
};
const COUNT: Type = {
  takes: [
    ["1", 1],
    ["0x10", 16],
    ["0o17", 15],
    ["0b101", 5],
    ["010", 8],
    ["2147483647", 2_147_483_647],
  ],
  refuses: ["0", "-1", "2147483648", "1.5", "many", "1e3"],
  none: 0,
};
const SECONDS: Type = {
  takes: [
    ["1", 1],
    ["0.25", 0.25],
    [".5", 0.5],
    ["-3", -3],
    ["1e2", 100],
  ],
  refuses: ["5s", "1m", "five", "0x10", "Infinity"],
  none: 0,
};
const HOST: Type = {
  takes: [
    ["localhost", "localhost"],
    ["10.0.0.1", "10.0.0.1"],
    ["fd00::1", "fd00::1"],
    ["a_b+c-d.example", "a_b+c-d.example"],
  ],
  refuses: ["bad host", "a/b", "[::1]", "x".repeat(65)],
  none: "",
};
const TEXT: Type = { takes: [["any = thing", "any = thing"]], refuses: [], none: "" };
const FILE: Type = { takes: [["/there", "/there"]], refuses: ["/missing"], none: "" };
const NEW_FILE: Type = { takes: [["/missing", "/missing"]], refuses: [], none: "" };

function words(list: readonly string[], none: unknown = ""): Type {
  return {
    takes: list.flatMap((word) => [word, word.toLowerCase(), word.toUpperCase()].map((text) => [text, word] as const)),
    refuses: ["something-else"],
    none,
  };
}

const SEVERITY: Type = words(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]);

type Row = readonly [name: keyof TyphaConfig, type: Type, fallback: unknown];

/** Every setting, with its default. */
const ROWS: readonly Row[] = [
  [
    "EtcdAddr",
    { takes: [["etcd:2379", "etcd:2379"]], refuses: ["etcd", "[::1]:2379", "a/b:1"], none: "" },
    "127.0.0.1:2379",
  ],
  ["EtcdScheme", words(["http", "https"]), "http"],
  [
    "EtcdEndpoints",
    {
      takes: [
        ["https://a:1", ["https://a:1/"]],
        ["http://a:1/, ,http://b:2", ["http://a:1/", "http://b:2/"]],
      ],
      refuses: ["http://a:1,https://b:2", "a:1", "http://a", "http://a:1/path"],
      none: [],
    },
    [],
  ],
  ["EtcdKeyFile", FILE, ""],
  ["EtcdCertFile", FILE, ""],
  ["EtcdCaFile", FILE, ""],
  ["InitialiseDatastore", words(["auto", "always", "never"]), "auto"],
  ["LogFilePath", NEW_FILE, "/var/log/calico/typha.log"],
  ["LogSeverityFile", SEVERITY, "INFO"],
  ["LogSeverityScreen", SEVERITY, "INFO"],
  ["LogSeveritySys", SEVERITY, "INFO"],
  ["EarlyLogSeverityScreen", SEVERITY, ""],
  ["DebugDisableLogDropping", BOOL, false],
  ["HealthEnabled", BOOL, false],
  ["HealthHost", HOST, "localhost"],
  ["HealthPort", PORT, 9098],
  ["PrometheusMetricsEnabled", BOOL, false],
  ["PrometheusMetricsHost", HOST, ""],
  ["PrometheusMetricsPort", PORT, 9093],
  ["PrometheusGoMetricsEnabled", BOOL, true],
  ["PrometheusProcessMetricsEnabled", BOOL, true],
  ["PrometheusMetricsKeyFile", TEXT, ""],
  ["PrometheusMetricsCertFile", TEXT, ""],
  ["PrometheusMetricsCAFile", TEXT, ""],
  [
    "PrometheusMetricsClientAuth",
    words(["NoClientCert", "RequireAnyClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"]),
    "NoClientCert",
  ],
  ["SnapshotCacheMaxBatchSize", COUNT, 100],
  [
    "ResumeMaxBytes",
    {
      takes: [
        ["0", 0],
        ["1048576", 1_048_576],
      ],
      refuses: ["-1", "64MiB"],
      none: 0,
    },
    67_108_864,
  ],
  ["ServerMaxMessageSize", COUNT, 100],
  ["ServerMaxFallBehindSecs", SECONDS, 300],
  ["ServerNewClientFallBehindGracePeriod", SECONDS, 300],
  ["ServerMinBatchingAgeThresholdSecs", SECONDS, 0.01],
  ["ServerPingIntervalSecs", SECONDS, 10],
  ["ServerPongTimeoutSecs", SECONDS, 60],
  ["ServerHandshakeTimeoutSecs", SECONDS, 10],
  ["ServerWriteTimeoutSecs", SECONDS, 120],
  ["ServerHost", HOST, ""],
  ["ServerPort", PORT, 0],
  ["Workers", { takes: [["0", 0]], refuses: ["-1", "65"], none: 0 }, 0],
  ["AdminHost", HOST, "localhost"],
  ["AdminPort", PORT, 9097],
  ["ConsoleDir", TEXT, ""],
  ["StaleAfterSecs", SECONDS, 120],
  ["MaxConnectionsUpperLimit", COUNT, 10_000],
  ["MaxConnectionsLowerLimit", COUNT, 400],
  [
    "ConnectionRebalancingMode",
    // Here `none` is one of the words.
    words(["none", "kubernetes"], "none"),
    "none",
  ],
  ["ConnectionLimitBasis", words(["formula", "observed"]), "formula"],
  ["ConnectionLevelling", BOOL, true],
  ["ConnectionDropIntervalSecs", SECONDS, 1],
  ["ShutdownTimeoutSecs", SECONDS, 300],
  ["ShutdownConnectionDropIntervalMaxSecs", SECONDS, 1],
  ["K8sServicePollIntervalSecs", SECONDS, 30],
  ["K8sNamespace", TEXT, "kube-system"],
  ["K8sServiceName", TEXT, "calico-typha"],
  ["K8sPortName", TEXT, "calico-typha"],
  ["DebugMemoryProfilePath", NEW_FILE, ""],
  ["DebugHost", HOST, "localhost"],
  ["DebugPort", PORT, 0],
];

/** Of these the whole set must be there; see the rules of load-typha-config.test.ts. */
const TLS_ROWS: readonly Row[] = [
  ["ServerKeyFile", FILE, ""],
  ["ServerCertFile", FILE, ""],
  ["CAFile", FILE, ""],
  ["ClientCN", TEXT, ""],
  ["ClientURISAN", TEXT, ""],
];

/** The one whose bad value stops the start; see load-typha-config.test.ts. */
const DATASTORE_ROW: Row = ["DatastoreType", words(["kubernetes", "etcdv3", "file"]), undefined];

const load = (name: string, text: string): ReturnType<typeof loadTyphaConfig> =>
  loadTyphaConfig({ env: { [`TYPHA_${name.toUpperCase()}`]: text }, fileExists: (path) => path !== "/missing" });

test("TYPHA_TABLE has a row here for each of its settings", () => {
  const names = [...ROWS, ...TLS_ROWS, DATASTORE_ROW].map(([name]) => name);
  assert.deepEqual(names.toSorted(), Object.keys(TYPHA_TABLE).toSorted());
});

for (const [name, { takes, refuses, none }, fallback] of [...ROWS, ...TLS_ROWS]) {
  test(`loadTyphaConfig() takes, refuses and defaults ${name}`, () => {
    assert.deepEqual(load(name, "").values[name], fallback, "an empty text is no text");
    for (const [text, value] of takes) {
      const { values, rejected } = load(name, text);
      assert.deepEqual(values[name], value, text);
      assert.deepEqual([...rejected], [], text);
    }
    for (const text of refuses) {
      const { values, rejected, warnings } = load(name, text);
      assert.deepEqual(values[name], fallback, text);
      assert.deepEqual([...rejected], [name], text);
      assert.match(warnings[0]?.message ?? "", new RegExp(`^TYPHA_${name.toUpperCase()}: .* is used$`), text);
    }
    for (const text of ["none", "NONE", "None"]) assert.deepEqual(load(name, text).values[name], none, text);
  });
}

test("loadTyphaConfig() takes the words of DatastoreType, and stops at any other and at none", () => {
  const [name, { takes, refuses }, fallback] = DATASTORE_ROW;
  assert.deepEqual(load(name, "").values[name], fallback);
  for (const [text, value] of takes) assert.deepEqual(load(name, text).values[name], value, text);
  for (const text of [...refuses, "none"]) assert.equal(load(name, text).errors.length, 1, text);
});
