import type { CalcGraphConfig } from "@bulrush/calc";
import type { Update } from "@bulrush/model";
import { bool, oneOf, optional, type ParameterType } from "@bulrush/service";
import { graphInSync } from "./graph.ts";

/**
 * How an agent would start its graph on these contents: from the settings in the datastore, with `overrides` (by name in
 * any case) over them, and from what the pools ask for.
 */
export function graphConfigFor(
  updates: readonly Update[],
  hostname: string,
  overrides: ReadonlyMap<string, string> = new Map(),
): Partial<CalcGraphConfig> {
  const relevant = updates.filter(({ key }) => isAboutHosts(key));
  const texts = new Map<string, string>();
  graphInSync(relevant, hostname, (message) => {
    if (message.msg === "ConfigUpdate") for (const [name, text] of message.config) texts.set(name.toLowerCase(), text);
  });
  for (const [name, text] of overrides) texts.set(name.toLowerCase(), text);
  const read = <T>(name: string, type: ParameterType<T>, fallback: T): T => {
    const result = type.parse(texts.get(name.toLowerCase()) ?? "", { fileExists: () => false });
    return result.ok ? result.value : fallback;
  };
  const chosen: Partial<CalcGraphConfig> = {
    routeSource: read("RouteSource", oneOf(["CalicoIPAM", "WorkloadIPs"]), "") || "CalicoIPAM",
    programClusterRoutes:
      read("ProgramClusterRoutes", oneOf(["Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]), "") ||
      "EnabledIPIPOnly",
    wireguardEnabled: read("WireguardEnabled", bool(), false),
    explicitIPIPEnabled: read("IpInIpEnabled", optional(bool()), undefined),
    explicitVXLANEnabled: read("VXLANEnabled", optional(bool()), undefined),
  };
  let config = chosen;
  graphInSync(
    relevant,
    hostname,
    (message) => {
      if (message.msg !== "Encapsulation") return;
      config = {
        ...chosen,
        ipipEnabled: message.ipip_enabled,
        vxlanEnabled: message.vxlan_enabled,
        vxlanEnabledV6: message.vxlan_enabled_v6,
        noEncapNeeded: message.no_encap_needed,
      };
    },
    chosen,
  );
  return config;
}

function isAboutHosts(key: Update["key"]): boolean {
  switch (key.type) {
    case "GlobalConfig":
    case "HostConfig":
    case "ReadyFlag":
    case "IPPool":
      return true;
    case "Resource":
      return key.kind === "FelixConfiguration" || key.kind === "Node";
    default:
      return false;
  }
}
