import { canonicalCidr, formatAddress, parseAddress } from "@bulrush/ip";
import {
  type EndpointPort,
  isObject,
  NAMESPACE_LABEL_PREFIX,
  type NatMapping,
  type Resource,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_LABEL_PREFIX,
  type WorkloadEndpoint,
  type WorkloadEndpointKey,
  type WorkloadEndpointSpec,
} from "@bulrush/model";
import { parseWorkloadName } from "../kubernetes/workload-name.ts";
import { errorAt } from "./issue.ts";
import { isNumericPort, readPort, readProtocol } from "./policy/port.ts";
import { sortedMap } from "./policy/rule.ts";
import { type Processed, processed, type ProcessorInput, simpleProcessor, type UpdateProcessor } from "./processor.ts";

/** Workload endpoints. One without addresses, or that cannot be read, does not exist. */
export function workloadEndpointProcessor(): UpdateProcessor {
  return simpleProcessor(processEndpoint);
}

function processEndpoint({ item, value, issues = [] }: ProcessorInput): Processed {
  const name = parseWorkloadName(item.name);
  if (name === undefined || name.endpoint === "" || item.namespace === "")
    return processed([], [...issues, errorAt("metadata.name", "Not the name of a workload endpoint")]);
  const key: WorkloadEndpointKey = {
    type: "WorkloadEndpoint",
    hostname: name.node,
    orchestrator: name.orchestrator,
    workload: `${item.namespace}/${name.workload}`,
    endpoint: name.endpoint,
  };
  if (value === undefined) return processed([{ key, value: undefined }], issues);
  const endpoint = convert(value);
  if (typeof endpoint === "object" || endpoint === undefined) return processed([{ key, value: endpoint }], issues);
  return processed([{ key, value: undefined }], [...issues, errorAt(endpoint, "Not usable")]);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The endpoint, undefined if it has no addresses, or the field that is no good. */
function convert(resource: Resource): WorkloadEndpoint | string | undefined {
  const spec = (isObject(resource.spec) ? resource.spec : {}) as unknown as WorkloadEndpointSpec;
  const networks = masked(spec.ipNetworks);
  if (networks === undefined) return "spec.ipNetworks";
  if (networks.length === 0) return undefined;
  const spoofed = masked(spec.allowSpoofedSourcePrefixes);
  if (spoofed === undefined) return "spec.allowSpoofedSourcePrefixes";
  const nats = natsOf(spec.ipNATs);
  if (nats === undefined) return "spec.ipNATs";
  const out: Writable<WorkloadEndpoint> = {
    state: "active",
    name: spec.interfaceName ?? "",
    profile_ids: spec.profiles ?? [],
    ipv4_nets: networks.filter((net) => !net.includes(":")),
    ipv6_nets: networks.filter((net) => net.includes(":")),
    labels: labelsOf(resource, spec),
  };
  if (spec.mac) out.mac = spec.mac;
  const v4 = nats.filter(({ ext_ip }) => !ext_ip.includes(":"));
  const v6 = nats.filter(({ ext_ip }) => ext_ip.includes(":"));
  if (v4.length > 0) out.ipv4_nat = v4;
  if (v6.length > 0) out.ipv6_nat = v6;
  for (const family of [4, 6] as const) {
    const text = spec[`ipv${family}Gateway`];
    if (!text) continue;
    const gateway = parseAddress(text);
    if (gateway?.family !== family) return `spec.ipv${family}Gateway`;
    out[`ipv${family}_gateway`] = formatAddress(gateway);
  }
  const ports = portsOf(spec.ports);
  if (ports === undefined) return "spec.ports";
  if (ports.length > 0) out.ports = ports;
  if (resource.metadata.generateName) out.generate_name = resource.metadata.generateName;
  if (spoofed.length > 0) out.allow_spoofed_source_ips = spoofed;
  const annotations = resource.metadata.annotations ?? {};
  if (Object.keys(annotations).length > 0) out.annotations = sortedMap(annotations);
  if (spec.qosControls) out.qosControls = spec.qosControls;
  return out;
}

function masked(nets: readonly string[] | undefined | null): string[] | undefined {
  const out = (nets ?? []).map(canonicalCidr);
  return out.every((net) => net !== undefined) ? out : undefined;
}

function natsOf(nats: WorkloadEndpointSpec["ipNATs"]): NatMapping[] | undefined {
  const out: NatMapping[] = [];
  for (const { internalIP, externalIP } of nats ?? []) {
    const internal = parseAddress(internalIP);
    const external = parseAddress(externalIP);
    if (internal === undefined || external === undefined) return undefined;
    out.push({ int_ip: formatAddress(internal), ext_ip: formatAddress(external) });
  }
  return out;
}

function portsOf(ports: WorkloadEndpointSpec["ports"]): EndpointPort[] | undefined {
  const out: EndpointPort[] = [];
  for (const { name, protocol, port } of ports ?? []) {
    if (!name) continue;
    const [readP, number] = [readProtocol(protocol), readPort(port)];
    if (readP === undefined || number === undefined || !isNumericPort(number)) return undefined;
    out.push({ name, protocol: readP, port: Number(number) });
  }
  return out;
}

/** An endpoint must not name labels that only its profiles may give it. */
function labelsOf({ metadata }: Resource, spec: WorkloadEndpointSpec): ReadonlyMap<string, string> {
  const own = Object.entries(metadata.labels ?? {}).filter(
    ([name]) => !name.startsWith(NAMESPACE_LABEL_PREFIX) && !name.startsWith(SERVICE_ACCOUNT_LABEL_PREFIX),
  );
  const account = spec.serviceAccountName;
  if (account) own.push([SERVICE_ACCOUNT_LABEL, account]);
  return sortedMap(Object.fromEntries(own));
}
