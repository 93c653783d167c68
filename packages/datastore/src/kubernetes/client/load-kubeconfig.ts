import { existsSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join } from "node:path";
import { messageOf } from "@bulrush/base";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { DatastoreError } from "../../errors.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";

const SERVICE_ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * Which server, and as whom: the kubeconfig (or the pod's own account) with the overrides of the settings on top, as a
 * KubeConfig of one cluster and one user. Loads the client library: 85 MB that only a driver in use shall cost.
 *
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming the file or the setting.
 */
export async function loadKubeConfig(config: KubernetesDatastoreConfig): Promise<KubeConfig> {
  const { KubeConfig } = await import("@kubernetes/client-node");
  const found = baseOf(config, () => new KubeConfig());
  const cluster = clusterOf(config, found?.getCurrentCluster() ?? undefined);
  const user = userOf(config, found?.getCurrentUser() ?? undefined);
  const merged = new KubeConfig();
  merged.loadFromClusterAndUser(cluster, user);
  return merged;
}

/** Undefined where the settings name the server and there is no kubeconfig. */
function baseOf(config: KubernetesDatastoreConfig, make: () => KubeConfig): KubeConfig | undefined {
  const { kubeconfigInline, kubeconfig, home, server, context } = config;
  let found: KubeConfig;
  if (kubeconfigInline !== undefined) {
    found = make();
    read("the inline kubeconfig", () => found.loadFromString(kubeconfigInline));
  } else if (kubeconfig !== undefined && kubeconfig.length > 0) found = fromFiles(kubeconfig, make);
  else if (server !== undefined) return undefined;
  else {
    const file = home === undefined ? undefined : join(home, ".kube", "config");
    found = file !== undefined && existsSync(file) ? fromFiles([file], make) : inCluster(config, make);
  }
  if (context !== undefined) {
    if (found.getContextObject(context) === null) throw badConfig(`The kubeconfig has no context "${context}"`);
    found.setCurrentContext(context);
  }
  return found;
}

/** Of two entries of one name the first counts, and so does the first current context; files that are not there do not. */
function fromFiles(paths: readonly string[], make: () => KubeConfig): KubeConfig {
  const merged = make();
  const present = paths.filter((path) => existsSync(path));
  if (present.length === 0) throw badConfig(`There is no kubeconfig at ${paths.join(" or ")}`);
  for (const path of present) {
    const one = make();
    read(path, () => one.loadFromFile(path));
    merged.clusters = firstOfEach([...merged.clusters, ...one.clusters]);
    merged.users = firstOfEach([...merged.users, ...one.users]);
    merged.contexts = firstOfEach([...merged.contexts, ...one.contexts]);
    merged.currentContext ||= one.currentContext;
  }
  return merged;
}

function firstOfEach<T extends { readonly name: string }>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

function inCluster(config: KubernetesDatastoreConfig, make: () => KubeConfig): KubeConfig {
  const { inCluster: address, serviceAccountDirectory = SERVICE_ACCOUNT_DIRECTORY } = config;
  if (address === undefined) {
    const message = "No way to the API server: no kubeconfig, no K8S_API_ENDPOINT, and this is no pod";
    throw badConfig(`${message} (KUBERNETES_SERVICE_HOST is not set)`);
  }
  const host = isIPv6(address.host) ? `[${address.host}]` : address.host;
  const found = make();
  found.loadFromClusterAndUser(
    {
      name: "in-cluster",
      server: `https://${host}:${address.port}`,
      caFile: join(serviceAccountDirectory, "ca.crt"),
      skipTLSVerify: false,
    },
    {
      name: "service-account",
      // Read again every minute: the kubelet renews it.
      authProvider: { name: "tokenFile", config: { tokenFile: join(serviceAccountDirectory, "token") } },
    },
  );
  return found;
}

function clusterOf(config: KubernetesDatastoreConfig, base: Cluster | undefined): Cluster {
  const { caFile, insecureSkipTlsVerify } = config;
  const server = config.server ?? base?.server;
  if (server === undefined) throw badConfig("The kubeconfig has no current context with a cluster");
  if (!URL.canParse(server)) throw badConfig(`The address of the API server is "${server}", expected a URL`);
  const skipTLSVerify = insecureSkipTlsVerify ?? base?.skipTLSVerify ?? false;
  if (server.startsWith("http:") && !skipTLSVerify)
    throw badConfig(`The API server is ${server}, without TLS: that needs K8S_INSECURE_SKIP_TLS_VERIFY`);
  const { caData: _, caFile: __, ...rest } = base ?? {};
  return {
    name: "cluster",
    ...(caFile === undefined ? base : { ...rest, caFile }),
    server,
    skipTLSVerify,
  };
}

function userOf(config: KubernetesDatastoreConfig, base: User | undefined): User {
  const { token, keyFile, certFile } = config;
  if (token !== undefined) return { name: "user", token };
  if (certFile === undefined && keyFile === undefined) return { ...base, name: "user" };
  const { certData: _, certFile: __, keyData: ___, keyFile: ____, ...rest } = base ?? {};
  return {
    ...rest,
    name: "user",
    ...(certFile !== undefined && { certFile }),
    ...(keyFile !== undefined && { keyFile }),
  };
}

function read(what: string, load: () => void): void {
  try {
    load();
  } catch (error) {
    throw new DatastoreError(`Cannot read ${what}: ${messageOf(error)}`, {
      code: "DATASTORE_BAD_CONFIG",
      op: "Read kubeconfig",
      cause: error,
    });
  }
}

function badConfig(message: string): DatastoreError {
  return new DatastoreError(message, { code: "DATASTORE_BAD_CONFIG", op: "Read kubeconfig" });
}
