import type {
  InterfaceAddress,
  Link,
  Route,
  RouteOperation,
  RoutingRule,
  WireguardChange,
  WireguardDevice,
  WireguardPeerChange,
} from "@bulrush/netlink";
import { parseCidr } from "@bulrush/ip";
import type { Family } from "../render/statements.ts";
import type { WireguardHost, WireguardPlan } from "./wireguard-hosts.ts";
import { OWN_PROTOCOL } from "../route/own-protocol.ts";

/** RT_TABLE_UNSPEC, RT_TABLE_DEFAULT, RT_TABLE_MAIN and RT_TABLE_LOCAL. */
const KERNEL_TABLES: ReadonlySet<number> = new Set([0, 253, 254, 255]);
const NO_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

export function hasPrivateKey(device: WireguardDevice): boolean {
  return device.privateKey !== undefined && device.privateKey !== NO_KEY;
}

/** MTU and whether it is up. */
export function planLink(link: Link, mtu: number): RouteOperation[] {
  if (link.mtu === mtu && link.up) return [];
  return [{ kind: "change-link", link: link.index, change: { mtu, up: true } }];
}

/** The one address of the family on the device, or none. */
export function planAddresses(
  device: number,
  wanted: string,
  known: readonly InterfaceAddress[],
  family: Family,
): RouteOperation[] {
  const full = wanted === "" ? undefined : `${wanted}/${family === 4 ? 32 : 128}`;
  const stale: RouteOperation[] = [];
  let isThere = full === undefined;
  for (const address of known) {
    if (address.device !== device || parseCidr(address.address)?.family !== family) continue;
    if (address.address === full) isThere = true;
    // The kernel's own, which IPv6 needs.
    else if (!address.address.startsWith("fe80:")) stale.push({ kind: "delete-address", address });
  }
  if (isThere || full === undefined) return stale;
  // Last what goes: with the last IPv4 address of a device, the kernel drops all of its routes.
  return [{ kind: "replace-address", address: { device, address: full, noDad: true } }, ...stale];
}

export interface WireguardSettings {
  readonly port: number;
  readonly mark: number;
  readonly keepaliveSeconds: number;
}

/**
 * What has to change of the device's settings and peers; `undefined` for nothing. `written`: the endpoint that was last
 * written of each peer. What the kernel has learned since from where packets come is left alone.
 */
export function planDevice(
  device: WireguardDevice,
  settings: WireguardSettings,
  hosts: readonly WireguardHost[],
  written: ReadonlyMap<string, string>,
): WireguardChange | undefined {
  const peers: WireguardPeerChange[] = [];
  const wanted = new Map(hosts.map((host) => [host.publicKey, host]));
  const present = new Map(device.peers.map((peer) => [peer.publicKey, peer]));
  // Ahead of the others: a network moves from one that goes to one that comes.
  for (const publicKey of present.keys()) if (!wanted.has(publicKey)) peers.push({ publicKey, remove: true });
  const { keepaliveSeconds } = settings;
  for (const { endpoint, networks, publicKey } of hosts) {
    const peer = present.get(publicKey);
    const isEndpointSet = peer?.endpoint !== undefined && (written.get(publicKey) ?? peer.endpoint) === endpoint;
    const isSame =
      peer !== undefined &&
      isEndpointSet &&
      peer.keepaliveSeconds === keepaliveSeconds &&
      peer.allowedIps.length === networks.length &&
      networks.every((network) => peer.allowedIps.includes(network));
    if (!isSame)
      peers.push({ publicKey, ...(isEndpointSet ? {} : { endpoint }), keepaliveSeconds, allowedIps: networks });
  }
  const change = {
    ...(device.port === settings.port ? {} : { port: settings.port }),
    ...(device.mark === settings.mark ? {} : { mark: settings.mark }),
    ...(peers.length === 0 ? {} : { peers }),
  };
  return Object.keys(change).length === 0 ? undefined : { name: device.name, ...change };
}

/** Routes of WireGuard's own table: to encrypted hosts by the device, to all others back to the main table. */
export function planRoutes(
  table: number,
  device: number,
  { hosts, isTold, plain }: WireguardPlan,
  known: readonly Route[],
  family: Family,
): RouteOperation[] {
  // What the kernel makes of no metric.
  const shared = { table, protocol: OWN_PROTOCOL, metric: family === 4 ? 0 : 1024 } as const;
  const wanted = new Map<string, Route>();
  for (const destination of plain)
    wanted.set(destination, { ...shared, destination, type: "throw", scope: "universe" });
  if (isTold)
    for (const { networks } of hosts)
      for (const destination of networks)
        wanted.set(destination, { ...shared, destination, device, scope: family === 4 ? "link" : "universe" });
  const deletes: RouteOperation[] = [];
  const writes: RouteOperation[] = [];
  for (const route of known) {
    const wish = wanted.get(route.destination);
    if (wish !== undefined && isSameRoute(route, wish)) wanted.delete(route.destination);
    else if (wish === undefined || family === 6 || (route.metric ?? 0) !== wish.metric)
      deletes.push({ kind: "delete-route", route });
  }
  for (const route of wanted.values()) writes.push({ kind: "replace-route", route });
  return [...deletes, ...writes];
}

function isSameRoute(known: Route, wish: Route): boolean {
  const type = known.type ?? "unicast";
  return (
    type === (wish.type ?? "unicast") &&
    known.protocol === wish.protocol &&
    (known.metric ?? 0) === wish.metric &&
    known.via === undefined &&
    // The kernel hangs IPv6 routes that lead nowhere on the loopback device.
    (type === "throw" || known.device === wish.device)
  );
}

/** The one rule that asks the table: for packets that are not WireGuard's own. */
export function ownRule(family: Family, priority: number, table: number, mark: number): RoutingRule {
  return { family, priority, table, mark: { value: mark, mask: mark }, invert: true, protocol: OWN_PROTOCOL };
}

/**
 * Whether the rule is one that we wrote, with these settings or others: our priority, packets without one bit of the mark,
 * no other condition, and our protocol.
 */
function hasOwnForm({ family, invert, mark, priority, protocol, source }: RoutingRule, own: RoutingRule): boolean {
  return (
    family === own.family &&
    priority === own.priority &&
    invert === true &&
    mark !== undefined &&
    mark.value === mark.mask &&
    mark.value !== 0 &&
    (mark.value & (mark.value - 1)) === 0 &&
    source === undefined &&
    protocol === OWN_PROTOCOL
  );
}

interface WireguardLeftovers {
  readonly rules: readonly RoutingRule[];
  /** Routes are ours by their protocol in the tables that these rules ask. */
  readonly tables: readonly number[];
  /** Routes of ours in this one, if any, may lead to a device that had another name. */
  readonly ownTable: number | undefined;
}

/** What settings of an earlier time left: rules of our form that ask other tables than `own` does, but for the kernel's. */
export function planLeftovers(own: RoutingRule, known: readonly RoutingRule[]): WireguardLeftovers {
  const ours = known.filter((rule) => hasOwnForm(rule, own));
  const rules = ours.filter(({ table }) => table !== own.table && !KERNEL_TABLES.has(table));
  return {
    rules,
    tables: [...new Set(rules.map(({ table }) => table))],
    ownTable: ours.some(({ table }) => table === own.table) ? own.table : undefined,
  };
}

export function isOwnRoute({ protocol }: Route): boolean {
  return protocol === OWN_PROTOCOL;
}

/** Other rules that ask the table are unknown and go; the own one comes last. */
export function planRules(
  wanted: RoutingRule | undefined,
  table: number,
  known: readonly RoutingRule[],
): RouteOperation[] {
  const operations: RouteOperation[] = [];
  let isThere = wanted === undefined;
  for (const rule of known) {
    if (rule.table !== table) continue;
    if (wanted !== undefined && !isThere && isSameRule(rule, wanted)) isThere = true;
    else operations.push({ kind: "delete-rule", rule });
  }
  if (!isThere && wanted !== undefined) operations.push({ kind: "add-rule", rule: wanted });
  return operations;
}

/** But for who made it. */
export function isSameRule(a: RoutingRule, b: RoutingRule): boolean {
  return (
    a.family === b.family &&
    a.priority === b.priority &&
    a.table === b.table &&
    a.mark?.value === b.mark?.value &&
    a.mark?.mask === b.mark?.mask &&
    a.source === b.source &&
    a.invert === b.invert
  );
}
