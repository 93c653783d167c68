import { canonicalCidr, type Family, formatAddress, parseAddress } from "@bulrush/ip";
import { type Block, isObject, isWireguardKey, type JsonObject, type Resource, type Wireguard } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { errorAt, warningAt } from "./issue.ts";
import { processed, type ProcessedKV, type UpdateProcessor } from "./processor.ts";

export interface NodeProcessorOptions {
  /** IPAM blocks come from the pod CIDRs of nodes. */
  readonly usePodCIDR: boolean;
}

type Reader = (value: unknown) => string | undefined;

function address(family: Family): Reader {
  return (value) => {
    const parsed = typeof value === "string" ? parseAddress(value) : undefined;
    return parsed?.family === family ? formatAddress(parsed) : undefined;
  };
}

const mac: Reader = (value) =>
  typeof value === "string" && /^[0-9a-f]{2}(?::[0-9a-f]{2}){5}$/i.test(value) ? value : undefined;

/** HostConfig name, where it stands in the spec, and how it is read. */
const HOST_CONFIG: readonly (readonly [name: string, path: readonly string[], read: Reader])[] = [
  ["IpInIpTunnelAddr", ["bgp", "ipv4IPIPTunnelAddr"], address(4)],
  ["IPv4VXLANTunnelAddr", ["ipv4VXLANTunnelAddr"], address(4)],
  ["VXLANTunnelMACAddr", ["vxlanTunnelMACAddr"], mac],
  ["IPv6VXLANTunnelAddr", ["ipv6VXLANTunnelAddr"], address(6)],
  ["VXLANTunnelMACAddrV6", ["vxlanTunnelMACAddrV6"], mac],
];

/** Nodes: five host settings, the WireGuard facts, the node itself, and its pod CIDRs as blocks if asked for. */
export function nodeProcessor({ usePodCIDR }: NodeProcessorOptions): UpdateProcessor {
  // Between two lists only: what a list does not have any more is deleted by the watcher cache.
  const blocksOf = new Map<string, ReadonlySet<string>>();
  // A network may go to another node before the one that had it is gone.
  const ownerOf = new Map<string, string>();
  return {
    onSyncerStarting: () => {
      blocksOf.clear();
      ownerOf.clear();
    },
    process({ item, value, issues = [] }) {
      const found: ItemIssue[] = [...issues];
      const hostname = item.name;
      const outputs: ProcessedKV[] = hostConfigs(hostname, value, found);
      outputs.push({ key: { type: "Wireguard", hostname }, value: wireguardOf(value, found) });
      outputs.push({ key: { type: "Resource", kind: "Node", namespace: "", name: hostname }, value });
      if (usePodCIDR) {
        const now = podCidrsOf(value, found);
        for (const cidr of blocksOf.get(hostname) ?? []) {
          if (now.has(cidr) || ownerOf.get(cidr) !== hostname) continue;
          ownerOf.delete(cidr);
          outputs.push({ key: { type: "Block", cidr }, value: undefined });
        }
        for (const cidr of now) {
          ownerOf.set(cidr, hostname);
          outputs.push({ key: { type: "Block", cidr }, value: blockOf(cidr, hostname) });
        }
        if (now.size > 0) blocksOf.set(hostname, now);
        else blocksOf.delete(hostname);
      }
      return processed(outputs, found);
    },
  };
}

function objectAt(value: unknown, field: string): JsonObject {
  const found = isObject(value) ? value[field] : undefined;
  return isObject(found) ? found : {};
}

function hostConfigs(hostname: string, node: Resource | undefined, issues: ItemIssue[]): ProcessedKV[] {
  return HOST_CONFIG.map(([name, path, read]) => {
    const raw = path.reduce<unknown>((at, field) => (isObject(at) ? at[field] : undefined), node?.spec);
    let value: string | undefined;
    if (raw !== undefined && raw !== null && raw !== "") {
      value = read(raw);
      if (value === undefined)
        issues.push(errorAt(["spec", ...path].join("."), `Not usable: ${JSON.stringify(raw)}; left out`));
    }
    return { key: { type: "HostConfig", hostname, name }, value };
  });
}

function wireguardOf(node: Resource | undefined, issues: ItemIssue[]): Wireguard | undefined {
  const spec = objectAt(node?.spec, "wireguard");
  const status = isObject(node?.status) ? node.status : {};
  const out: Record<string, string> = {};
  const take = (to: keyof Wireguard, field: string, value: string | undefined, raw: unknown): void => {
    if (value !== undefined) out[to] = value;
    else if (raw !== undefined && raw !== null && raw !== "")
      issues.push(errorAt(field, `Not usable: ${JSON.stringify(raw)}; left out`));
  };
  const key: Reader = (value) => (isWireguardKey(value) ? value : undefined);
  const { interfaceIPv4Address: v4, interfaceIPv6Address: v6 } = spec;
  const { wireguardPublicKey: key4, wireguardPublicKeyV6: key6 } = status;
  take("interfaceIPv4Addr", "spec.wireguard.interfaceIPv4Address", address(4)(v4), v4);
  take("publicKey", "status.wireguardPublicKey", key(key4), key4);
  take("interfaceIPv6Addr", "spec.wireguard.interfaceIPv6Address", address(6)(v6), v6);
  take("publicKeyV6", "status.wireguardPublicKeyV6", key(key6), key6);
  return Object.keys(out).length > 0 ? out : undefined;
}

function podCidrsOf(node: Resource | undefined, issues: ItemIssue[]): ReadonlySet<string> {
  const cidrs = isObject(node?.status) ? node.status["podCIDRs"] : undefined;
  const out = new Set<string>();
  for (const [i, text] of (Array.isArray(cidrs) ? (cidrs as unknown[]) : []).entries()) {
    const cidr = typeof text === "string" ? canonicalCidr(text) : undefined;
    if (cidr === undefined) issues.push(warningAt(`status.podCIDRs[${i}]`, "Expected a CIDR; left out"));
    else out.add(cidr);
  }
  return out;
}

function blockOf(cidr: string, hostname: string): Block {
  return { cidr, affinity: `host:${hostname}`, allocations: [], unallocated: [], attributes: [] };
}
