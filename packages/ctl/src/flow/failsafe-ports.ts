import { type FailsafePorts, probeConfig } from "@bulrush/calc";
import { felixParametersOf } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";

/** The failsafe ports that agents have by the settings of all hosts. */
export async function failsafePortsOf(updates: readonly Update[]): Promise<FailsafePorts> {
  // Only host endpoints have them, and few datastores have those: the rest need not load the dataplane.
  if (!updates.some(({ key, value }) => key.type === "HostEndpoint" && value !== undefined))
    return { inbound: [], outbound: [] };
  const { parseDataplaneConfig } = await import("@bulrush/dataplane");
  const { settings } = probeConfig(updates, { hostname: "", parametersOf: felixParametersOf });
  const { failsafeInbound, failsafeOutbound } = parseDataplaneConfig(settings.config).config;
  return { inbound: failsafeInbound, outbound: failsafeOutbound };
}
