import { canonicalCidr, type Cidr, cidrOf, formatCidr, parseAddress, parseCidr, isHostCidr } from "@bulrush/ip";
import {
  CALICO_V3,
  type EndpointPortSpec,
  isObject,
  NAMESPACE_LABEL,
  NAMESPACE_PROFILE_PREFIX,
  type NatSpec,
  ORCHESTRATOR_LABEL,
  type PodResource,
  type ResourceMetadata,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_PROFILE_PREFIX,
  type WorkloadEndpointResource,
  type WorkloadEndpointSpec,
} from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { messageOf } from "@bulrush/base";
import { errorAt } from "../process/issue.ts";
import { qosControlsOf } from "./qos.ts";
import { formatWorkloadName, workloadInterfaceName } from "./workload-name.ts";

const ANNOTATIONS = {
  podIP: "cni.projectcalico.org/podIP",
  podIPs: "cni.projectcalico.org/podIPs",
  awsPodIPs: "vpc.amazonaws.com/pod-ips",
  containerID: "cni.projectcalico.org/containerID",
  floatingIPs: "cni.projectcalico.org/floatingIPs",
  allowedSourcePrefixes: "cni.projectcalico.org/allowedSourcePrefixes",
  networkStatus: "k8s.v1.cni.cncf.io/network-status",
} as const;

/** What the endpoint keeps of the pod's annotations. */
const KEPT_ANNOTATIONS = [ANNOTATIONS.containerID, ANNOTATIONS.networkStatus] as const;

/** Longer names do not fit into a label value. */
const MAX_SERVICE_ACCOUNT_LABEL = 62;

export interface PodConversionOptions {
  /** FELIX_INTERFACEPREFIX; the first of a comma-separated list. Default "cali". */
  readonly interfacePrefix?: string;
}

/** `resource` undefined: the pod cannot be converted, `issues` say why. */
export interface ConvertedPod {
  readonly resource: WorkloadEndpointResource | undefined;
  readonly issues: readonly ItemIssue[];
}

/**
 * True for a pod that has an endpoint: on a node and with a network of its own. The phase plays no part, so that an
 * endpoint never goes away because a pod ends: it loses its addresses.
 */
export function isVisiblePod({ spec }: PodResource): boolean {
  return typeof spec?.nodeName === "string" && spec.nodeName !== "" && spec.hostNetwork !== true;
}

/** The name of a visible pod's workload endpoint. Throws DATASTORE_MALFORMED. */
export function podEndpointName(pod: PodResource): string {
  return formatWorkloadName({
    node: pod.spec?.nodeName ?? "",
    orchestrator: "k8s",
    workload: pod.metadata.name,
    endpoint: "eth0",
  });
}

const FINISHED: ReadonlySet<string | undefined> = new Set(["Succeeded", "Failed", "Completed"]);

/** True when the pod's addresses are no longer its own. */
export function isFinishedPod({ metadata, status }: PodResource): boolean {
  if (FINISHED.has(status?.phase)) return true;
  if ((metadata.deletionTimestamp ?? undefined) === undefined) return false;
  const annotations = metadata.annotations ?? {};
  // Blank but there: the CNI plugin has released the addresses.
  return annotations[ANNOTATIONS.podIP] === "" || annotations[ANNOTATIONS.awsPodIPs] === "";
}

/** A visible pod as a workload endpoint. */
export function convertPod(pod: PodResource, options: PodConversionOptions = {}): ConvertedPod {
  const issues: ItemIssue[] = [];
  try {
    return { resource: convert(pod, options, issues), issues };
  } catch (error) {
    const issue = error instanceof Unusable ? error.issue : errorAt("", messageOf(error));
    return { resource: undefined, issues: [...issues, issue] };
  }
}

/** Carries an issue out of the conversion. */
class Unusable extends Error {
  readonly issue: ItemIssue;

  constructor(field: string, message: string) {
    super(message);
    this.issue = errorAt(field, message);
  }
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/*
 * Runs for every pod of a cluster. Fields are set one by one where they are there: an object literal with a conditional
 * spread for each took three times as long.
 */
function convert(pod: PodResource, options: PodConversionOptions, issues: ItemIssue[]): WorkloadEndpointResource {
  const { metadata, spec = {} } = pod;
  const namespace = metadata.namespace ?? "";
  const annotations = metadata.annotations ?? {};
  const account = spec.serviceAccountName ?? "";
  const networks = isFinishedPod(pod) ? [] : networksOf(pod);
  const nats = natsOf(annotations[ANNOTATIONS.floatingIPs], networks);
  const prefixes = prefixesOf(annotations[ANNOTATIONS.allowedSourcePrefixes]);
  const ports = portsOf(pod);
  const qosControls = qosControlsOf(annotations, issues);
  const containerID = annotations[ANNOTATIONS.containerID];
  const profiles = [NAMESPACE_PROFILE_PREFIX + namespace];
  if (account !== "") profiles.push(`${SERVICE_ACCOUNT_PROFILE_PREFIX}${namespace}.${account}`);
  const endpoint: Writable<WorkloadEndpointSpec> = {
    orchestrator: "k8s",
    node: spec.nodeName ?? "",
    pod: metadata.name,
    endpoint: "eth0",
    interfaceName: workloadInterfaceName(namespace, metadata.name, options.interfacePrefix),
    profiles,
    ipNetworks: networks.map(formatCidr),
  };
  if (containerID !== undefined) endpoint.containerID = containerID;
  if (account !== "") endpoint.serviceAccountName = account;
  if (nats.length > 0) endpoint.ipNATs = nats;
  if (ports.length > 0) endpoint.ports = ports;
  if (prefixes.length > 0) endpoint.allowSpoofedSourcePrefixes = prefixes;
  if (qosControls !== undefined) endpoint.qosControls = qosControls;
  return {
    apiVersion: CALICO_V3,
    kind: "WorkloadEndpoint",
    metadata: metadataOf(pod, namespace, account),
    spec: endpoint,
  };
}

function metadataOf(pod: PodResource, namespace: string, account: string): ResourceMetadata {
  const { uid, resourceVersion, generateName, creationTimestamp, annotations = {} } = pod.metadata;
  const labels: Record<string, string> = { ...pod.metadata.labels };
  labels[NAMESPACE_LABEL] = namespace;
  labels[ORCHESTRATOR_LABEL] = "k8s";
  if (account !== "" && account.length <= MAX_SERVICE_ACCOUNT_LABEL) labels[SERVICE_ACCOUNT_LABEL] = account;
  const metadata: Writable<ResourceMetadata> = { name: podEndpointName(pod), namespace, labels };
  if (generateName !== undefined) metadata.generateName = generateName;
  if (uid !== undefined) metadata.uid = uid;
  if (resourceVersion !== undefined) metadata.resourceVersion = resourceVersion;
  if (creationTimestamp !== undefined) metadata.creationTimestamp = creationTimestamp;
  const kept: Record<string, string> = {};
  let hasKept = false;
  for (const name of KEPT_ANNOTATIONS) {
    const text = annotations[name];
    if (text === undefined) continue;
    kept[name] = text;
    hasKept = true;
  }
  if (hasKept) metadata.annotations = kept;
  return metadata;
}

/** The addresses of a comma-separated list, each trimmed; none for what is absent. */
function listed(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return NO_TEXTS;
  if (!text.includes(",")) return text.trim() === "" ? NO_TEXTS : [text.trim()];
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

const NO_TEXTS: readonly string[] = [];

/** The sources of a pod's addresses in the order in which they count. */
const ADDRESS_SOURCES: readonly (readonly [field: string, read: (pod: PodResource) => readonly string[]])[] = [
  ["status.podIPs", ({ status }) => (status?.podIPs ?? []).map(({ ip }) => ip ?? "").filter((ip) => ip !== "")],
  ["status.podIP", ({ status }) => listed(status?.podIP)],
  ...[ANNOTATIONS.podIPs, ANNOTATIONS.podIP, ANNOTATIONS.awsPodIPs].map(
    (name): readonly [string, (pod: PodResource) => readonly string[]] => [
      `metadata.annotations.${name}`,
      ({ metadata }) => listed(metadata.annotations?.[name]),
    ],
  ),
];

/** The first source that names an address; the status comes late, the annotations are the CNI plugin's own. */
function networksOf(pod: PodResource): Cidr[] {
  for (const [field, read] of ADDRESS_SOURCES) {
    const addresses = read(pod);
    if (addresses.length === 0) continue;
    return addresses.map((text) => {
      const cidr = parseCidr(text);
      // A network would lay claim to the addresses of others.
      if (cidr === undefined || !isHostCidr(cidr)) throw new Unusable(field, `Expected an address, found "${text}"`);
      return cidr;
    });
  }
  return [];
}

function jsonStrings(field: string, text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return [];
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return value;
  } catch {
    // Named below.
  }
  throw new Unusable(`metadata.annotations.${field}`, `Expected a JSON list of strings, found ${text.slice(0, 60)}`);
}

/** Each floating address to the pod's own address of its family. */
function natsOf(text: string | undefined, networks: readonly Cidr[]): readonly NatSpec[] {
  const out: NatSpec[] = [];
  for (const external of jsonStrings(ANNOTATIONS.floatingIPs, text)) {
    const address = parseAddress(external);
    const field = `metadata.annotations.${ANNOTATIONS.floatingIPs}`;
    if (address === undefined) throw new Unusable(field, `Expected an address, found "${external}"`);
    const own = networks.find((network) => network.family === address.family);
    if (own === undefined) continue;
    const [internal = ""] = formatCidr(own).split("/");
    out.push({ internalIP: internal, externalIP: formatCidr(cidrOf(address)).split("/")[0] ?? "" });
  }
  return out;
}

function prefixesOf(text: string | undefined): readonly string[] {
  return jsonStrings(ANNOTATIONS.allowedSourcePrefixes, text).map((prefix) => {
    const cidr = canonicalCidr(prefix);
    if (cidr === undefined)
      throw new Unusable(
        `metadata.annotations.${ANNOTATIONS.allowedSourcePrefixes}`,
        `Expected a CIDR, found ${JSON.stringify(prefix)}`,
      );
    return cidr;
  });
}

const PROTOCOLS: ReadonlySet<string> = new Set(["TCP", "UDP", "SCTP"]);

/** The ports that something can refer to: by name, or on the host. */
function portsOf({ spec }: PodResource): readonly EndpointPortSpec[] {
  const out: EndpointPortSpec[] = [];
  for (const containers of [spec?.containers, spec?.initContainers]) {
    for (const container of containers ?? []) {
      const ports: unknown = container?.ports;
      if (!Array.isArray(ports)) continue;
      for (const port of ports as unknown[]) {
        const read = portOf(port);
        if (read !== undefined) out.push(read);
      }
    }
  }
  return out;
}

function portOf(value: unknown): EndpointPortSpec | undefined {
  if (!isObject(value)) return undefined;
  const { name, containerPort, hostPort, hostIP } = value;
  const protocol = value["protocol"] || "TCP";
  if (typeof containerPort !== "number" || containerPort === 0) return undefined;
  if (typeof protocol !== "string" || !PROTOCOLS.has(protocol)) return undefined;
  const isNamed = typeof name === "string" && name !== "";
  const isOnHost = typeof hostPort === "number" && hostPort !== 0;
  if (!isNamed && !isOnHost) return undefined;
  const port: Writable<EndpointPortSpec> = { protocol, port: containerPort };
  if (isNamed) port.name = name;
  if (isOnHost) port.hostPort = hostPort;
  if (typeof hostIP === "string" && hostIP !== "") port.hostIP = hostIP;
  return port;
}
