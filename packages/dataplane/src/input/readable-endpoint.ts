import { isHostCidr, parseAddress, parseCidr } from "@bulrush/ip";
import type { DataplaneHostEndpoint, DataplaneWorkloadEndpoint } from "@bulrush/proto";
import type { OnUnreadable } from "./readable-rule.ts";

export const MAC: RegExp = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i;
const MAX_DSCP = 63;

/** Bounds above it are none: the kernel takes the others' numbers in 32 bits. */
const MOST: Readonly<Record<string, number>> = {
  PacketRate: 0xffffffff,
  PacketBurst: 0xffffffff,
  MaxConnections: 0xffffffff,
};

type QosPolicies = DataplaneWorkloadEndpoint["qos_policies"];
type QosControls = DataplaneWorkloadEndpoint["qos_controls"];

/**
 * The endpoint without what cannot be read of it: an address that is none has no route, a prefix that is none may not be
 * spoofed. The rest of it, its policy above all, is as it was. The same object, where there is nothing of the kind.
 */
export function readableWorkload(
  endpoint: DataplaneWorkloadEndpoint,
  onUnreadable: OnUnreadable,
): DataplaneWorkloadEndpoint {
  const { allow_spoofed_source_prefixes: spoofed, ipv4_nets, ipv6_nets, mac, qos_controls, qos_policies } = endpoint;
  const is = (family: 4 | 6) => (net: string) => parseCidr(net)?.family === family;
  const read = {
    ipv4_nets: kept(ipv4_nets, is(4), "ipv4_nets", onUnreadable),
    ipv6_nets: kept(ipv6_nets, is(6), "ipv6_nets", onUnreadable),
    allow_spoofed_source_prefixes: kept(
      spoofed,
      (net) => parseCidr(net) !== undefined,
      "allow_spoofed_source_prefixes",
      onUnreadable,
    ),
    mac: mac === "" || MAC.test(mac) ? mac : "",
    qos_policies: readableDscps(qos_policies, onUnreadable),
  };
  if (read.mac !== mac) onUnreadable("mac");
  const controls = readableControls(qos_controls, onUnreadable);
  const isSame =
    read.ipv4_nets === ipv4_nets &&
    read.ipv6_nets === ipv6_nets &&
    read.allow_spoofed_source_prefixes === spoofed &&
    read.mac === mac &&
    read.qos_policies === qos_policies &&
    controls === qos_controls;
  return isSame ? endpoint : { ...endpoint, ...read, ...(controls === undefined ? {} : { qos_controls: controls }) };
}

/** As {@link readableWorkload}. */
export function readableHostEndpoint(
  endpoint: DataplaneHostEndpoint,
  onUnreadable: OnUnreadable,
): DataplaneHostEndpoint {
  const { expected_ipv4_addrs: v4, expected_ipv6_addrs: v6, qos_policies } = endpoint;
  const is = (family: 4 | 6) => (text: string) => isAddress(text, family);
  const read = {
    expected_ipv4_addrs: kept(v4, is(4), "expected_ipv4_addrs", onUnreadable),
    expected_ipv6_addrs: kept(v6, is(6), "expected_ipv6_addrs", onUnreadable),
    qos_policies: readableDscps(qos_policies, onUnreadable),
  };
  const isSame =
    read.expected_ipv4_addrs === v4 && read.expected_ipv6_addrs === v6 && read.qos_policies === qos_policies;
  return isSame ? endpoint : { ...endpoint, ...read };
}

function isAddress(text: string, family: 4 | 6): boolean {
  if (parseAddress(text)?.family === family) return true;
  const cidr = parseCidr(text);
  return cidr !== undefined && cidr.family === family && isHostCidr(cidr);
}

function readableDscps(policies: QosPolicies, onUnreadable: OnUnreadable): QosPolicies {
  return kept(policies, ({ dscp }) => Number.isInteger(dscp) && dscp >= 0 && dscp <= MAX_DSCP, "DSCP", onUnreadable);
}

/** Whole numbers; one that is none, or less than nothing, is no bound. */
function readableControls(controls: QosControls, onUnreadable: OnUnreadable): QosControls {
  let changed: Record<string, number | undefined> | undefined;
  for (const [name, value] of Object.entries(controls ?? {})) {
    if (value === undefined) continue;
    const most = MOST[name.replace(/^(?:in|e)gress/, "")] ?? Number.MAX_SAFE_INTEGER;
    const read = value >= 0 && value !== Infinity ? Math.min(most, Math.ceil(value)) : undefined;
    if (read === value) continue;
    onUnreadable(`${name} of ${value}`);
    changed ??= { ...controls };
    changed[name] = read;
  }
  return changed ?? controls;
}

function kept<T>(
  list: readonly T[],
  isReadable: (value: T) => boolean,
  field: string,
  onUnreadable: OnUnreadable,
): readonly T[] {
  if (list.every(isReadable)) return list;
  onUnreadable(field);
  return list.filter(isReadable);
}
