import { type Address, formatAddress, parseAddress, parseCidr } from "@bulrush/ip";
import { CalcError } from "../errors.ts";
import type { DataplaneState, StateWorkload } from "../state/dataplane-state.ts";
import { workloadIdText } from "../state/id-text.ts";
import type { Flow, FlowEnd } from "./flow.ts";
import { addressOfHost, hostEndpointsOf, hostWithAddress } from "./host-endpoints.ts";

/** Protocol names and their numbers (https://www.iana.org/assignments/protocol-numbers). */
const PROTOCOLS: Readonly<Record<string, number>> = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58, sctp: 132, udplite: 136 };
const PROTOCOL_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(PROTOCOLS).map(([name, number]) => [number, name]),
);
const ICMP = 1;
const ICMP_V6 = 58;
const WITH_PORTS: ReadonlySet<number> = new Set([6, 17, 132]);

/** The flow in the terms of rules. */
export interface Packet {
  readonly ipVersion: 4 | 6;
  /** `undefined`: the endpoint has no address of that family. */
  readonly source: Address | undefined;
  readonly destination: Address | undefined;
  readonly protocol: number;
  readonly sourcePort: number | undefined;
  readonly port: number | undefined;
  readonly icmp: { readonly type: number; readonly code?: number } | undefined;
}

/** Who is at one end of a flow: a workload, a host itself, or nobody who is known. */
export interface ResolvedEnd {
  readonly workload: StateWorkload | undefined;
  /** The node, with the host endpoint (`node/name`) where that was named, or has the address. */
  readonly host: { readonly name: string; readonly endpoint?: string } | undefined;
  /** Where the flow names an address. */
  readonly address: Address | undefined;
}

export interface ResolvedFlow {
  readonly packet: Packet;
  readonly source: ResolvedEnd;
  readonly destination: ResolvedEnd;
}

export function protocolNumber(name: string): number | undefined {
  return PROTOCOLS[name.toLowerCase()];
}

/** The name, or the number as text. */
export function protocolText(number: number): string {
  return PROTOCOL_NAMES.get(number) ?? String(number);
}

/** The protocol number of ICMP in an IP version. */
export function ownIcmp(ipVersion: 4 | 6): number {
  return ipVersion === 4 ? ICMP : ICMP_V6;
}

/** True for protocols whose packets rules may ask for ports. */
export function hasPorts(protocol: number): boolean {
  return WITH_PORTS.has(protocol);
}

/** Finds the endpoints and addresses of a flow. Throws a {@link CalcError} when it is not one, or names nothing. */
export function resolveFlow(state: DataplaneState, flow: Flow): ResolvedFlow {
  const source = resolveEnd(state, flow.source);
  const destination = resolveEnd(state, flow.destination);
  const addressesOf = (end: ResolvedEnd): Addresses => endAddresses(state, end);
  const [from, to] = [addressesOf(source), addressesOf(destination)];
  const ipVersion = flow.ipVersion ?? source.address?.family ?? destination.address?.family ?? defaultVersion(from, to);
  for (const { address } of [source, destination])
    if (address !== undefined && address.family !== ipVersion)
      throw invalid(`${formatAddress(address)} is not an IPv${ipVersion} address, as the flow wants`);
  return {
    packet: {
      ipVersion,
      source: from[ipVersion],
      destination: to[ipVersion],
      protocol: readProtocol(flow.protocol, ipVersion),
      sourcePort: checkPort(flow.sourcePort, "source port"),
      port: checkPort(flow.port, "port"),
      icmp: flow.icmp,
    },
    source,
    destination,
  };
}

/** The first address of each family. */
interface Addresses {
  readonly 4: Address | undefined;
  readonly 6: Address | undefined;
}

function resolveEnd(state: DataplaneState, end: FlowEnd): ResolvedEnd {
  if ("address" in end) {
    const address = parseAddress(end.address);
    if (address === undefined) throw invalid(`"${end.address}" is not an IP address`);
    const text = formatAddress(address);
    const workload = state.endpointsWithAddress(text)[0];
    return { address, workload, host: workload === undefined ? hostWithAddress(state, text) : undefined };
  }
  if ("host" in end) {
    if (!state.hostMetadata.has(end.host) && hostEndpointsOf(state, end.host).length === 0)
      throw unknown(`No node or host endpoint is known for ${end.host}`, end.host);
    return { address: undefined, workload: undefined, host: { name: end.host } };
  }
  if ("hostEndpoint" in end) {
    const id = end.hostEndpoint;
    if (!state.hostEndpoints.has(id)) throw unknown(`No host endpoint ${id} is known`, id);
    return { address: undefined, workload: undefined, host: { name: id.slice(0, id.indexOf("/")), endpoint: id } };
  }
  const name = "workload" in end ? end.workload : workloadIdText(end.endpoint);
  const workload = "workload" in end ? state.endpointsOfWorkload(name)[0] : state.workloadEndpoints.get(name);
  if (workload === undefined) throw unknown(`No endpoint is known for ${name}`, name);
  return { workload, host: undefined, address: undefined };
}

function endAddresses(state: DataplaneState, { address, workload, host }: ResolvedEnd): Addresses {
  if (address !== undefined) return { 4: address, 6: address };
  if (host !== undefined)
    return {
      4: addressOfHost(state, host.name, host.endpoint, 4),
      6: addressOfHost(state, host.name, host.endpoint, 6),
    };
  return { 4: firstOf(workload?.endpoint.ipv4_nets), 6: firstOf(workload?.endpoint.ipv6_nets) };
}

function firstOf(nets: readonly string[] | undefined): Address | undefined {
  const first = nets?.[0];
  const cidr = first === undefined ? undefined : parseCidr(first);
  return cidr === undefined ? undefined : { family: cidr.family, words: cidr.words };
}

function defaultVersion(from: Addresses, to: Addresses): 4 | 6 {
  const both = (version: 4 | 6): boolean => from[version] !== undefined && to[version] !== undefined;
  return both(6) && !both(4) ? 6 : 4;
}

function readProtocol(protocol: string | number, ipVersion: 4 | 6): number {
  const number = typeof protocol === "number" || /^\d+$/.test(protocol) ? Number(protocol) : protocolNumber(protocol);
  if (number === undefined || !Number.isInteger(number) || number < 0 || number > 255)
    throw invalid(`"${protocol}" is not a protocol: expected tcp, udp, sctp, icmp, icmpv6, udplite or a number to 255`);
  return number === ICMP ? ownIcmp(ipVersion) : number;
}

function checkPort(port: number | undefined, what: string): number | undefined {
  if (port === undefined) return undefined;
  if (!Number.isInteger(port) || port < 0 || port > 65535)
    throw invalid(`${port} is not a ${what}: expected 0 to 65535`);
  return port;
}

function unknown(message: string, name: string): CalcError {
  return new CalcError(message, { code: "CALC_ENDPOINT_UNKNOWN", data: { name } });
}

function invalid(message: string): CalcError {
  return new CalcError(message, { code: "CALC_FLOW_INVALID" });
}
