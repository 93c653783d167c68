import { DatastoreError } from "../errors.ts";

/** The two ways in which Calico's kinds are served as CRDs. */
export type CalicoGroupVersion = "crd.projectcalico.org/v1" | "projectcalico.org/v3";

/** Requests a second where nothing says otherwise, and how many may come at once. */
export const DEFAULT_QPS = 5;
export const DEFAULT_BURST = 100;

/**
 * How the API server is reached and read. All fields are optional: without a kubeconfig and without a server it is
 * `.kube/config` in the home directory, else the pod's own account.
 */
export interface KubernetesDatastoreConfig {
  readonly type: "kubernetes";
  /** Files, the first one that names a thing wins (KUBECONFIG). */
  readonly kubeconfig?: readonly string[];
  /** The contents of a kubeconfig; wins over `kubeconfig`. */
  readonly kubeconfigInline?: string;
  /** Where `.kube/config` is looked for (HOME). */
  readonly home?: string;
  /** KUBERNETES_SERVICE_HOST and _PORT, which a pod has. */
  readonly inCluster?: { readonly host: string; readonly port: string };
  /** Folder of the pod's token and CA. Default /var/run/secrets/kubernetes.io/serviceaccount. */
  readonly serviceAccountDirectory?: string;
  /** The rest overrides what a kubeconfig says. K8S_API_ENDPOINT, a URL. */
  readonly server?: string;
  /** A bearer token. */
  readonly token?: string;
  /** PEM files: of the client, and of the CA that the server's certificate goes up to. */
  readonly keyFile?: string;
  readonly certFile?: string;
  readonly caFile?: string;
  /** Default false. Needed for `http:` too. */
  readonly insecureSkipTlsVerify?: boolean;
  /** Which context of the kubeconfig. Default: its current one. */
  readonly context?: string;
  /** Requests a second. Default 5. */
  readonly qps?: number;
  /** Requests at once after a pause. Default 100. */
  readonly burst?: number;
  /** Default: what the server has. */
  readonly apiGroup?: CalicoGroupVersion;
  /** FELIX_INTERFACEPREFIX. Default "cali". */
  readonly interfacePrefix?: string;
  /** Tunnel addresses and IPAM blocks come from the pod CIDRs of nodes. Default false. */
  readonly usePodCIDR?: boolean;
  /** Full lists that run at the same time. Default 1. */
  readonly listConcurrency?: number;
  /**
   * How full lists are read. "auto": as streams where the server is known to have them, in pages otherwise and after a
   * stream failed. Default "auto".
   */
  readonly listMode?: "auto" | "paged";
  /** Silence after which a watch counts as dead and is replaced. Default 90,000: bookmarks come every minute. */
  readonly watchIdleTimeoutMs?: number;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads K8S_* and KUBECONFIG, each also with the prefix `CALICO_`, which wins.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming the variable.
 */
export function kubernetesConfigFromEnvironment(env: Env): KubernetesDatastoreConfig {
  const read = (name: string): string | undefined => env[`CALICO_${name}`] || env[name] || undefined;
  const kubeconfig = read("KUBECONFIG")
    ?.split(":")
    .filter((path) => path !== "");
  const host = env["KUBERNETES_SERVICE_HOST"] || undefined;
  const inCluster = host === undefined ? undefined : { host, port: env["KUBERNETES_SERVICE_PORT"] || "443" };
  const server = urlOf("K8S_API_ENDPOINT", read("K8S_API_ENDPOINT"));
  return {
    type: "kubernetes",
    usePodCIDR: isTrue(read("USE_POD_CIDR")),
    ...defined({
      kubeconfig: kubeconfig !== undefined && kubeconfig.length > 0 ? kubeconfig : undefined,
      home: env["HOME"] || undefined,
      inCluster,
      server,
      keyFile: read("K8S_KEY_FILE"),
      certFile: read("K8S_CERT_FILE"),
      caFile: read("K8S_CA_FILE"),
      insecureSkipTlsVerify: isTrue(read("K8S_INSECURE_SKIP_TLS_VERIFY")) || undefined,
      context: read("K8S_CURRENT_CONTEXT"),
      // 0 means the default, as it always has.
      qps: numberOf("K8S_CLIENT_QPS", read("K8S_CLIENT_QPS")) || undefined,
      burst: numberOf("K8S_CLIENT_BURST", read("K8S_CLIENT_BURST")) || undefined,
      apiGroup: groupOf(env["CALICO_API_GROUP"]),
      interfacePrefix: env["FELIX_INTERFACEPREFIX"] || undefined,
    }),
  };
}

function badConfig(message: string): DatastoreError {
  return new DatastoreError(message, { code: "DATASTORE_BAD_CONFIG" });
}

function urlOf(name: string, text: string | undefined): string | undefined {
  if (text === undefined || URL.canParse(text)) return text;
  throw badConfig(`${name} is "${text}", expected a URL`);
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  throw badConfig(`${name} is "${text}", expected a number that is not negative`);
}

function groupOf(text: string | undefined): CalicoGroupVersion | undefined {
  switch (text || undefined) {
    case undefined:
      return undefined;
    case "crd.projectcalico.org/v1":
      return "crd.projectcalico.org/v1";
    case "projectcalico.org/v3":
      return "projectcalico.org/v3";
    default:
      throw badConfig(`CALICO_API_GROUP is "${text}", expected "crd.projectcalico.org/v1" or "projectcalico.org/v3"`);
  }
}

function isTrue(text: string | undefined): boolean {
  return /^(?:1|true|yes|y|t)$/i.test(text ?? "");
}

/** The fields that have a value. */
function defined<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
