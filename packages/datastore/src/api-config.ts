import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { messageOf, nearestName } from "@bulrush/base";
import { CALICO_V3, isObject, type JsonObject } from "@bulrush/model";
import { LineCounter, parseDocument } from "yaml";
import { DatastoreError } from "./errors.ts";
import { checkedEtcdConfig, type EtcdDatastoreConfig, etcdConfigFromEnvironment } from "./etcd/etcd-config.ts";
import { type KubernetesDatastoreConfig, kubernetesConfigFromEnvironment } from "./kubernetes/kubernetes-config.ts";

type Env = Readonly<Record<string, string | undefined>>;

interface Field {
  readonly type: "text" | "boolean" | "number";
  /** The variable that says the same. Without one the field is for files only, where nobody sees it by accident. */
  readonly variable?: string;
}

const text = (variable?: string): Field => ({ type: "text", ...(variable !== undefined && { variable }) });

/** `spec` of a CalicoAPIConfig. */
const FIELDS: Readonly<Record<string, Field>> = {
  datastoreType: text("DATASTORE_TYPE"),
  etcdEndpoints: text("ETCD_ENDPOINTS"),
  etcdDiscoverySrv: text("ETCD_DISCOVERY_SRV"),
  etcdUsername: text("ETCD_USERNAME"),
  etcdPassword: text("ETCD_PASSWORD"),
  etcdKeyFile: text("ETCD_KEY_FILE"),
  etcdCertFile: text("ETCD_CERT_FILE"),
  etcdCACertFile: text("ETCD_CA_CERT_FILE"),
  etcdKey: text(),
  etcdCert: text(),
  etcdCACert: text(),
  kubeconfig: text("KUBECONFIG"),
  kubeconfigInline: text(),
  k8sAPIEndpoint: text("K8S_API_ENDPOINT"),
  k8sKeyFile: text("K8S_KEY_FILE"),
  k8sCertFile: text("K8S_CERT_FILE"),
  k8sCAFile: text("K8S_CA_FILE"),
  k8sAPIToken: text(),
  k8sInsecureSkipTLSVerify: { type: "boolean", variable: "K8S_INSECURE_SKIP_TLS_VERIFY" },
  k8sCurrentContext: text("K8S_CURRENT_CONTEXT"),
  k8sClientQPS: { type: "number", variable: "K8S_CLIENT_QPS" },
  k8sClientBurst: { type: "number", variable: "K8S_CLIENT_BURST" },
  usePodCIDR: { type: "boolean", variable: "USE_POD_CIDR" },
  calicoAPIGroup: text("CALICO_API_GROUP"),
};

/** What is no setting of the datastore, but of the place where we run. */
const OF_THE_PROCESS = ["HOME", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "FELIX_INTERFACEPREFIX"] as const;

const KIND = "CalicoAPIConfig";
const MAX_BYTES = 1 << 20;
const MAX_ALIASES = 100;

/**
 * The datastore that a file of kind CalicoAPIConfig names: all of it stands there, no variable changes any of it. A
 * field that is empty or null is not set.
 *
 * @param env For the place where we run: the home directory, the pod's own account.
 * @throws DatastoreError DATASTORE_BAD_CONFIG, naming file and field, and never the value of a secret.
 */
export function readApiConfigFile(file: string, env: Env): KubernetesDatastoreConfig | EtcdDatastoreConfig {
  return readApiConfig(readText(file), file, env);
}

/** {@link readApiConfigFile} of these contents. */
export function readApiConfig(
  contents: string,
  file: string,
  env: Env,
): KubernetesDatastoreConfig | EtcdDatastoreConfig {
  const values = valuesOf(specOf(contents, file), file);
  const settings: Record<string, string | undefined> = {};
  for (const name of OF_THE_PROCESS) settings[name] = env[name];
  for (const [name, { variable }] of Object.entries(FIELDS)) {
    if (variable !== undefined) settings[variable] = values.get(name);
  }
  const type = values.get("datastoreType") ?? (values.has("etcdEndpoints") ? "etcdv3" : "kubernetes");
  try {
    if (type === "kubernetes") return kubernetesConfig(settings, values);
    if (type === "etcdv3") return etcdConfig(settings, values);
  } catch (error) {
    throw badConfig(file, inWordsOfTheFile(messageOf(error)), error);
  }
  throw badConfig(file, `spec.datastoreType is "${type}", expected "kubernetes" or "etcdv3"`);
}

function kubernetesConfig(settings: Env, values: ReadonlyMap<string, string>): KubernetesDatastoreConfig {
  const [kubeconfigInline, token] = [values.get("kubeconfigInline"), values.get("k8sAPIToken")];
  return {
    ...kubernetesConfigFromEnvironment(settings),
    ...(kubeconfigInline !== undefined && { kubeconfigInline }),
    ...(token !== undefined && { token }),
  };
}

function etcdConfig(settings: Env, values: ReadonlyMap<string, string>): EtcdDatastoreConfig {
  const [keyPem, certPem, caPem] = [values.get("etcdKey"), values.get("etcdCert"), values.get("etcdCACert")];
  return checkedEtcdConfig({
    ...etcdConfigFromEnvironment(settings),
    ...(keyPem !== undefined && { keyPem }),
    ...(certPem !== undefined && { certPem }),
    ...(caPem !== undefined && { caPem }),
  });
}

/** A regular file only: whoever reads settings must not wait for somebody to write them. */
function readText(file: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    const { size } = stat;
    if (!stat.isFile()) throw new Error("it is no file");
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_BYTES}`);
    return readFileSync(fd, "utf8");
  } catch (error) {
    throw badConfig(file, `cannot be read: ${messageOf(error)}`, error);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

function specOf(contents: string, file: string): JsonObject {
  const lineCounter = new LineCounter();
  // Pretty errors show the line, and what secret stands in it.
  const document = parseDocument(contents, { lineCounter, stringKeys: true, prettyErrors: false });
  const [fault] = document.errors;
  if (fault !== undefined) {
    const { line } = lineCounter.linePos(fault.pos[0]);
    throw badConfig(file, `is no YAML or JSON: ${fault.message} (line ${line})`);
  }
  let root: unknown;
  try {
    root = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    throw badConfig(file, `cannot be read: ${messageOf(error)}`, error);
  }
  if (!isObject(root)) throw badConfig(file, `has no ${KIND} in it`);
  const { apiVersion, kind, metadata = {}, spec = {}, ...rest } = root;
  if (apiVersion !== CALICO_V3 || kind !== KIND) {
    const found = `${JSON.stringify(apiVersion) ?? "none"} ${JSON.stringify(kind) ?? "none"}`;
    throw badConfig(file, `apiVersion and kind are ${found.slice(0, 100)}, expected "${CALICO_V3}" "${KIND}"`);
  }
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw badConfig(file, `${unknown}: there is no such field`);
  if (metadata !== null && !isObject(metadata)) throw badConfig(file, "metadata: expected an object");
  if (spec === null) return {};
  if (!isObject(spec)) throw badConfig(file, "spec: expected an object");
  return spec;
}

/** Each field that is set, as text. */
function valuesOf(spec: JsonObject, file: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of Object.entries(spec)) {
    const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (field === undefined) {
      const near = nearestName(name, Object.keys(FIELDS));
      throw badConfig(file, `spec.${name}: there is no such field${near === undefined ? "" : `; is it ${near}?`}`);
    }
    if (value === null || value === "") continue;
    const isScalar = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
    const wanted = field.type === "text" ? "string" : field.type;
    if (!isScalar || typeof value !== wanted) {
      const hint = isScalar && wanted === "string" ? " (put it in quotes)" : "";
      const expected = wanted === "boolean" ? "true or false" : `a ${field.type}`;
      throw badConfig(file, `spec.${name}: expected ${expected}${hint}`);
    }
    values.set(name, String(value));
  }
  return values;
}

/** Whoever reads variables names them; here they are fields. */
function inWordsOfTheFile(message: string): string {
  return message.replaceAll(/\b[A-Z][A-Z0-9_]+\b/g, (word) => {
    const entry = Object.entries(FIELDS).find(([, { variable }]) => variable === word);
    return entry === undefined ? word : `spec.${entry[0]}`;
  });
}

function badConfig(file: string, message: string, cause?: unknown): DatastoreError {
  return new DatastoreError(`${file}: ${message}`, {
    code: "DATASTORE_BAD_CONFIG",
    op: `Read ${KIND}`,
    ...(cause !== undefined && { cause }),
  });
}
