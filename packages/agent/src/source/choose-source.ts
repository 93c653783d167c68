import type { Clock } from "@bulrush/base";
import type { DatastoreConfig } from "@bulrush/datastore";
import type { Logger } from "@bulrush/service";
import type { FelixConfig } from "../config/felix-config.ts";
import { datastoreOf } from "./datastore-writer.ts";
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
 * SYNC_CLIENT_TLS_INCOMPLETE, DATASTORE_BAD_CONFIG); what it returns does not throw.
 */
export function chooseSource(options: ChooseSourceOptions): SourceFactory {
  const { config, clock, logger } = options;
  if (config.TyphaAddr !== "" || config.TyphaK8sServiceName !== "") {
    const services = (): DatastoreConfig => datastoreOf({ ...config, DatastoreType: "kubernetes" }, options.env);
    return typhaSource({ ...options, services });
  }
  const datastore = datastoreOf(config, options.env);
  return (callbacks) => datastoreSource({ datastore, clock, logger }, callbacks);
}
