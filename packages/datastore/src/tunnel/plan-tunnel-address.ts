import { containsAddress, parseAddress } from "@bulrush/ip";
import type { Assignment } from "./block.ts";
import type { AddressPool } from "./eligible-pools.ts";
import { tunnelAttributes, tunnelHandle, type TunnelKind } from "./tunnel-kind.ts";

/** What decides about the address of one device. */
export interface TunnelState {
  readonly kind: TunnelKind;
  readonly node: string;
  readonly pools: readonly Pick<AddressPool, "cidr">[];
  /** What the node says; "" for nothing. */
  readonly address: string;
  /** What IPAM says of that address; undefined: it is not assigned. */
  readonly assignment: Assignment | undefined;
}

/**
 * What is let go first. `handle`: all that the device's handle has, if anything. `handle-else-address`: where IPAM does
 * not know the handle, the address of the node's field. `address`: that only.
 */
type TunnelRelease = "none" | "handle" | "handle-else-address" | "address";

/** `clear`: the node's field goes. `re-claim`: the same address, noted as ours; another one if it is taken by then. */
export type TunnelPlan =
  | { readonly action: "keep" }
  | { readonly action: "re-claim" }
  | { readonly action: "clear" | "assign"; readonly release: TunnelRelease };

/**
 * What to do about the address of a device. Pure.
 *
 * | pools | field | what IPAM says of it | plan |
 * |---|---|---|---|
 * | none | any | any | clear, release by handle; else the address if nobody's, or under our handle |
 * | some | empty | | release by handle, assign |
 * | | set | ours, in one of the pools | keep |
 * | | | ours, in none of them | release, assign |
 * | | | handle without attributes | a pod's: assign |
 * | | | neither handle nor attributes | re-claim (in none of the pools: release, assign) |
 * | | | somebody else's | assign |
 * | | | not assigned | release by handle, assign |
 *
 * Our own handle without attributes counts as no handle: it can be nobody else's, and would be lost otherwise.
 */
export function planTunnelAddress({ kind, node, pools, address, assignment }: TunnelState): TunnelPlan {
  const handle = tunnelHandle(kind, node);
  const isBare = assignment?.attributes.size === 0 && (assignment.handle === "" || assignment.handle === handle);
  if (pools.length === 0) {
    const isOurs = isBare || assignment?.handle === handle;
    return { action: "clear", release: isOurs ? "handle-else-address" : "handle" };
  }
  if (assignment === undefined) return { action: "assign", release: "handle" };
  const parsed = parseAddress(address);
  const isInPool = parsed !== undefined && pools.some(({ cidr }) => containsAddress(cidr, parsed));
  if (isBare) return isInPool ? { action: "re-claim" } : { action: "assign", release: "address" };
  const wanted = Object.entries(tunnelAttributes(kind, node));
  if (!wanted.every(([name, value]) => assignment.attributes.get(name) === value))
    return { action: "assign", release: "none" };
  return isInPool ? { action: "keep" } : { action: "assign", release: "handle-else-address" };
}
