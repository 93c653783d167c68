type Env = Readonly<Record<string, string | undefined>>;

/** What a process's own settings (FELIX_ETCDADDR and the like, in a file too) say about etcd. "" is not set. */
export interface EtcdSettings {
  readonly DatastoreType: string | undefined;
  readonly EtcdEndpoints: readonly string[];
  /** HOST:PORT, and its scheme: where etcd is asked for and nothing else says where it is. */
  readonly EtcdAddr: string;
  readonly EtcdScheme: string;
  /** PEM files. */
  readonly EtcdKeyFile: string;
  readonly EtcdCertFile: string;
  readonly EtcdCaFile: string;
}

/** The environment with these settings under the names that {@link etcdConfigFromEnvironment} prefers. */
export function withEtcdSettings(env: Env, settings: EtcdSettings): Env {
  const read = (name: string): string => env[`CALICO_${name}`] || env[name] || "";
  const endpoints = [...settings.EtcdEndpoints];
  const type = settings.DatastoreType || read("DATASTORE_TYPE");
  if (endpoints.length === 0 && type === "etcdv3" && read("ETCD_ENDPOINTS") === "" && read("ETCD_DISCOVERY_SRV") === "")
    endpoints.push(`${settings.EtcdScheme || "http"}://${settings.EtcdAddr}`);
  return {
    ...env,
    ...(endpoints.length > 0 && { CALICO_ETCD_ENDPOINTS: endpoints.join(",") }),
    ...(settings.EtcdKeyFile !== "" && { CALICO_ETCD_KEY_FILE: settings.EtcdKeyFile }),
    ...(settings.EtcdCertFile !== "" && { CALICO_ETCD_CERT_FILE: settings.EtcdCertFile }),
    ...(settings.EtcdCaFile !== "" && { CALICO_ETCD_CA_CERT_FILE: settings.EtcdCaFile }),
  };
}
