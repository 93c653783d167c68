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

/** True when the pod's addresses are no longer its own. */
export function isFinishedPod({ metadata, status }: PodResource): boolean {
  if (["Succeeded", "Failed", "Completed"].includes(status?.phase ?? "")) return true;
  if (metadata.deletionTimestamp === undefined) return false;
  const { annotations = {} } = metadata;
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

function convert(pod: PodResource, options: PodConversionOptions, issues: ItemIssue[]): WorkloadEndpointResource {
  const { metadata, spec = {} } = pod;
  const namespace = metadata.namespace ?? "";
  const annotations = metadata.annotations ?? {};
  const account = spec.serviceAccountName ?? "";
  const networks = isFinishedPod(pod) ? [] : networksOf(pod);
  const containerID = annotations[ANNOTATIONS.containerID];
  const networkStatus = annotations[ANNOTATIONS.networkStatus];
  const nats = natsOf(annotations[ANNOTATIONS.floatingIPs], networks);
  const prefixes = prefixesOf(annotations[ANNOTATIONS.allowedSourcePrefixes]);
  const ports = portsOf(pod);
  const qosControls = qosControlsOf(annotations, issues);
  const kept = {
    ...(containerID !== undefined && { [ANNOTATIONS.containerID]: containerID }),
    ...(networkStatus !== undefined && { [ANNOTATIONS.networkStatus]: networkStatus }),
  };
  const endpoint: WorkloadEndpointSpec = {
    orchestrator: "k8s",
    node: spec.nodeName ?? "",
    pod: metadata.name,
    endpoint: "eth0",
    interfaceName: workloadInterfaceName(namespace, metadata.name, options.interfacePrefix),
    profiles: [
      NAMESPACE_PROFILE_PREFIX + namespace,
      ...(account === "" ? [] : [`${SERVICE_ACCOUNT_PROFILE_PREFIX}${namespace}.${account}`]),
    ],
    ipNetworks: networks.map(formatCidr),
    ...(containerID !== undefined && { containerID }),
    ...(account !== "" && { serviceAccountName: account }),
    ...(nats.length > 0 && { ipNATs: nats }),
    ...(ports.length > 0 && { ports }),
    ...(prefixes.length > 0 && { allowSpoofedSourcePrefixes: prefixes }),
    ...(qosControls !== undefined && { qosControls }),
  };
  return {
    apiVersion: CALICO_V3,
    kind: "WorkloadEndpoint",
    metadata: {
      name: podEndpointName(pod),
      namespace,
      ...(metadata.generateName !== undefined && { generateName: metadata.generateName }),
      ...(metadata.uid !== undefined && { uid: metadata.uid }),
      ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
      ...(metadata.creationTimestamp !== undefined && { creationTimestamp: metadata.creationTimestamp }),
      labels: {
        ...metadata.labels,
        [NAMESPACE_LABEL]: namespace,
        [ORCHESTRATOR_LABEL]: "k8s",
        ...(account !== "" && account.length <= MAX_SERVICE_ACCOUNT_LABEL && { [SERVICE_ACCOUNT_LABEL]: account }),
      },
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
    },
    spec: endpoint,
  };
}

/** The first source that names an address; the status comes late, the annotations are the CNI plugin's own. */
function networksOf({ metadata, status }: PodResource): Cidr[] {
  const { annotations = {} } = metadata;
  const list = (text: string | undefined): string[] =>
    (text ?? "")
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
  const sources: readonly (readonly [field: string, addresses: readonly string[]])[] = [
    ["status.podIPs", (status?.podIPs ?? []).map(({ ip }) => ip ?? "").filter((ip) => ip !== "")],
    ["status.podIP", list(status?.podIP)],
    [`metadata.annotations.${ANNOTATIONS.podIPs}`, list(annotations[ANNOTATIONS.podIPs])],
    [`metadata.annotations.${ANNOTATIONS.podIP}`, list(annotations[ANNOTATIONS.podIP])],
    [`metadata.annotations.${ANNOTATIONS.awsPodIPs}`, list(annotations[ANNOTATIONS.awsPodIPs])],
  ];
  const [field, addresses] = sources.find(([, found]) => found.length > 0) ?? ["", []];
  return addresses.map((text) => {
    const cidr = parseCidr(text);
    if (cidr === undefined) throw new Unusable(field, `Expected an address, found "${text}"`);
    return cidr;
  });
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
    if (!isHostCidr(own)) throw new Unusable(field, `Needs a pod address, found the network ${formatCidr(own)}`);
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
  for (const container of [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]) {
    const ports: unknown = container?.ports;
    for (const port of Array.isArray(ports) ? (ports as unknown[]) : []) {
      if (!isObject(port)) continue;
      const { name, containerPort, hostPort } = port;
      const protocol = port["protocol"] || "TCP";
      if (typeof containerPort !== "number" || containerPort === 0) continue;
      const isNamed = typeof name === "string" && name !== "";
      const isOnHost = typeof hostPort === "number" && hostPort !== 0;
      if ((!isNamed && !isOnHost) || typeof protocol !== "string" || !PROTOCOLS.has(protocol)) continue;
      out.push({
        ...(isNamed && { name }),
        protocol,
        port: containerPort,
        ...(isOnHost && { hostPort }),
        ...(typeof port["hostIP"] === "string" && port["hostIP"] !== "" && { hostIP: port["hostIP"] }),
      });
    }
  }
  return out;
}
