import { type CalcGraphConfig, probeConfig, withEncapsulation } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import { bool, oneOf, optional, type ParameterType } from "@bulrush/service";

/**
 * How an agent would start its graph on these contents: from the settings in the datastore, with `overrides` (by name in
 * any case) over them, and from what the pools ask for.
 */
export function graphConfigFor(
  updates: readonly Update[],
  hostname: string,
  overrides: ReadonlyMap<string, string> = new Map(),
): Partial<CalcGraphConfig> {
  const { settings } = probeConfig(updates, { hostname, parametersOf: felixParametersOf });
  const texts = new Map([...settings.config, ...overrides].map(([name, text]) => [name.toLowerCase(), text]));
  const read = <T>(name: string, type: ParameterType<T>, fallback: T): T => {
    const result = type.parse(texts.get(name.toLowerCase()) ?? "", { fileExists: () => false });
    return result.ok ? result.value : fallback;
  };
  const config: Partial<CalcGraphConfig> = {
    routeSource: read("RouteSource", oneOf(["CalicoIPAM", "WorkloadIPs"]), "") || "CalicoIPAM",
    programClusterRoutes:
      read("ProgramClusterRoutes", oneOf(["Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]), "") ||
      "EnabledIPIPOnly",
    wireguardEnabled: read("WireguardEnabled", bool(), false) || read("WireguardEnabledV6", bool(), false),
    istioAmbient: read("IstioAmbientMode", oneOf(["Enabled", "Disabled"]), "") === "Enabled",
    explicitIPIPEnabled: read("IpInIpEnabled", optional(bool()), undefined),
    explicitVXLANEnabled: read("VXLANEnabled", optional(bool()), undefined),
  };
  const { encapsulation } = probeConfig(updates, { hostname, parametersOf: felixParametersOf, config });
  return withEncapsulation(config, encapsulation);
}
