import { type Cidr, parseCidr } from "@bulrush/ip";
import { isObject, type NodeResource, type Resource } from "@bulrush/model";
import { tryParseSelector } from "@bulrush/selector";
import { type TunnelKind, tunnelFacts } from "./tunnel-kind.ts";

/** A pool of addresses, as far as IPAM is concerned. */
export interface AddressPool {
  readonly name: string;
  readonly cidr: Cidr;
  /** Prefix length of its blocks: that of the pool at least. */
  readonly blockSize: number;
}

/** A pool that can be read; undefined for another one, which takes no part. */
export function addressPool({ metadata, spec }: Resource): AddressPool | undefined {
  if (!isObject(spec) || typeof spec["cidr"] !== "string") return undefined;
  const cidr = parseCidr(spec["cidr"]);
  if (cidr === undefined) return undefined;
  const max = cidr.family === 4 ? 32 : 128;
  const { blockSize = cidr.family === 4 ? 26 : 122 } = spec;
  if (typeof blockSize !== "number" || !Number.isInteger(blockSize)) return undefined;
  // A block of more than 65,536 addresses would be a resource of megabytes.
  if (blockSize < cidr.prefixLength || blockSize > max || max - blockSize > 16) return undefined;
  return { name: metadata.name, cidr, blockSize };
}

const MODES_ON: ReadonlySet<unknown> = new Set(["Always", "CrossSubnet"]);

export interface EligibilityOptions {
  /** WireGuard hides the traffic of hosts too, and then needs no address of its own. Default false. */
  readonly wireguardHostEncryption?: boolean;
}

/**
 * The pools out of which a device of a node gets its address, in order of their names: for tunnels, of the device's
 * family and mode, in use, and for this node. A pool whose contents or node selector cannot be read is none.
 */
export function eligiblePools(
  kind: TunnelKind,
  node: NodeResource,
  pools: readonly Resource[],
  { wireguardHostEncryption = false }: EligibilityOptions = {},
): readonly AddressPool[] {
  const { family, mode } = tunnelFacts(kind);
  if (mode === undefined && (wireguardHostEncryption || publicKeyOf(kind, node) === "")) return [];
  const labels = new Map(Object.entries(node.metadata.labels ?? {}));
  // Nothing is taken for granted about the shape of a pool, whatever its type says.
  const isEligible = ({ metadata, spec }: Resource): boolean => {
    if (!isObject(spec) || (metadata.deletionTimestamp ?? "") !== "") return false;
    const { disabled, allowedUses, nodeSelector } = spec;
    if (disabled === true || (mode !== undefined && !MODES_ON.has(spec[mode]))) return false;
    if (Array.isArray(allowedUses) && allowedUses.length > 0 && !allowedUses.includes("Tunnel")) return false;
    if (nodeSelector === undefined || nodeSelector === null) return true;
    const parsed = typeof nodeSelector === "string" ? tryParseSelector(nodeSelector) : undefined;
    return parsed?.ok === true && parsed.selector.evaluate(labels);
  };
  return pools
    .filter((pool) => isEligible(pool))
    .map((pool) => addressPool(pool))
    .filter((pool) => pool?.cidr.family === family)
    .filter((pool) => pool !== undefined)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function publicKeyOf(kind: TunnelKind, { status }: NodeResource): string {
  return (kind === "wireguardV6" ? status?.wireguardPublicKeyV6 : status?.wireguardPublicKey) ?? "";
}
