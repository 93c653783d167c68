import {
  type DatastoreConfig,
  datastoreConfigFromEnvironment,
  DatastoreError,
  withEtcdSettings,
} from "@bulrush/datastore";
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

/**
 * The datastore, with what Typha's own file says about it before the shared variables.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG
 */
export function datastoreConfig(
  env: Readonly<Record<string, string | undefined>>,
  config: TyphaConfig,
): DatastoreConfig {
  const { DatastoreType, EtcdAddr, EtcdScheme, EtcdEndpoints } = config;
  const filled = withEtcdSettings(env, config);
  const { CALICO_ETCD_ENDPOINTS: endpoints } = filled;
  const usesAddress = EtcdEndpoints.length === 0 && endpoints !== env["CALICO_ETCD_ENDPOINTS"];
  if (usesAddress && (EtcdAddr === "" || EtcdScheme === ""))
    throw new DatastoreError("etcd needs EtcdEndpoints, or both EtcdAddr and EtcdScheme", {
      code: "DATASTORE_BAD_CONFIG",
    });
  return datastoreConfigFromEnvironment(
    {
      ...filled,
      ...(DatastoreType !== undefined && { TYPHA_DATASTORETYPE: DatastoreType }),
    },
    "TYPHA_",
  );
}
