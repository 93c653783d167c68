import { wireguardPublicKey } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { clusterRoute } from "./messages.ts";

/** Three hosts, and what the graph tells of them for WireGuard. */

export const DEVICE = "wireguard.cali";
export const TABLE = 1;
export const MARK = 0x200000;
/** What asks the table of WireGuard. */
export const RULE = {
  family: 4,
  priority: 99,
  table: 1,
  mark: { value: 0x200000, mask: 0x200000 },
  invert: true,
  protocol: 80,
} as const;

export const privateKey = (n: number): string => Buffer.alloc(32, n).toString("base64");
const publicKey = (n: number): string => wireguardPublicKey(privateKey(n));
/** The first key that the fake host makes. */
export const OWN: string = publicKey(0x40);
export const ELM: string = publicKey(0x70);
export const ASH: string = publicKey(0x78);

/** Another host, or this one, has a key. */
export const keyOf = (hostname: string, key: string, address = ""): ToDataplane => ({
  msg: "WireguardEndpointUpdate",
  hostname,
  public_key: key,
  interface_ipv4_addr: address,
});
export const host = (hostname: string, address: string, address6 = ""): ToDataplane => ({
  msg: "HostMetadataUpdate",
  hostname,
  ipv4_addr: `${address}/24`,
  ipv6_addr: address6,
  asnumber: "",
  labels: new Map(),
});
export const block = (
  dst: string,
  node: string,
  types: "REMOTE_WORKLOAD" | "LOCAL_WORKLOAD" = "REMOTE_WORKLOAD",
): ToDataplane => clusterRoute(dst, { dst_node_name: node, types: [types], ip_pool_type: "NO_ENCAP" });

/** Oak is this host; elm and ash are others. */
export const CLUSTER: readonly ToDataplane[] = [
  host("oak", "192.168.0.1"),
  host("elm", "192.168.0.2"),
  host("ash", "192.168.0.3"),
  block("10.65.1.0/26", "oak", "LOCAL_WORKLOAD"),
  block("10.65.2.0/26", "elm"),
  block("10.65.3.0/26", "ash"),
];
export const ELM_KEY: ToDataplane = keyOf("elm", ELM, "10.65.2.1");
