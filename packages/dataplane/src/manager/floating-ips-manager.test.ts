import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToDataplane } from "@bulrush/proto";
import { renderRuleset } from "../render/render-ruleset.ts";
import { workload } from "../testing/messages.ts";

const pod = (name: string, orchestrator: string, external: string, internal: string): ToDataplane => {
  const update = workload(name, {
    ipv4_nets: [`${internal}/32`],
    ipv4_nat: [{ ext_ip: external, int_ip: internal }],
  });
  return { ...update, id: { ...update.id, orchestrator } };
};

/** "external > internal" of each rule of the chain that translates destinations. */
function translations(setting: string, ...messages: readonly ToDataplane[]): string[] {
  const [table] = renderRuleset(messages, new Map([["FloatingIPs", setting]]));
  return (table?.chains.get("nat-cali-fip-dnat")?.rules ?? []).map(({ statements }) => {
    let [external, internal] = ["", ""];
    for (const one of statements)
      if (one.kind === "match" && one.right.kind === "value") external = String(one.right.value);
      else if (one.kind === "nat") internal = one.address;
    return `${external} > ${internal}`;
  });
}

describe("floating addresses", () => {
  const k8s = pod("a", "k8s", "198.51.100.1", "10.65.0.1");
  const openstack = pod("b", "openstack", "198.51.100.2", "10.65.0.2");
  const clash = pod("c", "openstack", "198.51.100.1", "10.65.0.3");
  const rows = [
    ["of all workloads count where they are switched on", "Enabled", [k8s, openstack], ["1 > 1", "2 > 2"]],
    ["of OpenStack count where they are switched off too", "Disabled", [k8s, openstack], ["2 > 2"]],
    ["that two claim are those of the lowest id", "Enabled", [clash, openstack, k8s], ["1 > 1", "2 > 2"]],
    ["that do not count take none from those that do", "Disabled", [k8s, clash], ["1 > 3"]],
  ] as const;
  for (const [what, setting, messages, wanted] of rows)
    it(what, () => {
      const short = translations(setting, ...messages).map((text) =>
        text.replaceAll(/198\.51\.100\.|10\.65\.0\./g, ""),
      );
      assert.deepEqual(short, wanted);
    });
});
