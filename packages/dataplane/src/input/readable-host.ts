import { parseAddress } from "@bulrush/ip";
import type {
  HostMetadataUpdate,
  VXLANTunnelEndpointUpdate,
  WireguardEndpointUpdate,
  WireguardEndpointV6Update,
} from "@bulrush/proto";
import { MAC } from "./readable-endpoint.ts";
import type { OnUnreadable } from "./readable-rule.ts";

export type HostMessage =
  | HostMetadataUpdate
  | VXLANTunnelEndpointUpdate
  | WireguardEndpointUpdate
  | WireguardEndpointV6Update;

const isIPv4 = (text: string): boolean => parseAddress(text)?.family === 4;
const isIPv6 = (text: string): boolean => parseAddress(text)?.family === 6;
/** Of a host, with the length of its network or without. */
const isHostIPv4 = (text: string): boolean => isIPv4(text.replace(/\/\d+$/, ""));
const isHostIPv6 = (text: string): boolean => isIPv6(text.replace(/\/\d+$/, ""));
const isMac = (text: string): boolean => MAC.test(text);
/** 32 bytes in base64. */
const isKey = (text: string): boolean => /^[A-Za-z0-9+/]{43}=$/.test(text);

const READABLE: Readonly<Record<HostMessage["msg"], Readonly<Record<string, (text: string) => boolean>>>> = {
  HostMetadataUpdate: { ipv4_addr: isHostIPv4, ipv6_addr: isHostIPv6 },
  VXLANTunnelEndpointUpdate: {
    mac: isMac,
    ipv4_addr: isIPv4,
    parent_device_ip: isIPv4,
    mac_v6: isMac,
    ipv6_addr: isIPv6,
    parent_device_ipv6: isIPv6,
  },
  WireguardEndpointUpdate: { public_key: isKey, interface_ipv4_addr: isIPv4 },
  WireguardEndpointV6Update: { public_key_v6: isKey, interface_ipv6_addr: isIPv6 },
};

/**
 * What is told of a host, each field that cannot be read as if it had none: no tunnel of that family leads to it, and no
 * others are held up.
 */
export function readableHost<T extends HostMessage>(message: T, onUnreadable: OnUnreadable): T {
  const none: Record<string, string> = {};
  const fields = Object.entries(READABLE[message.msg]);
  for (const [field, isReadable] of fields) {
    const value: unknown = message[field as keyof T];
    if (typeof value !== "string" || value === "" || isReadable(value)) continue;
    none[field] = "";
    onUnreadable(field);
  }
  return Object.keys(none).length === 0 ? message : { ...message, ...none };
}
