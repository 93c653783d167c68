import assert from "node:assert/strict";
import { test } from "node:test";
import { FELIX_FIELDS, felixWithoutEffect } from "@bulrush/model";
import { changedSettings, changeTakenBy, withLastGood } from "./config-change.ts";
import { dataplaneTexts, FELIX_CONFIG, loadFelixConfig, type LocalSources } from "./felix-config.ts";

const local = (env: Record<string, string>, fileText?: string): LocalSources => ({
  env,
  fileText,
  fileName: "felix.cfg",
});
const layer = (values: Record<string, string>) => ({
  name: "FelixConfiguration (global)",
  values: new Map(Object.entries(values)),
});

test("loadFelixConfig() has upstream's defaults", () => {
  const { values } = loadFelixConfig(local({}));
  assert.deepEqual(
    [values.HealthPort, values.PrometheusMetricsPort, values.TyphaReadTimeout, values.DataplaneWatchdogTimeout],
    [9099, 9091, 30, 90],
  );
  assert.deepEqual(
    [values.InterfacePrefix, values.DefaultEndpointToHostAction, values.NftablesMarkMask, values.VXLANPort],
    [["cali"], "DROP", 0xffff0000, 4789],
  );
});

test("loadFelixConfig() takes the environment over the file over the datastore", () => {
  const layers = [layer({ InterfacePrefix: "c", VXLANPort: "3", LogPrefix: "ours" })];
  const { values } = loadFelixConfig(local({ FELIX_INTERFACEPREFIX: "a" }, "interfaceprefix=b\nVXLANPort=2"), layers);
  assert.deepEqual([values.InterfacePrefix, values.VXLANPort, values.LogPrefix], [["a"], 2, "ours"]);
});

test("loadFelixConfig() ignores local settings in the datastore", () => {
  const { values } = loadFelixConfig(local({}), [layer({ FelixHostname: "other", TyphaAddr: "evil:1" })]);
  assert.notEqual(values.FelixHostname, "other");
  assert.equal(values.TyphaAddr, "");
});

test("loadFelixConfig() wants all TLS settings or none", () => {
  const rows: readonly [env: Record<string, string>, want: RegExp | undefined][] = [
    [{}, undefined],
    [{ FELIX_TYPHACN: "typha" }, /missing: TyphaKeyFile, TyphaCertFile, TyphaCAFile$/],
    [
      { FELIX_TYPHAKEYFILE: "/etc/hosts", FELIX_TYPHACERTFILE: "/etc/hosts", FELIX_TYPHACAFILE: "/etc/hosts" },
      /missing: TyphaCN or TyphaURISAN$/,
    ],
    [
      {
        FELIX_TYPHAKEYFILE: "/etc/hosts",
        FELIX_TYPHACERTFILE: "/etc/hosts",
        FELIX_TYPHACAFILE: "/etc/hosts",
        FELIX_TYPHAURISAN: "spiffe://x",
      },
      undefined,
    ],
  ];
  for (const [env, want] of rows) {
    const { errors } = loadFelixConfig(local(env));
    if (want === undefined) assert.deepEqual(errors, []);
    else assert.match(errors[0]?.message ?? "", want);
  }
});

test("loadFelixConfig() never takes a TLS file that is missing for none", () => {
  const { errors } = loadFelixConfig(local({ FELIX_TYPHAKEYFILE: "/nonexistent" }));
  assert.match(errors[0]?.message ?? "", /FELIX_TYPHAKEYFILE: "\/nonexistent" does not exist/);
});

test("dataplaneTexts() has what is set and well written, as its type writes it", () => {
  const rows: readonly [name: string, text: string, want: string | undefined][] = [
    ["InterfacePrefix", "eni, veth", "eni,veth"],
    ["VXLANPort", "abc", undefined],
    ["VXLANPort", "0x10", "16"],
    ["FailsafeInboundHostPorts", "none", "none"],
    ["Ipv6Support", "none", "false"],
    ["IPForwarding", "disabled", "Disabled"],
    ["HealthPort", "1", undefined],
    ["RouteRefreshInterval", "", undefined],
  ];
  for (const [name, text, want] of rows)
    assert.equal(dataplaneTexts(loadFelixConfig(local({ [`FELIX_${name}`]: text }))).get(name), want, name);
  const { values } = layer({ NftablesRefreshInterval: "60" });
  assert.deepEqual(
    [...dataplaneTexts(loadFelixConfig(local({}), [{ name: "l", values }]))].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ["EndpointStatusPathPrefix", "/var/run/calico"],
      ["MTUFile", "/var/lib/calico/mtu"],
      ["NftablesRefreshInterval", "60"],
    ],
    "where to write files is told whether it is set or not",
  );
});

test("dataplaneTexts() keeps a setting that only got a warning", () => {
  const loaded = loadFelixConfig(local({}, "VXLANPort = 1\nVXLANPort = 2\n"));
  assert.equal(loaded.warnings.length, 1);
  assert.equal(dataplaneTexts(loaded).get("VXLANPort"), "2");
});

test("changedSettings() names what differs, but not what is without effect or unknown", () => {
  const before = loadFelixConfig(local({}), [layer({ VXLANPort: "1" })]);
  const after = loadFelixConfig(local({}), [
    layer({ VXLANPort: "2", LogPrefix: "x", HealthTimeoutOverrides: "a=1", UsageReportingEnabled: "true", Other: "1" }),
  ]);
  assert.deepEqual(changedSettings(before, after), ["HealthTimeoutOverrides", "LogPrefix", "VXLANPort"]);
  assert.deepEqual(changedSettings(before, before), []);
});

test("changedSettings() leaves out a default that is now said, and one that is said no more", () => {
  const silent = loadFelixConfig(local({}));
  const said = loadFelixConfig(local({}), [layer({ FloatingIPs: "Disabled", VXLANPort: "4789" })]);
  assert.deepEqual(changedSettings(silent, said), []);
  assert.deepEqual(changedSettings(said, silent), []);
  const other = loadFelixConfig(local({}), [layer({ FloatingIPs: "Enabled", VXLANPort: "4789" })]);
  assert.deepEqual(changedSettings(said, other), ["FloatingIPs"]);
  assert.deepEqual(changedSettings(other, silent), ["FloatingIPs"]);
});

test("withLastGood() keeps what was said before where it cannot be read any more", () => {
  const before = loadFelixConfig(local({}), [layer({ VXLANPort: "1", DefaultEndpointToHostAction: "ACCEPT" })]);
  const after = loadFelixConfig(local({}), [layer({ VXLANPort: "many", DefaultEndpointToHostAction: "DORP" })]);
  assert.deepEqual([...after.rejected].sort(), ["DefaultEndpointToHostAction", "VXLANPort"]);
  const kept = withLastGood(before, after);
  assert.deepEqual([kept.values.VXLANPort, kept.values.DefaultEndpointToHostAction], [1, "ACCEPT"]);
  assert.equal(dataplaneTexts(kept).get("VXLANPort"), "1");
  assert.deepEqual(changedSettings(before, kept), []);
  const mended = loadFelixConfig(local({}), [layer({ VXLANPort: "2" })]);
  assert.deepEqual(changedSettings(kept, mended), ["DefaultEndpointToHostAction", "VXLANPort"]);
});

test("changeTakenBy() says who takes up a change", () => {
  const names = ["LogSeverityScreen", "LogPrefix", "RouteSource", "WorkloadSourceSpoofing", "ProgramClusterRoutes"];
  assert.deepEqual(names.map(changeTakenBy), ["process", "dataplane", "graph", "restart", "graph"]);
});

test("every field of FelixConfiguration is a setting that is known", () => {
  for (const { form, parameter } of FELIX_FIELDS.values())
    assert.ok(form === "placement" || parameter in FELIX_CONFIG, parameter);
  const set = loadFelixConfig(local({}), [layer({ BPFLogLevel: "Debug", WindowsManageFirewallRules: "Enabled" })]);
  assert.deepEqual(
    set.warnings.map(({ message }) => message.replace(/^.*because /, "")),
    ["there is no eBPF dataplane", "there is no Windows dataplane"],
  );
});

test("felixWithoutEffect() says of each field of FelixConfiguration what the table of settings says", () => {
  for (const { form, parameter } of FELIX_FIELDS.values()) {
    if (form === "placement") continue;
    const row = (FELIX_CONFIG as Readonly<Record<string, { readonly noEffect?: string }>>)[parameter];
    assert.equal(felixWithoutEffect(parameter), row?.noEffect, parameter);
  }
});

test("every setting has a sentence or a reason", () => {
  for (const [name, parameter] of Object.entries(FELIX_CONFIG))
    assert.ok(parameter.doc !== "" || parameter.noEffect !== undefined, name);
});
