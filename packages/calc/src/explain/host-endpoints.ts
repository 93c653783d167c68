import { compareStrings } from "@bulrush/base";
import { type Address, formatAddress, parseAddress } from "@bulrush/ip";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import type { DataplaneState } from "../state/dataplane-state.ts";
import type { ResolvedEnd } from "./packet.ts";

export interface FoundEndpoint {
  /** `node/name`. */
  readonly id: string;
  readonly endpoint: DataplaneHostEndpoint;
  /** A note, where another endpoint of the host might be the one. */
  readonly assumed?: string;
}

/** The host endpoints of a host, lowest id first. */
export function hostEndpointsOf(state: DataplaneState, host: string): FoundEndpoint[] {
  return [...state.hostEndpoints]
    .filter(([id]) => id.startsWith(`${host}/`))
    .map(([id, endpoint]) => ({ id, endpoint }))
    .sort((a, b) => compareStrings(a.id, b.id));
}

/**
 * The host endpoint that a packet of this end passes at the host: the one that was named; else one that has the end's
 * own address; else one with the node's address; else that of all interfaces; else the lowest id.
 */
export function findHostEndpoint(state: DataplaneState, host: string, end: ResolvedEnd): FoundEndpoint | undefined {
  const all = hostEndpointsOf(state, host);
  const named = all.find(({ id }) => id === end.host?.endpoint);
  if (named !== undefined) return named;
  const own = end.host !== undefined && end.address !== undefined ? withAddress(all, [formatAddress(end.address)]) : [];
  if (own.length === 1) return own[0];
  const ofNode = withAddress(all, nodeAddresses(state, host));
  const wildcard = all.find(isWildcard);
  const chosen = own[0] ?? ofNode[0] ?? wildcard ?? all[0];
  if (chosen === undefined || all.length === 1) return chosen;
  const others = all.filter(({ id }) => id !== chosen.id).map(({ id }) => id);
  return {
    ...chosen,
    assumed: `${host} has several host endpoints: the packet is taken to pass ${chosen.id}, not ${others.join(", ")}`,
  };
}

/** The endpoint of all interfaces, which stands for those of workloads too. */
export function wildcardEndpoint(state: DataplaneState, host: string): FoundEndpoint | undefined {
  return hostEndpointsOf(state, host).find(isWildcard);
}

function isWildcard({ endpoint }: FoundEndpoint): boolean {
  return endpoint.name === "*";
}

/** The host that has the address, by a host endpoint or a node; the host endpoint where it is that. */
export function hostWithAddress(
  state: DataplaneState,
  address: string,
): { readonly name: string; readonly endpoint?: string } | undefined {
  for (const [id, endpoint] of state.hostEndpoints)
    if (expected(endpoint).has(address)) return { name: id.slice(0, id.indexOf("/")), endpoint: id };
  for (const name of state.hostMetadata.keys()) if (nodeAddresses(state, name).has(address)) return { name };
  return undefined;
}

/** The addresses of a node, canonical, IPv4 first. */
function nodeAddresses(state: DataplaneState, host: string): ReadonlySet<string> {
  const node = state.hostMetadata.get(host);
  if (node === undefined) return new Set();
  return readOnce(node, [node.ipv4_addr.split("/")[0], node.ipv6_addr.split("/")[0]]);
}

/** An address of a family that a host endpoint, or else its node, has. */
export function addressOfHost(
  state: DataplaneState,
  host: string,
  id: string | undefined,
  family: 4 | 6,
): Address | undefined {
  const endpoint = id === undefined ? undefined : state.hostEndpoints.get(id);
  const texts = [...(endpoint === undefined ? [] : expected(endpoint)), ...nodeAddresses(state, host)];
  if (id === undefined) for (const one of hostEndpointsOf(state, host)) texts.push(...expected(one.endpoint));
  return texts.map(parseAddress).find((address) => address?.family === family);
}

function withAddress(all: readonly FoundEndpoint[], addresses: Iterable<string>): FoundEndpoint[] {
  return all.filter(({ endpoint }) => [...addresses].some((address) => expected(endpoint).has(address)));
}

/** Messages never change: their addresses are read once. */
const knownAddresses = new WeakMap<object, ReadonlySet<string>>();

function expected(endpoint: DataplaneHostEndpoint): ReadonlySet<string> {
  return readOnce(endpoint, [...endpoint.expected_ipv4_addrs, ...endpoint.expected_ipv6_addrs]);
}

function readOnce(message: object, texts: readonly (string | undefined)[]): ReadonlySet<string> {
  let known = knownAddresses.get(message);
  if (known === undefined) knownAddresses.set(message, (known = new Set(texts.flatMap(canonical))));
  return known;
}

function canonical(text: string | undefined): string[] {
  const address = text === undefined ? undefined : parseAddress(text);
  return address === undefined ? [] : [formatAddress(address)];
}
