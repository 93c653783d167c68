import { createHash } from "node:crypto";
import type { PolicyKind } from "@bulrush/model";
import type { PolicyID } from "@bulrush/proto";

/** Kernel names hold 255 bytes; "mangle-", the longest layer, takes seven of them. */
const MAX_CHAIN_NAME = 248;

/** Set names are as long as ipset's were, so that tools for those go on working. */
const MAX_SET_NAME = 31;

/** What nft's scanner takes as one bare word after a letter. */
const BARE_WORD = /^[A-Za-z0-9/_.-]+$/;

/** The reference system's short words for kinds of policy, in chain names and log prefixes. */
export const SHORT_KINDS: Readonly<Record<PolicyKind, string>> = {
  NetworkPolicy: "np",
  GlobalNetworkPolicy: "gnp",
  KubernetesNetworkPolicy: "knp",
  KubernetesClusterNetworkPolicy: "kcnp",
  StagedNetworkPolicy: "snp",
  StagedGlobalNetworkPolicy: "sgnp",
  StagedKubernetesNetworkPolicy: "sknp",
};

/**
 * `prefix` and `suffix` as one name; a suffix that is empty, too long, not printable by nft, or that could be taken for
 * a shortened one becomes `_` and as much of its hash as fits.
 */
export function boundedName(prefix: string, suffix: string, limit: number = MAX_CHAIN_NAME): string {
  const room = limit - prefix.length;
  const readable = suffix !== "" && suffix.length <= room && BARE_WORD.test(suffix);
  if (readable && !(suffix.startsWith("_") && suffix.length === room)) return prefix + suffix;
  const hash = createHash("sha256").update(suffix).digest("base64url");
  return `${prefix}_${hash}`.slice(0, limit);
}

/** A policy in one word: "np/default/allow-dns", "gnp/base". Unlike kinds and namespaces never clash. */
export function policyWord(id: PolicyID): string {
  const kind = SHORT_KINDS[id.kind];
  return id.namespace === "" ? `${kind}/${id.name}` : `${kind}/${id.namespace}/${id.name}`;
}

export type Direction = "ingress" | "egress";

export function policyChain(direction: Direction, id: PolicyID): string {
  return boundedName(direction === "ingress" ? "cali-pi-" : "cali-po-", policyWord(id));
}

export function profileChain(direction: Direction, profile: string): string {
  return boundedName(direction === "ingress" ? "cali-pri-" : "cali-pro-", profile);
}

/** Chain prefixes of one interface's endpoint: workload, host, host for forwarded packets. */
export const ENDPOINT_PREFIX = {
  workload: { ingress: "cali-tw-", egress: "cali-fw-" },
  host: { ingress: "cali-fh-", egress: "cali-th-" },
  forward: { ingress: "cali-fhfw-", egress: "cali-thfw-" },
} as const;

export function endpointChain(kind: keyof typeof ENDPOINT_PREFIX, direction: Direction, interfaceName: string): string {
  return boundedName(ENDPOINT_PREFIX[kind][direction], interfaceName);
}

/** The chain with the packet rate of a workload, in one direction. */
export function packetRateChain(direction: Direction, interfaceName: string): string {
  return boundedName(direction === "ingress" ? "cali-tr-" : "cali-fr-", interfaceName);
}

/** The chain that bounds the connections of a workload, in one direction. */
export function connectionLimitChain(direction: Direction, interfaceName: string): string {
  return boundedName(direction === "ingress" ? "cali-tl-" : "cali-fl-", interfaceName);
}

/** The set of an id ("s:5y5I..."): `cali40s-5y5I...`, `cali60...` for IPv6. */
export function setName(family: 4 | 6, id: string): string {
  const readable = id.replaceAll(":", "-");
  const prefix = family === 4 ? "cali40" : "cali60";
  if (!BARE_WORD.test(readable)) return boundedName(prefix, id, MAX_SET_NAME);
  return `${prefix}${readable}`.slice(0, MAX_SET_NAME);
}

/** The second set of an id that has single addresses and networks: it holds the networks. */
export function netSetName(family: 4 | 6, id: string): string {
  return `${setName(family, id)}-net`;
}
