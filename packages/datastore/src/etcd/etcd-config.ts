import { DatastoreError } from "../errors.ts";
import { readEndpoint } from "./client/endpoint.ts";

/** How etcd is reached. {@link checkedEtcdConfig} says what does not go together. */
export interface EtcdDatastoreConfig {
  readonly type: "etcdv3";
  /** `http://HOST:PORT`, `https://HOST:PORT`; without a scheme it is https where there are certificates. */
  readonly endpoints?: readonly string[];
  /** A domain whose `_etcd-client-ssl._tcp` and `_etcd-client._tcp` records name the endpoints. */
  readonly discoverySrv?: string;
  /** A user logs in only if both are there. */
  readonly username?: string;
  readonly password?: string;
  /** PEM files. They are read again for each new connection. */
  readonly keyFile?: string;
  readonly certFile?: string;
  readonly caFile?: string;
  /** PEM texts, in place of the files. */
  readonly keyPem?: string;
  readonly certPem?: string;
  readonly caPem?: string;
  /** Tunnel addresses and IPAM blocks come from the pod CIDRs of nodes. Default false. */
  readonly usePodCIDR?: boolean;
  /** Silence after which a watch is asked for a sign of life. Default 30,000. */
  readonly watchIdleMs?: number;
  /** How long that answer may take before the watch is given up, and its connection. Default 10,000. */
  readonly watchAnswerTimeoutMs?: number;
  /** Items of one answer to a list. Default 500. */
  readonly pageItems?: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads ETCD_*, each also with the prefix `CALICO_`, which wins.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming the variables.
 */
export function etcdConfigFromEnvironment(env: Env): EtcdDatastoreConfig {
  const read = (name: string): string | undefined => env[`CALICO_${name}`] || env[name] || undefined;
  const endpoints = (read("ETCD_ENDPOINTS") ?? "")
    .split(",")
    .map((endpoint) => endpoint.trim())
    .filter((endpoint) => endpoint !== "");
  const fields = {
    endpoints: endpoints.length > 0 ? endpoints : undefined,
    discoverySrv: read("ETCD_DISCOVERY_SRV"),
    username: read("ETCD_USERNAME"),
    password: read("ETCD_PASSWORD"),
    keyFile: read("ETCD_KEY_FILE"),
    certFile: read("ETCD_CERT_FILE"),
    caFile: read("ETCD_CA_CERT_FILE"),
  };
  return checkedEtcdConfig({
    type: "etcdv3",
    usePodCIDR: /^(?:1|true|yes|y|t)$/i.test(read("USE_POD_CIDR") ?? ""),
    ...(Object.fromEntries(
      Object.entries(fields).filter(([, value]) => value !== undefined),
    ) as Partial<EtcdDatastoreConfig>),
  });
}

/**
 * The same config, if its settings go together.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG.
 */
export function checkedEtcdConfig(config: EtcdDatastoreConfig): EtcdDatastoreConfig {
  const { endpoints = [], discoverySrv, keyFile, certFile, caFile, keyPem, certPem, caPem } = config;
  if (endpoints.length > 0 && discoverySrv !== undefined)
    throw badConfig("ETCD_ENDPOINTS and ETCD_DISCOVERY_SRV are both set; one of them says where etcd is");
  if (endpoints.length === 0 && discoverySrv === undefined)
    throw badConfig("Neither ETCD_ENDPOINTS nor ETCD_DISCOVERY_SRV says where etcd is");
  const hasFiles = keyFile !== undefined || certFile !== undefined || caFile !== undefined;
  const hasTexts = keyPem !== undefined || certPem !== undefined || caPem !== undefined;
  if (hasFiles && hasTexts)
    throw badConfig("Certificates for etcd are given both as text (etcdKey, etcdCert, etcdCACert) and as files");
  if (hasTexts && (keyPem === undefined || certPem === undefined))
    throw badConfig("etcdKey and etcdCert are needed both where one of etcdKey, etcdCert and etcdCACert is given");
  if ((keyFile === undefined) !== (certFile === undefined))
    throw badConfig("ETCD_KEY_FILE and ETCD_CERT_FILE are needed both where one of them is set");
  for (const text of endpoints) {
    if (readEndpoint(text, hasFiles || hasTexts) === undefined)
      throw badConfig(`ETCD_ENDPOINTS has "${text}", expected http://HOST:PORT or https://HOST:PORT`);
  }
  return config;
}

function badConfig(message: string): DatastoreError {
  return new DatastoreError(message, { code: "DATASTORE_BAD_CONFIG" });
}
