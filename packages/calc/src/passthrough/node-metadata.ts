import { cidrOf, formatCidr, parseAddress, parseCidr } from "@bulrush/ip";
import type { NodeBgpSpec, NodeResource } from "@bulrush/model";
import type { HostMetadataUpdate } from "@bulrush/proto";

/**
 * What the dataplane is told of a node. The address of a family is that of its BGP spec (a network; a bare address there
 * is refused), else that of its first internal, else of its first external address. `undefined` when there is nothing to
 * tell: no node, or a BGP spec in which nothing is set (a node that is about to go).
 */
export function hostMetadata(hostname: string, node: NodeResource | undefined): HostMetadataUpdate | undefined {
  if (node === undefined) return undefined;
  const bgp = node.spec?.bgp;
  if (bgp !== undefined && bgp !== null && isUnset(bgp)) return undefined;
  return {
    msg: "HostMetadataUpdate",
    hostname,
    ipv4_addr: networkOf(bgp?.ipv4Address, 4) ?? fallback(node, 4),
    ipv6_addr: networkOf(bgp?.ipv6Address, 6) ?? fallback(node, 6),
    asnumber: bgp?.asNumber === undefined || bgp.asNumber === null ? "" : String(bgp.asNumber),
    labels: new Map(Object.entries(node.metadata.labels ?? {})),
  };
}

function isUnset(bgp: NodeBgpSpec): boolean {
  return Object.values(bgp).every((value) => value === undefined || value === null || value === "");
}

/** The text as it is (the length says what the host's own subnet is), if it is a network of the family. */
function networkOf(text: string | undefined, family: 4 | 6): string | undefined {
  if (!text?.includes("/")) return undefined;
  return parseCidr(text)?.family === family ? text : undefined;
}

function fallback(node: NodeResource, family: 4 | 6): string {
  for (const type of ["InternalIP", "ExternalIP"])
    for (const entry of node.spec?.addresses ?? []) {
      if (entry.type !== type) continue;
      const address = parseAddress(entry.address);
      if (address?.family === family) return formatCidr(cidrOf(address));
    }
  return "";
}
