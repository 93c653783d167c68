import type { RouteUpdate } from "@bulrush/proto";

/** True for this host's own address in the tunnel of IP in IP, which the graph tells as a route. IPv4 only. */
export function isOwnIpipAddress({ dst, tunnel_type: tunnel, types }: RouteUpdate): boolean {
  return types.includes("LOCAL_TUNNEL") && tunnel.ipip && !dst.includes(":");
}
