import { canonicalCidr, type Family, formatAddress, parseAddress } from "@bulrush/ip";
import {
  type EndpointPort,
  isObject,
  NAMESPACE_LABEL_PREFIX,
  type NatMapping,
  type Resource,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_LABEL_PREFIX,
  type StringMap,
  type WorkloadEndpoint,
  type WorkloadEndpointKey,
  type WorkloadEndpointSpec,
} from "@bulrush/model";
import { parseWorkloadName } from "../kubernetes/workload-name.ts";
import type { ItemIssue } from "../driver/item-issue.ts";
import { errorAt } from "./issue.ts";
import { readPort, readProtocol } from "./policy/port.ts";
import { type Processed, processed, type ProcessorInput, simpleProcessor, type UpdateProcessor } from "./processor.ts";
import { boundQos } from "./qos-bounds.ts";
import { SharedParts } from "./shared-parts.ts";
import { sortedMap } from "./sorted-map.ts";

/** Workload endpoints. One without addresses, or that cannot be read, does not exist. */
export function workloadEndpointProcessor(): UpdateProcessor {
  const parts = new SharedParts();
  return simpleProcessor((input) => processEndpoint(input, parts));
}

function processEndpoint({ item, value, issues = [] }: ProcessorInput, parts: SharedParts): Processed {
  const name = parseWorkloadName(item.name);
  if (name === undefined || name.endpoint === "" || item.namespace === "")
    return processed([], [...issues, errorAt("metadata.name", "Not the name of a workload endpoint")]);
  const key: WorkloadEndpointKey = {
    type: "WorkloadEndpoint",
    hostname: parts.text(name.node),
    orchestrator: parts.text(name.orchestrator),
    // Joined, it is one text; put together by a template it would keep its parts beside it.
    workload: [item.namespace, name.workload].join("/"),
    endpoint: parts.text(name.endpoint),
  };
  if (value === undefined) return processed([{ key, value: undefined }], issues);
  const found = [...issues];
  const endpoint = convert(value, parts, found);
  if (typeof endpoint === "object" || endpoint === undefined) return processed([{ key, value: endpoint }], found);
  return processed([{ key, value: undefined }], [...found, errorAt(endpoint, "Not usable")]);
}

const NONE: readonly string[] = [];
const NO_LABELS: StringMap = {};

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The endpoint, undefined if it has no addresses, or the field that is no good. */
function convert(resource: Resource, parts: SharedParts, issues: ItemIssue[]): WorkloadEndpoint | string | undefined {
  const spec = (isObject(resource.spec) ? resource.spec : {}) as unknown as WorkloadEndpointSpec;
  const networks = masked(spec.ipNetworks);
  // More than its own address would lay claim to those of others.
  if (networks === undefined || !networks.every(isOneAddress)) return "spec.ipNetworks";
  if (networks.length === 0) return undefined;
  const spoofed = masked(spec.allowSpoofedSourcePrefixes);
  if (spoofed === undefined) return "spec.allowSpoofedSourcePrefixes";
  const v4 = networks.filter((net) => !net.includes(":"));
  const v6 = networks.filter((net) => net.includes(":"));
  const out: Writable<WorkloadEndpoint> = {
    state: "active",
    name: spec.interfaceName ?? "",
    profile_ids: parts.plain(spec.profiles ?? NONE),
    ipv4_nets: v4.length === 0 ? NONE : v4,
    ipv6_nets: v6.length === 0 ? NONE : v6,
    labels: parts.map(resource.metadata.labels ?? NO_LABELS, spec.serviceAccountName ?? "", labelsOf),
  };
  if (spec.mac) out.mac = spec.mac;
  if (!addNats(out, spec.ipNATs)) return "spec.ipNATs";
  if (spec.ipv4Gateway) {
    const gateway = gatewayOf(spec.ipv4Gateway, 4);
    if (gateway === undefined) return "spec.ipv4Gateway";
    out.ipv4_gateway = gateway;
  }
  if (spec.ipv6Gateway) {
    const gateway = gatewayOf(spec.ipv6Gateway, 6);
    if (gateway === undefined) return "spec.ipv6Gateway";
    out.ipv6_gateway = gateway;
  }
  if (!addPorts(out, spec.ports, parts)) return "spec.ports";
  if (resource.metadata.generateName) out.generate_name = parts.text(resource.metadata.generateName);
  if (spoofed.length > 0) out.allow_spoofed_source_ips = spoofed;
  const annotations = sortedMap(resource.metadata.annotations ?? {});
  if (annotations.size > 0) out.annotations = annotations;
  const controls = spec.qosControls ? boundQos(spec.qosControls, issues) : undefined;
  if (controls !== undefined) out.qosControls = controls;
  return out;
}

function masked(nets: readonly string[] | undefined | null): string[] | undefined {
  const out: string[] = [];
  for (const net of nets ?? []) {
    const cidr = canonicalCidr(net);
    if (cidr === undefined) return undefined;
    out.push(cidr);
  }
  return out;
}

function isOneAddress(net: string): boolean {
  return net.endsWith(net.includes(":") ? "/128" : "/32");
}

/** False for an address that cannot be read. */
function addNats(out: Writable<WorkloadEndpoint>, nats: WorkloadEndpointSpec["ipNATs"]): boolean {
  for (const { internalIP, externalIP } of nats ?? []) {
    const internal = parseAddress(internalIP);
    const external = parseAddress(externalIP);
    if (internal === undefined || external === undefined) return false;
    const nat: NatMapping = { int_ip: formatAddress(internal), ext_ip: formatAddress(external) };
    if (external.family === 4) out.ipv4_nat = [...(out.ipv4_nat ?? []), nat];
    else out.ipv6_nat = [...(out.ipv6_nat ?? []), nat];
  }
  return true;
}

function gatewayOf(text: string, family: Family): string | undefined {
  const address = parseAddress(text);
  return address?.family === family ? formatAddress(address) : undefined;
}

/** Takes the ports with a name. False for one that cannot be read. */
function addPorts(out: Writable<WorkloadEndpoint>, ports: WorkloadEndpointSpec["ports"], parts: SharedParts): boolean {
  const named: EndpointPort[] = [];
  for (const { name, protocol, port } of ports ?? []) {
    if (!name) continue;
    const [readP, number] = [readProtocol(protocol), readPort(port)];
    if (readP === undefined || typeof number !== "number") return false;
    named.push({ name, protocol: readP, port: number });
  }
  if (named.length > 0) out.ports = parts.plain(named);
  return true;
}

/** An endpoint must not name labels that only its profiles may give it. */
function labelsOf(labels: StringMap, serviceAccount: string): ReadonlyMap<string, string> {
  const out = sortedMap(labels, serviceAccount === "" ? undefined : [[SERVICE_ACCOUNT_LABEL, serviceAccount]]);
  for (const name of out.keys())
    if (name.startsWith(NAMESPACE_LABEL_PREFIX) || name.startsWith(SERVICE_ACCOUNT_LABEL_PREFIX)) out.delete(name);
  return out;
}
