import { type DatastoreConfig, datastoreConfigFromEnvironment, withEtcdSettings } from "@bulrush/datastore";
import { type LoadedConfig, readSettingsFile, type TriedSettings } from "@bulrush/service";
import { DEFAULT_CONFIG_FILE, loadTyphaConfig } from "../config/load-typha-config.ts";
import type { TyphaConfig } from "../config/typha-config.ts";

export interface ReadSettings extends TriedSettings {
  readonly loaded: LoadedConfig<TyphaConfig>;
}

/** Reads environment and file once. A missing file is fine. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  configFile: string | undefined,
): ReadSettings {
  const fileName = configFile ?? DEFAULT_CONFIG_FILE;
  const file = readSettingsFile(fileName);
  const loaded = loadTyphaConfig({ env, fileText: file.text, fileName });
  return { loaded, problems: [...file.problems, ...loaded.errors.map(({ message }) => message)] };
}

/** The Kubernetes API that has the Service of the servers: the datastore's, if it is one. */
export function servicesConfig(
  env: Readonly<Record<string, string | undefined>>,
  datastore: DatastoreConfig,
): DatastoreConfig {
  if (datastore.type === "kubernetes") return datastore;
  return datastoreConfigFromEnvironment({ ...env, TYPHA_DATASTORETYPE: "kubernetes" }, "TYPHA_");
}

/** The datastore, with what Typha's own file says about it before the shared variables. */
export function datastoreConfig(
  env: Readonly<Record<string, string | undefined>>,
  config: TyphaConfig,
): DatastoreConfig {
  const { DatastoreType } = config;
  return datastoreConfigFromEnvironment(
    {
      ...withEtcdSettings(env, config),
      ...(DatastoreType !== undefined && { TYPHA_DATASTORETYPE: DatastoreType }),
    },
    "TYPHA_",
  );
}
