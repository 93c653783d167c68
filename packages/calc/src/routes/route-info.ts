import type { Cidr } from "@bulrush/ip";
import type { IPPool } from "@bulrush/model";
import type { RouteUpdate } from "@bulrush/proto";
import { TUNNEL_KINDS, type TunnelKind } from "./node-addresses.ts";

/** A reason for a route to one address: a workload, or an end of a tunnel. */
export type RefKind = "workload" | TunnelKind;

const REF_KINDS: readonly RefKind[] = ["workload", ...TUNNEL_KINDS];

interface Ref {
  readonly node: string;
  readonly kind: RefKind;
  count: number;
}

/** What a pool means for routes in it. */
export interface PoolInfo {
  readonly type: RouteUpdate["ip_pool_type"];
  readonly natOutgoing: boolean;
  readonly crossSubnet: boolean;
}

export function poolInfo(pool: IPPool): PoolInfo {
  const uses = pool.allowed_uses ?? [];
  // A pool for load balancers alone has no workloads to route to.
  const routes = uses.length === 0 || uses.some((use) => use !== "LoadBalancer");
  let type: PoolInfo["type"] = "NO_ENCAP";
  if (!routes) type = "NONE";
  else if (pool.vxlan_mode) type = "VXLAN";
  else if (pool.ipip_mode) type = "IPIP";
  return {
    type,
    natOutgoing: pool.masquerade ?? false,
    crossSubnet: pool.vxlan_mode === "cross-subnet" || pool.ipip_mode === "cross-subnet",
  };
}

/**
 * What is known of one network.
 *
 * Invariant: `refs` is sorted by node, then by kind in the order of {@link REF_KINDS}; counts are above zero; `hosts` and
 * `blocks` hold each name with the number of those who say it.
 */
export class RouteInfo {
  readonly cidr: Cidr;
  pool: PoolInfo | undefined;
  readonly #blocks = new Map<string, number>();
  readonly #hosts = new Map<string, number>();
  readonly #refs: Ref[] = [];

  constructor(cidr: Cidr) {
    this.cidr = cidr;
  }

  /** Nothing is known any more. */
  get isEmpty(): boolean {
    return this.pool === undefined && this.#blocks.size === 0 && this.#hosts.size === 0 && this.#refs.length === 0;
  }

  /** The node whose workloads are here, by IPAM; of several that say so the first by name. */
  get block(): string | undefined {
    return first(this.#blocks);
  }

  /** The node that has this address. */
  get host(): string | undefined {
    return first(this.#hosts);
  }

  get ref(): { readonly node: string; readonly kind: RefKind } | undefined {
    return this.#refs[0];
  }

  /** Kinds of tunnel that end here, on the node of the first ref. */
  tunnels(): ReadonlySet<RefKind> {
    const node = this.#refs[0]?.node;
    return new Set(this.#refs.filter((ref) => ref.node === node).map((ref) => ref.kind));
  }

  changeBlock(node: string, change: 1 | -1): void {
    count(this.#blocks, node, change);
  }

  changeHost(node: string, change: 1 | -1): void {
    count(this.#hosts, node, change);
  }

  changeRef(node: string, kind: RefKind, change: 1 | -1): void {
    const at = this.#refs.findIndex((ref) => ref.node === node && ref.kind === kind);
    const ref = this.#refs[at];
    if (ref !== undefined) {
      ref.count += change;
      if (ref.count === 0) this.#refs.splice(at, 1);
    } else if (change === 1) {
      this.#refs.push({ node, kind, count: 1 });
      this.#refs.sort(compareRefs);
    }
  }
}

function compareRefs(a: Ref, b: Ref): number {
  if (a.node !== b.node) return a.node < b.node ? -1 : 1;
  return REF_KINDS.indexOf(a.kind) - REF_KINDS.indexOf(b.kind);
}

function first(counts: ReadonlyMap<string, number>): string | undefined {
  let lowest: string | undefined;
  for (const name of counts.keys()) if (lowest === undefined || name < lowest) lowest = name;
  return lowest;
}

function count(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const next = (counts.get(name) ?? 0) + change;
  if (next <= 0) counts.delete(name);
  else counts.set(name, next);
}
