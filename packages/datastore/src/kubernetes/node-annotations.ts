import { isObject, type NodeResource, type NodeSpec } from "@bulrush/model";

const PREFIX = "projectcalico.org/";

/** An annotation to set, or null to take it away. */
export type AnnotationPatch = Readonly<Record<string, string | null>>;

/**
 * The annotations of a Kubernetes Node that say what a v3 Node says, for a merge patch: what `convertKubernetesNode`
 * reads. What a Kubernetes Node says itself (addresses, pod CIDRs, its own labels) is not the writer's to change.
 *
 * @param kubernetesLabels The labels of the Kubernetes Node: what is equal to them is not kept a second time.
 */
export function nodeAnnotations(
  node: NodeResource,
  kubernetesLabels: Readonly<Record<string, string>>,
): AnnotationPatch {
  const spec: NodeSpec = isObject(node.spec) ? node.spec : {};
  const { bgp, wireguard } = spec;
  const own = Object.entries(node.metadata.labels ?? {}).filter(([name, value]) => kubernetesLabels[name] !== value);
  const fields: Readonly<Record<string, string | number | undefined>> = {
    IPv4Address: bgp?.ipv4Address,
    IPv6Address: bgp?.ipv6Address,
    ASNumber: bgp?.asNumber,
    RouteReflectorClusterID: bgp?.routeReflectorClusterID,
    IPv4IPIPTunnelAddr: bgp?.ipv4IPIPTunnelAddr,
    IPv4VXLANTunnelAddr: spec.ipv4VXLANTunnelAddr,
    VXLANTunnelMACAddr: spec.vxlanTunnelMACAddr,
    IPv6VXLANTunnelAddr: spec.ipv6VXLANTunnelAddr,
    VXLANTunnelMACAddrV6: spec.vxlanTunnelMACAddrV6,
    IPv4WireguardInterfaceAddr: wireguard?.interfaceIPv4Address,
    IPv6WireguardInterfaceAddr: wireguard?.interfaceIPv6Address,
    WireguardPublicKey: node.status?.wireguardPublicKey,
    WireguardPublicKeyV6: node.status?.wireguardPublicKeyV6,
    Interfaces: spec.interfaces && spec.interfaces.length > 0 ? JSON.stringify(spec.interfaces) : undefined,
    labels: own.length > 0 ? JSON.stringify(Object.fromEntries(own)) : undefined,
  };
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      PREFIX + name,
      value === undefined || value === "" ? null : String(value),
    ]),
  );
}
