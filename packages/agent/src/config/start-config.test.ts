import assert from "node:assert/strict";
import { test } from "node:test";
import { formatKey, type IPPool, type Key, type Update, type Value } from "@bulrush/model";
import { encapsulationChanges, startConfig } from "./start-config.ts";

const update = (key: Key, value: Value): Update => ({ key, path: formatKey(key), value, revision: "1", type: "new" });
const ready = (value = true): Update => update({ type: "ReadyFlag" }, value);
const setting = (name: string, value: string): Update => update({ type: "GlobalConfig", name }, value);
const hostSetting = (hostname: string, name: string, value: string): Update =>
  update({ type: "HostConfig", hostname, name }, value);

function pool(cidr: string, modes: Partial<Pick<IPPool, "ipip_mode" | "vxlan_mode">>): Update {
  const value: IPPool = {
    cidr,
    ipip: "",
    ipip_mode: "",
    vxlan_mode: "",
    masquerade: false,
    ipam: true,
    disabled: false,
    disableBGPExport: false,
    assignment_mode: "Automatic",
    allowed_uses: ["Workload"],
    ...modes,
  };
  return update({ type: "IPPool", cidr }, value);
}

const local = (env: Record<string, string> = {}) => ({ env, fileText: undefined, fileName: "f" });

test("startConfig() waits, while the datastore says that it is not ready", () => {
  assert.equal(startConfig([], "h", local()), undefined);
  assert.equal(startConfig([ready(false)], "h", local()), undefined);
  assert.notEqual(startConfig([ready()], "h", local()), undefined);
});

test("startConfig() says nothing of what Node and ClusterInformation tell of tunnels and the cluster", () => {
  const facts = [
    "IpInIpTunnelAddr",
    "IPv4VXLANTunnelAddr",
    "VXLANTunnelMACAddr",
    "IPv6VXLANTunnelAddr",
    "VXLANTunnelMACAddrV6",
    "ClusterGUID",
  ];
  const start = startConfig([ready(), ...facts.map((name) => hostSetting("h", name, "x"))], "h", local());
  assert.deepEqual(start?.loaded.warnings, []);
});

test("startConfig() tells the dataplane what ClusterInformation says of the kind of cluster", () => {
  const start = startConfig([ready(), setting("ClusterType", "k8s,kdd,aks")], "h", local());
  assert.deepEqual([start?.loaded.warnings, start?.texts.get("ClusterType")], [[], "k8s,kdd,aks"]);
});

test("startConfig() lays this host's settings over the global ones, and the environment over both", () => {
  const contents = [
    ready(),
    setting("InterfacePrefix", "global"),
    setting("VXLANPort", "1111"),
    setting("LogPrefix", "global"),
    setting("ClusterGUID", "x"),
    hostSetting("h", "VXLANPort", "2222"),
    hostSetting("other", "VXLANPort", "3333"),
    hostSetting("h", "LogPrefix", "host"),
  ];
  const start = startConfig(contents, "h", local({ FELIX_LOGPREFIX: "env" }));
  assert.deepEqual(
    [start?.loaded.values.InterfacePrefix, start?.loaded.values.VXLANPort, start?.loaded.values.LogPrefix],
    [["global"], 2222, "env"],
  );
  assert.deepEqual(
    [...(start?.texts ?? [])].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ["EndpointStatusPathPrefix", "/var/run/calico"],
      ["InterfacePrefix", "global"],
      ["LogPrefix", "env"],
      ["MTUFile", "/var/lib/calico/mtu"],
      ["VXLANPort", "2222"],
    ],
  );
  assert.deepEqual(start?.loaded.warnings, []);
});

test("startConfig() takes the FelixConfiguration that selects this node between the host's and the global ones", () => {
  const resource = (
    kind: "Node" | "FelixConfiguration",
    name: string,
    labels: Record<string, string>,
    spec: object,
  ): Update =>
    update(
      { type: "Resource", kind, namespace: "", name },
      { apiVersion: "projectcalico.org/v3", kind, metadata: { name, labels }, spec },
    );
  const contents = [
    ready(),
    resource("Node", "h", { gpu: "yes" }, {}),
    resource("FelixConfiguration", "gpu", {}, { nodeSelector: "has(gpu)", vxlanPort: 2, logPrefix: "selected" }),
    resource("FelixConfiguration", "ssd", {}, { nodeSelector: "has(ssd)", vxlanPort: 9 }),
    setting("VXLANPort", "1"),
    setting("LogPrefix", "global"),
    hostSetting("h", "VXLANPort", "3"),
  ];
  const values = startConfig(contents, "h", local())?.loaded.values;
  assert.deepEqual([values?.VXLANPort, values?.LogPrefix], [3, "selected"]);
});

const encapsulations: readonly [title: string, contents: Update[], env: Record<string, string>, on: string[]][] = [
  ["no pools", [], {}, []],
  ["an IPIP pool", [pool("10.0.0.0/16", { ipip_mode: "always" })], {}, ["ipipEnabled"]],
  ["a VXLAN pool", [pool("10.0.0.0/16", { vxlan_mode: "cross-subnet" })], {}, ["vxlanEnabled"]],
  ["an IPv6 VXLAN pool", [pool("fd00::/48", { vxlan_mode: "always" })], {}, ["vxlanEnabledV6"]],
  [
    "a plain pool whose routes are ours",
    [pool("10.0.0.0/16", {})],
    { FELIX_PROGRAMCLUSTERROUTES: "Enabled" },
    ["noEncapNeeded"],
  ],
  ["a plain pool whose routes are not", [pool("10.0.0.0/16", {})], {}, []],
  ["VXLAN switched off", [pool("10.0.0.0/16", { vxlan_mode: "always" })], { FELIX_VXLANENABLED: "false" }, []],
  ["IPIP switched on by the datastore", [setting("IpInIpEnabled", "true")], {}, ["ipipEnabled"]],
];
for (const [title, contents, env, on] of encapsulations) {
  test(`startConfig() reads the encapsulation of ${title}`, () => {
    const start = startConfig([ready(), ...contents], "h", local(env));
    const names = ["ipipEnabled", "vxlanEnabled", "vxlanEnabledV6", "noEncapNeeded"] as const;
    assert.deepEqual(
      names.filter((name) => start?.graph[name] === true),
      on,
    );
  });
}

test("encapsulationChanges() names what differs", () => {
  const before = startConfig([ready()], "h", local())?.encapsulation;
  const after = startConfig([ready(), pool("10.0.0.0/16", { vxlan_mode: "always" })], "h", local())?.encapsulation;
  assert.ok(before !== undefined && after !== undefined);
  assert.deepEqual(encapsulationChanges(before, after), ["vxlan_enabled"]);
  assert.deepEqual(encapsulationChanges(before, before), []);
});
