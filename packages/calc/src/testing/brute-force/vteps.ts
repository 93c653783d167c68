import { sha1 } from "@bulrush/base";
import type { NodeResource } from "@bulrush/model";
import { entriesOf, resourcesOf, type View } from "./contents.ts";
import { nodeAddresses } from "./routes.ts";

/**
 * The VXLAN tunnel ends of all nodes: a family counts when the node has both an address and a tunnel address in it. The
 * address is the one that routes go to, so that a node without a BGP spec has a tunnel too.
 */
export function expectedVteps(view: View): Record<string, unknown> {
  if (!view.config.vxlanEnabled && !view.config.vxlanEnabledV6) return {};
  const out: Record<string, unknown> = {};
  const setting = (node: string, name: string): string =>
    entriesOf(view.contents, "HostConfig").find(([key]) => key.hostname === node && key.name === name)?.[1] ?? "";
  for (const [{ name: node }, resource] of resourcesOf(view.contents, "Node")) {
    const { 4: v4, 6: v6 } = nodeAddresses(resource as NodeResource);
    const tunnel4 = v4 === "" ? "" : setting(node, "IPv4VXLANTunnelAddr");
    const tunnel6 = v6 === "" ? "" : setting(node, "IPv6VXLANTunnelAddr");
    if (tunnel4 === "" && tunnel6 === "") continue;
    const mac = setting(node, "VXLANTunnelMACAddr") || derivedMac(node);
    const macV6 = setting(node, "VXLANTunnelMACAddrV6") || derivedMac(`${node}-v6`);
    out[node] = {
      msg: "VXLANTunnelEndpointUpdate",
      node,
      mac: tunnel4 === "" ? "" : mac,
      ipv4_addr: tunnel4,
      parent_device_ip: tunnel4 === "" ? "" : v4,
      mac_v6: tunnel6 === "" ? "" : macV6,
      ipv6_addr: tunnel6,
      parent_device_ipv6: tunnel6 === "" ? "" : v6,
    };
  }
  return out;
}

function derivedMac(seed: string): string {
  return [0x66, ...sha1(seed).slice(0, 5)].map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}
