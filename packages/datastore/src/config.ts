import { readApiConfigFile } from "./api-config.ts";
import { DatastoreError } from "./errors.ts";
import { type EtcdDatastoreConfig, etcdConfigFromEnvironment } from "./etcd/etcd-config.ts";
import { type KubernetesDatastoreConfig, kubernetesConfigFromEnvironment } from "./kubernetes/kubernetes-config.ts";

/** A directory of manifests. Bounds: what is over one is told, and the last good contents stay. */
export interface FileDatastoreConfig {
  readonly type: "file";
  readonly directory: string;
  /** Time between full scans, beside the ones that file events cause. Default 5,000. */
  readonly rescanIntervalMs?: number;
  /** Quiet time after a file event before a scan. Default 20. */
  readonly debounceMs?: number;
  /** A larger file is refused. Default 16 MiB. */
  readonly maxFileBytes?: number;
  /** More files than this: the rest (in byte order of path) is refused. Default 20,000. */
  readonly maxFiles?: number;
  /** FELIX_INTERFACEPREFIX. Default "cali". */
  readonly interfacePrefix?: string;
  /** Tunnel addresses and IPAM blocks come from the pod CIDRs of nodes. Default false. */
  readonly usePodCIDR?: boolean;
}

/** Which datastore, and how it is read; see {@link openDatastore}. */
export type DatastoreConfig = FileDatastoreConfig | KubernetesDatastoreConfig | EtcdDatastoreConfig;

/**
 * The datastore that the environment asks for. `<prefix>DATASTORETYPE` beats `DATASTORE_TYPE`; unset: `file` if
 * BULRUSH_DATASTORE_DIR is set, `etcdv3` if ETCD_ENDPOINTS is, else `kubernetes`. The variables of upstream may have the
 * prefix `CALICO_`, which wins.
 *
 * BULRUSH_DATASTORE_CONFIG names a file of kind CalicoAPIConfig that says it all instead; it is read here. A type that
 * the variables ask for must be the file's own.
 *
 * @param prefix "TYPHA_" or "FELIX_"; "" for the tools.
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming the variable.
 */
export function datastoreConfigFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  prefix: "TYPHA_" | "FELIX_" | "" = "",
): DatastoreConfig {
  const read = (name: string): string => env[`CALICO_${name}`] || env[name] || "";
  const prefixes = env["FELIX_INTERFACEPREFIX"] ?? "";
  const directory = env["BULRUSH_DATASTORE_DIR"] ?? "";
  const own = prefix === "" ? "" : (env[`${prefix}DATASTORETYPE`] ?? "");
  const variable = own === "" ? "DATASTORE_TYPE" : `${prefix}DATASTORETYPE`;
  const chosen = own === "" ? read("DATASTORE_TYPE") : own;
  const file = env["BULRUSH_DATASTORE_CONFIG"] ?? "";
  if (file !== "") return fromFile(file, env, { chosen, variable, directory });
  const type =
    chosen === "" ? (directory !== "" ? "file" : read("ETCD_ENDPOINTS") !== "" ? "etcdv3" : "kubernetes") : chosen;
  switch (type) {
    case "file":
      if (directory === "") {
        throw new DatastoreError(`${variable} is "file" but BULRUSH_DATASTORE_DIR is not set`, {
          code: "DATASTORE_BAD_CONFIG",
        });
      }
      return {
        type,
        directory,
        usePodCIDR: /^(?:1|true|yes|y|t)$/i.test(read("USE_POD_CIDR")),
        ...(prefixes !== "" && { interfacePrefix: prefixes }),
      };
    case "etcdv3":
      return etcdConfigFromEnvironment(env);
    case "kubernetes":
      return kubernetesConfigFromEnvironment(env);
    default:
      throw new DatastoreError(`${variable} is "${type}", expected "kubernetes", "etcdv3" or "file"`, {
        code: "DATASTORE_BAD_CONFIG",
      });
  }
}

function fromFile(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  beside: { readonly chosen: string; readonly variable: string; readonly directory: string },
): DatastoreConfig {
  const { chosen, variable, directory } = beside;
  if (chosen === "" && directory !== "") {
    throw new DatastoreError(
      "BULRUSH_DATASTORE_CONFIG and BULRUSH_DATASTORE_DIR are both set; one of them says where the data is",
      { code: "DATASTORE_BAD_CONFIG" },
    );
  }
  const config = readApiConfigFile(file, env);
  if (chosen === "" || chosen === config.type) return config;
  throw new DatastoreError(
    `${variable} is "${chosen}", but BULRUSH_DATASTORE_CONFIG names ${file}, which is about "${config.type}"`,
    { code: "DATASTORE_BAD_CONFIG" },
  );
}
