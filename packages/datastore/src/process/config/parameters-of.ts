import type { FelixConfigurationResource } from "@bulrush/model";
import { felixConfigurationProcessor } from "./config-processor.ts";

/**
 * The parameters that a FelixConfiguration sets, by name, as text: what its keys would be if it were `default`. For the
 * graph, which picks among the ones that select nodes. Fields that cannot be used are left out.
 */
export function felixParametersOf(resource: FelixConfigurationResource): ReadonlyMap<string, string> {
  const item = { kind: "FelixConfiguration", namespace: "", name: "default" } as const;
  const parameters = new Map<string, string>();
  for (const { key, value } of felixConfigurationProcessor().process({ item, value: resource, revision: "" }).outputs)
    if (key.type === "GlobalConfig" && typeof value === "string") parameters.set(key.name, value);
  return parameters;
}
