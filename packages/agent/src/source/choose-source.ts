import type { Clock } from "@bulrush/base";
import { datastoreConfigFromEnvironment, withEtcdSettings } from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";
import { AgentError } from "../errors.ts";
import type { FelixConfig } from "../config/felix-config.ts";
import { datastoreSource } from "./datastore-source.ts";
import type { SourceFactory } from "./source.ts";
import { typhaSource } from "./typha-source.ts";

export interface ChooseSourceOptions {
  readonly config: FelixConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

/**
 * A Typha where one is set, else the datastore. Throws where a setting is bad (SYNC_CLIENT_BAD_ADDRESS,
 * SYNC_CLIENT_TLS_INCOMPLETE, DATASTORE_BAD_CONFIG); what it returns does not throw. Throws AGENT_CONFIG when only a Service is named: taking the datastore instead would put on its server what a Typha is there to keep away.
 */
export function chooseSource(options: ChooseSourceOptions): SourceFactory {
  const { config, clock, logger } = options;
  if (config.TyphaAddr !== "") return typhaSource(options);
  if (config.TyphaK8sServiceName !== "")
    throw new AgentError("TyphaK8sServiceName is set, but a Service is not looked up yet: set TyphaAddr", {
      code: "AGENT_CONFIG",
      op: "Choose source",
    });
  const datastore = datastoreConfigFromEnvironment(datastoreEnvironment(config, options.env), "FELIX_");
  return (callbacks) => datastoreSource({ datastore, clock, logger }, callbacks);
}

/** The environment with our own settings in the strongest names that the datastore reads: the file counts like a variable. */
function datastoreEnvironment(config: FelixConfig, env: ChooseSourceOptions["env"]): ChooseSourceOptions["env"] {
  return {
    ...withEtcdSettings(env, config),
    ...(config.DatastoreType !== "" && { FELIX_DATASTORETYPE: config.DatastoreType }),
  };
}
