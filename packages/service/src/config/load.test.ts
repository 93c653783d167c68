import assert from "node:assert/strict";
import { test } from "node:test";
import { loadConfig, type LoadConfigOptions, type LoadedConfig } from "./load.ts";
import { defineConfig, type ConfigTable } from "./parameter.ts";
import { bool, file, int, oneOf, optional, port, seconds, text, textList } from "./types.ts";

interface Sample {
  readonly DatastoreType: string;
  readonly HealthEnabled: boolean;
  readonly HealthPort: number;
  readonly MaxConnectionsUpperLimit: number;
  readonly ServerPingIntervalSecs: number;
  readonly ConnectionRebalancingMode: string;
  readonly LogFilePath: string;
  readonly CAFile: string;
  readonly ClientCN: string;
  readonly InterfacePrefix: readonly string[];
  readonly VXLANEnabled: boolean | undefined;
  readonly EtcdPassword: string;
  readonly UsageReportingEnabled: boolean;
}

const TABLE: ConfigTable<Sample> = defineConfig({
  DatastoreType: { type: oneOf(["kubernetes", "etcdv3"]), default: "etcdv3", doc: "", dieOnFail: true, nonZero: true },
  HealthEnabled: { type: bool(), default: false, doc: "" },
  HealthPort: { type: port(), default: 9098, doc: "" },
  MaxConnectionsUpperLimit: { type: int({ min: 1 }), default: 10000, doc: "" },
  ServerPingIntervalSecs: { type: seconds(), default: 10, doc: "" },
  ConnectionRebalancingMode: { type: oneOf(["none", "kubernetes"]), default: "none", doc: "" },
  LogFilePath: { type: text(), default: "/var/log/calico/typha.log", doc: "", local: true },
  CAFile: { type: file({ mustExist: true }), default: "", doc: "" },
  ClientCN: { type: text(), default: "", doc: "" },
  InterfacePrefix: { type: textList(), default: ["cali"], doc: "" },
  VXLANEnabled: { type: optional(bool()), default: undefined, doc: "" },
  EtcdPassword: { type: text(), default: "", doc: "" },
  UsageReportingEnabled: { type: bool(), default: true, doc: "", noEffect: "nothing is ever reported" },
});

function load(options: Partial<LoadConfigOptions<Sample>>): LoadedConfig<Sample> {
  return loadConfig(TABLE, { prefix: "TYPHA_", env: {}, fileExists: (path) => path === "/exists", ...options });
}

const messages = (problems: readonly { readonly message: string }[]): string[] => problems.map((one) => one.message);

test("loadConfig() gives the defaults, when nothing is set", () => {
  const { values, origins, warnings, errors } = load({});
  assert.equal(values.HealthPort, 9098);
  assert.deepEqual(values.InterfacePrefix, ["cali"]);
  assert.equal(values.VXLANEnabled, undefined);
  assert.deepEqual([origins.size, warnings, errors], [0, [], []]);
});

const accepted: readonly [title: string, options: Partial<LoadConfigOptions<Sample>>, want: Partial<Sample>][] = [
  ["upper case", { env: { TYPHA_HEALTHENABLED: "true" } }, { HealthEnabled: true }],
  ["any case of prefix and name", { env: { TyPhA_hEaLtHeNaBlEd: "yes" } }, { HealthEnabled: true }],
  ["a value with an equals sign", { env: { TyPHA_CLIENTCN: "a=b" } }, { ClientCN: "a=b" }],
  ["an empty value, which is ignored", { env: { TYPHA_HEALTHPORT: "" } }, { HealthPort: 9098 }],
  ["an empty variable over a file", { env: { TYPHA_HEALTHPORT: " " }, fileText: "HealthPort=1" }, { HealthPort: 1 }],
  ["none as zero, not as default", { env: { TYPHA_HEALTHPORT: "None" } }, { HealthPort: 0 }],
  ["none for a text", { env: { TYPHA_LOGFILEPATH: "none" } }, { LogFilePath: "" }],
  ["none for a list", { env: { TYPHA_INTERFACEPREFIX: "NONE" } }, { InterfacePrefix: [] }],
  ["none below the range", { env: { TYPHA_MAXCONNECTIONSUPPERLIMIT: "none" } }, { MaxConnectionsUpperLimit: 0 }],
  [
    "none where it is a word",
    { env: { TYPHA_CONNECTIONREBALANCINGMODE: "NONE" } },
    { ConnectionRebalancingMode: "none" },
  ],
  ["environment over file", { env: { TYPHA_HEALTHPORT: "1" }, fileText: "HealthPort=2" }, { HealthPort: 1 }],
  [
    "environment over file whatever the file's spelling",
    { env: { TYPHA_HEALTHPORT: "1" }, fileText: "healthport=2" },
    { HealthPort: 1 },
  ],
  ["the last duplicate of a file", { fileText: "HealthPort=1\n[x]\nhealthPORT=2" }, { HealthPort: 2 }],
  [
    "file over datastore, strongest layer first",
    {
      fileText: "HealthPort = 7",
      layers: [
        { name: "host", values: new Map([["clientcn", "host"]]) },
        {
          name: "global",
          values: new Map([
            ["ClientCN", "global"],
            ["HealthPort", "8"],
            ["HealthEnabled", "true"],
          ]),
        },
      ],
    },
    { HealthPort: 7, ClientCN: "host", HealthEnabled: true },
  ],
  [
    "nothing from the datastore for a local setting",
    { layers: [{ name: "global", values: new Map([["LogFilePath", "/x"]]) }] },
    { LogFilePath: "/var/log/calico/typha.log" },
  ],
  ["a file that exists", { env: { TYPHA_CAFILE: "/exists" } }, { CAFile: "/exists" }],
  ["an optional value", { env: { TYPHA_VXLANENABLED: "false" } }, { VXLANEnabled: false }],
];
for (const [title, options, want] of accepted) {
  test(`loadConfig() takes ${title}`, () => {
    const { values, errors } = load(options);
    for (const [name, value] of Object.entries(want)) assert.deepEqual(values[name as keyof Sample], value, name);
    assert.deepEqual(errors, []);
  });
}

test("loadConfig() warns and uses the default, when a value is bad", () => {
  const { values, rejected, warnings, errors } = load({
    env: { TYPHA_HEALTHPORT: "65536", TYPHA_CAFILE: "/missing" },
    fileText: "\nMaxConnectionsUpperLimit = many",
    fileName: "/etc/calico/typha.cfg",
  });
  assert.deepEqual([values.HealthPort, values.CAFile, values.MaxConnectionsUpperLimit], [9098, "", 10000]);
  assert.deepEqual([...rejected].sort(), ["CAFile", "HealthPort", "MaxConnectionsUpperLimit"]);
  assert.deepEqual(messages(warnings), [
    'TYPHA_CAFILE: "/missing" does not exist; the default (none) is used',
    'TYPHA_HEALTHPORT: "65536" is outside 0 to 65535; the default 9098 is used',
    'MaxConnectionsUpperLimit in line 2 of /etc/calico/typha.cfg: "many" is not a whole number; the default 10000 is used',
  ]);
  assert.deepEqual(errors, []);
});

test("loadConfig() gives an error, when a value that may not be bad is", () => {
  assert.match(messages(load({ env: { TYPHA_DATASTORETYPE: "redis" } }).errors)[0] ?? "", /"redis" is not one of/);
  assert.match(messages(load({ env: { TYPHA_DATASTORETYPE: "none" } }).errors)[0] ?? "", /needs a value/);
});

test("loadConfig() names the nearest setting, when a name is unknown", () => {
  const { warnings } = load({ env: { TYPHA_HEALTH_PROT: "1", TYPHA_SOMETHINGELSEENTIRELY: "1", OTHER: "x" } });
  assert.deepEqual(messages(warnings), [
    "TYPHA_HEALTH_PROT: unknown setting, ignored; did you mean HealthPort?",
    "TYPHA_SOMETHINGELSEENTIRELY: unknown setting, ignored",
  ]);
});

test("loadConfig() is silent, when Kubernetes injected the variable for a Service", () => {
  const env = {
    TYPHA_SERVICE_HOST: "10.96.0.7",
    TYPHA_SERVICE_PORT: "5473",
    TYPHA_SERVICE_PORT_CALICO_TYPHA: "5473",
    TYPHA_PORT: "tcp://10.96.0.7:5473",
    TYPHA_PORT_5473_TCP: "tcp://10.96.0.7:5473",
    TYPHA_PORT_5473_TCP_PROTO: "tcp",
    TYPHA_PORT_5473_TCP_PORT: "5473",
    TYPHA_PORT_5473_TCP_ADDR: "10.96.0.7",
    TYPHA_METRICS_SERVICE_HOST: "10.96.0.8",
    TYPHA_METRICS_PORT: "tcp://10.96.0.8:9093",
  };
  assert.deepEqual(load({ env }).warnings, []);
  assert.equal(load({ env: { TYPHA_SERVER_PORT: "5473" } }).warnings.length, 1);
});

test("loadConfig() warns of the earlier line, when a name stands twice in the file", () => {
  const { warnings } = load({ fileText: "HealthPort=1\nhealthport=2", fileName: "f" });
  assert.deepEqual(messages(warnings), [
    "healthport in line 2 of f: set before (HealthPort in line 1 of f); the last one counts",
  ]);
});

test("loadConfig() gives an error with the line, when the file is malformed", () => {
  const { errors, values } = load({ fileText: "HealthPort=1\njust words\n", fileName: "f" });
  assert.deepEqual(messages(errors), ["Line 2 of f: Not a name = value"]);
  assert.equal(values.HealthPort, 1);
});

test("loadConfig() shows no secret, when it names the source of a value", () => {
  const { values, origins } = load({ env: { TYPHA_ETCDPASSWORD: "hunter2", TYPHA_HEALTHPORT: "0x10" } });
  assert.equal(values.EtcdPassword, "hunter2");
  assert.deepEqual(origins.get("EtcdPassword"), { source: "environment", text: "(redacted)" });
  assert.deepEqual(origins.get("HealthPort"), { source: "environment", text: "0x10" });
});

test("loadConfig() says so, when a setting has no effect", () => {
  const { warnings } = load({ env: { TYPHA_USAGEREPORTINGENABLED: "true" } });
  assert.deepEqual(messages(warnings), [
    "TYPHA_USAGEREPORTINGENABLED: accepted, no effect, because nothing is ever reported",
  ]);
});

test("loadConfig() runs the rules on the values, when no single one is in error", () => {
  const rules = (values: Sample): string[] => (values.CAFile === "" ? ["CAFile is needed"] : []);
  assert.deepEqual(load({ rules }).errors, [{ name: "", source: "rules", message: "CAFile is needed" }]);
  assert.deepEqual(load({ rules, env: { TYPHA_CAFILE: "/exists" } }).errors, []);
});

test("loadConfig() picks the same one every time, when the environment has two spellings", () => {
  for (const env of [
    { TYPHA_CLIENTCN: "upper", typha_clientcn: "lower" },
    { typha_clientcn: "lower", TYPHA_CLIENTCN: "upper" },
  ])
    assert.equal(load({ env }).values.ClientCN, "upper");
});
