import { compareStrings } from "@bulrush/base";
import type { Neighbour, RouteOperation } from "@bulrush/netlink";

/** The other end of a tunnel. */
export interface VxlanPeer {
  /** Its address in the tunnel. */
  readonly address: string;
  readonly mac: string;
  /** The address of its host. */
  readonly host: string;
}

/** NUD_PERMANENT (linux/neighbour.h). */
const PERMANENT = 0x80;

/**
 * What makes the neighbours (tunnel address to MAC) and forwarding entries (MAC to host) of the tunnel device those of
 * the peers. Entries that are not permanent, or without a MAC, are the kernel's or somebody else's. Of peers that share
 * a MAC, the one with the lowest address has the forwarding entry.
 */
export function planPeers(
  device: number,
  peers: Iterable<VxlanPeer>,
  neighbours: readonly Neighbour[],
  forwarding: readonly Neighbour[],
): RouteOperation[] {
  const macs = new Map<string, string>();
  const hosts = new Map<string, string>();
  for (const { address, host, mac } of [...peers].sort((a, b) => compareStrings(a.address, b.address))) {
    macs.set(address, mac);
    if (!hosts.has(mac)) hosts.set(mac, host);
  }
  return [
    ...differences(device, macs, neighbours, { key: "address", value: "mac" }),
    ...differences(device, hosts, forwarding, { key: "mac", value: "address" }),
  ];
}

function differences(
  device: number,
  wanted: ReadonlyMap<string, string>,
  listed: readonly Neighbour[],
  { key, value }: { readonly key: "address" | "mac"; readonly value: "address" | "mac" },
): RouteOperation[] {
  const isForwarding = key === "mac" ? { forwarding: true } : {};
  const operations: RouteOperation[] = [];
  const present = new Map<string, Neighbour[]>();
  for (const entry of listed) {
    const name = entry[key];
    if (entry.device !== device || name === undefined || entry.mac === undefined) continue;
    if (((entry.state ?? 0) & PERMANENT) === 0) continue;
    if (!wanted.has(name)) operations.push({ kind: "delete-neighbour", neighbour: entry });
    else present.set(name, [...(present.get(name) ?? []), entry]);
  }
  for (const [name, target] of wanted) {
    const entries = present.get(name) ?? [];
    const others = entries.filter((entry) => entry[value] !== target);
    // A MAC may lead to several hosts: a replacement takes the place of one of them, and the others stay.
    const isThere = others.length < entries.length;
    for (const neighbour of isThere ? others : others.slice(1))
      operations.push({ kind: "delete-neighbour", neighbour });
    if (isThere) continue;
    operations.push({
      kind: "replace-neighbour",
      neighbour: { device, state: PERMANENT, ...isForwarding, ...entryOf(key, name, target) },
    });
  }
  return operations;
}

function entryOf(key: "address" | "mac", name: string, target: string): { address: string; mac: string } {
  return key === "address" ? { address: name, mac: target } : { address: target, mac: name };
}
