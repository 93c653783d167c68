import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import { graphConfigFor } from "./graph-config.ts";

const v3 = (kind: string, name: string, spec: unknown): Resource => ({
  apiVersion: "projectcalico.org/v3",
  kind,
  metadata: { name },
  spec,
});
const pool = (fields: object): Resource => v3("IPPool", "p", { cidr: "10.0.0.0/16", ...fields });

const rows: readonly [title: string, resources: Resource[], overrides: [string, string][], on: string[]][] = [
  ["nothing", [], [], []],
  ["a VXLAN pool", [pool({ vxlanMode: "Always" })], [], ["vxlanEnabled"]],
  ["an IPIP pool", [pool({ ipipMode: "CrossSubnet" })], [], ["ipipEnabled"]],
  [
    "VXLAN switched off in the datastore",
    [pool({ vxlanMode: "Always" }), v3("FelixConfiguration", "default", { vxlanEnabled: false })],
    [],
    [],
  ],
  ["VXLAN switched off by an override", [pool({ vxlanMode: "Always" })], [["vxlanenabled", "false"]], []],
  ["a setting of another host", [v3("FelixConfiguration", "node.other", { wireguardEnabled: true })], [], []],
  ["an ambient mesh", [v3("FelixConfiguration", "default", { istioAmbientMode: "Enabled" })], [], ["istioAmbient"]],
  [
    "a setting of this host",
    [v3("FelixConfiguration", "node.h", { wireguardEnabled: true })],
    [],
    ["wireguardEnabled"],
  ],
];
for (const [title, resources, overrides, on] of rows) {
  test(`graphConfigFor() starts the graph as an agent would, with ${title}`, () => {
    const { updates, problems } = convertResources(resources);
    assert.deepEqual(problems, []);
    const config = graphConfigFor(updates, "h", new Map(overrides));
    const names = [
      "ipipEnabled",
      "vxlanEnabled",
      "vxlanEnabledV6",
      "wireguardEnabled",
      "istioAmbient",
      "noEncapNeeded",
    ] as const;
    assert.deepEqual(
      names.filter((name) => config[name] === true),
      on,
    );
  });
}
