import { containsAddress, formatAddress, parseAddress, parseCidr } from "@bulrush/ip";
import {
  CALICO_V3,
  isObject,
  isWireguardKey,
  type KubernetesNodeResource,
  type NodeAddressSpec,
  type NodeBgpSpec,
  type NodeResource,
  type NodeSpec,
  parseAsNumber,
} from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { warningAt } from "../process/issue.ts";
import type { Converted } from "./network-policy.ts";

const PREFIX = "projectcalico.org/";

export interface NodeConversionOptions {
  /** Tunnel addresses come from the node's pod CIDR where no annotation names one. */
  readonly usePodCIDR: boolean;
}

/** A Kubernetes Node as a v3 Node. The Calico fields are kept in annotations; one that is no good is left out. */
export function convertKubernetesNode(
  node: KubernetesNodeResource,
  { usePodCIDR }: NodeConversionOptions,
): Converted<NodeResource> {
  const issues: ItemIssue[] = [];
  const { metadata } = node;
  const read = annotationReader(metadata.annotations ?? {}, issues);
  const podCIDRs = podCidrsOf(node);
  const podAddress = usePodCIDR ? firstPodAddress(podCIDRs) : undefined;
  const ipv4Address = read("IPv4Address", familyCidr(4));
  const ipv6Address = read("IPv6Address", familyCidr(6));
  const publicKey = read("WireguardPublicKey", wireguardKey);
  const publicKeyV6 = read("WireguardPublicKeyV6", wireguardKey);
  const bgp = defined<NodeBgpSpec>({
    ipv4Address,
    ipv6Address,
    asNumber: read("ASNumber", asNumber),
    routeReflectorClusterID: read("RouteReflectorClusterID", familyAddress(4)),
    // With pod CIDRs nobody hands out tunnel addresses: an annotation is left from before.
    ipv4IPIPTunnelAddr: podAddress ?? read("IPv4IPIPTunnelAddr", familyAddress(4)),
  });
  const wireguard = defined<NonNullable<NodeSpec["wireguard"]>>({
    interfaceIPv4Address:
      (publicKey === undefined ? undefined : podAddress) ?? read("IPv4WireguardInterfaceAddr", familyAddress(4)),
    interfaceIPv6Address: read("IPv6WireguardInterfaceAddr", familyAddress(6)),
  });
  const addresses = addressesOf(node, [ipv4Address, ipv6Address]);
  const spec = defined<NodeSpec>({
    bgp: filled(bgp),
    ipv4VXLANTunnelAddr: read("IPv4VXLANTunnelAddr", familyAddress(4)),
    vxlanTunnelMACAddr: read("VXLANTunnelMACAddr", anyText),
    ipv6VXLANTunnelAddr: read("IPv6VXLANTunnelAddr", familyAddress(6)),
    vxlanTunnelMACAddrV6: read("VXLANTunnelMACAddrV6", anyText),
    wireguard: filled(wireguard),
    interfaces: interfacesOf(metadata.annotations?.[`${PREFIX}Interfaces`], issues),
    orchRefs: [{ nodeName: metadata.name, orchestrator: "k8s" }],
    addresses: addresses.length > 0 ? addresses : undefined,
  });
  const status = defined<NonNullable<NodeResource["status"]>>({
    wireguardPublicKey: publicKey,
    wireguardPublicKeyV6: publicKeyV6,
    podCIDRs: podCIDRs.length > 0 ? podCIDRs : undefined,
  });
  const resource: NodeResource = {
    apiVersion: CALICO_V3,
    kind: "Node",
    metadata: {
      name: metadata.name,
      ...(metadata.uid !== undefined && { uid: metadata.uid }),
      ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
      ...(metadata.creationTimestamp !== undefined && { creationTimestamp: metadata.creationTimestamp }),
      labels: labelsOf(metadata.annotations?.[`${PREFIX}labels`], metadata.labels, issues),
      ...(metadata.annotations !== undefined && { annotations: metadata.annotations }),
    },
    spec,
    status,
  };
  return { resource, issues };
}

/** Reads a value, or undefined if it is no good. */
type Read = (text: string) => string | undefined;

const anyText: Read = (text) => text;

const wireguardKey: Read = (text) => (isWireguardKey(text) ? text : undefined);

/** A CIDR or address of a family, as given: the length says how big the host's network is. */
function familyCidr(family: 4 | 6): Read {
  return (text) => (parseCidr(text)?.family === family ? text : undefined);
}

function familyAddress(family: 4 | 6): Read {
  return (text) => {
    const address = parseAddress(text);
    return address?.family === family ? formatAddress(address) : undefined;
  };
}

const asNumber: Read = (text) => parseAsNumber(text)?.toString();

function annotationReader(annotations: Readonly<Record<string, string>>, issues: ItemIssue[]) {
  return (name: string, read: Read): string | undefined => {
    const text = annotations[PREFIX + name];
    if (text === undefined || text === "") return undefined;
    const value = read(text);
    if (value === undefined)
      issues.push(warningAt(`metadata.annotations.${PREFIX}${name}`, `Not usable: "${text}"; left out`));
    return value;
  };
}

/** The fields that have a value. */
function defined<T extends object>(fields: { readonly [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

function filled<T extends object>(object: T): T | undefined {
  return Object.keys(object).length > 0 ? object : undefined;
}

function podCidrsOf({ spec }: KubernetesNodeResource): readonly string[] {
  if (spec?.podCIDRs && spec.podCIDRs.length > 0) return spec.podCIDRs;
  return spec?.podCIDR ? [spec.podCIDR] : [];
}

/** Base address plus one of the first IPv4 pod CIDR. */
function firstPodAddress(cidrs: readonly string[]): string | undefined {
  for (const text of cidrs) {
    const cidr = parseCidr(text);
    if (cidr?.family !== 4) continue;
    const first = { family: 4 as const, words: [((cidr.words[0] ?? 0) + 1) >>> 0] };
    return containsAddress(cidr, first) ? formatAddress(first) : undefined;
  }
  return undefined;
}

function addressesOf(node: KubernetesNodeResource, bgp: readonly (string | undefined)[]): readonly NodeAddressSpec[] {
  const out: NodeAddressSpec[] = bgp
    .filter((address) => address !== undefined)
    .map((address) => ({ address, type: "CalicoNodeIP" }));
  for (const { type, address } of node.status?.addresses ?? []) {
    if (
      (type === "InternalIP" || type === "ExternalIP") &&
      address !== undefined &&
      parseAddress(address) !== undefined
    )
      out.push({ address, type });
  }
  return out;
}

/** The host's interfaces, which its agent writes as a JSON list. */
function interfacesOf(annotation: string | undefined, issues: ItemIssue[]): NodeSpec["interfaces"] {
  if (annotation === undefined || annotation === "") return undefined;
  try {
    const list: unknown = JSON.parse(annotation);
    if (Array.isArray(list) && list.every(isInterface)) return list;
  } catch {
    // Named below.
  }
  issues.push(warningAt(`metadata.annotations.${PREFIX}Interfaces`, "Not a JSON list of interfaces; left out"));
  return undefined;
}

type Interface = NonNullable<NodeSpec["interfaces"]>[number];

function isInterface(value: unknown): value is Interface {
  if (!isObject(value) || typeof value["name"] !== "string") return false;
  const addresses = value["addresses"] ?? [];
  return Array.isArray(addresses) && addresses.every((address) => typeof address === "string");
}

/** Calico's own labels are in an annotation; those of Kubernetes win. */
function labelsOf(
  annotation: string | undefined,
  labels: Readonly<Record<string, string>> = {},
  issues: ItemIssue[],
): Readonly<Record<string, string>> {
  if (annotation === undefined) return labels;
  try {
    const own: unknown = JSON.parse(annotation);
    if (isObject(own) && Object.values(own).every((value) => typeof value === "string"))
      return { ...(own as Record<string, string>), ...labels };
  } catch {
    // Named below.
  }
  issues.push(warningAt(`metadata.annotations.${PREFIX}labels`, "Not a JSON object of strings; left out"));
  return labels;
}
