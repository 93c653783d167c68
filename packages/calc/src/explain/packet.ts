import { type Address, formatAddress, parseAddress, parseCidr } from "@bulrush/ip";
import { CalcError } from "../errors.ts";
import type { DataplaneState, StateWorkload } from "../state/dataplane-state.ts";
import { workloadIdText } from "../state/id-text.ts";
import type { Flow, FlowEnd } from "./flow.ts";

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

export interface ResolvedFlow {
  readonly packet: Packet;
  readonly source: StateWorkload | undefined;
  readonly destination: StateWorkload | undefined;
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
  const ipVersion = flow.ipVersion ?? defaultVersion(source, destination);
  const port = checkPort(flow.port, "port");
  const sourcePort = checkPort(flow.sourcePort, "source port");
  const protocol = readProtocol(flow.protocol, ipVersion);
  return {
    packet: {
      ipVersion,
      source: addressOf(source, ipVersion),
      destination: addressOf(destination, ipVersion),
      protocol,
      sourcePort,
      port,
      icmp: flow.icmp,
    },
    source: source.endpoint,
    destination: destination.endpoint,
  };
}

interface End {
  readonly endpoint: StateWorkload | undefined;
  /** Where the flow names an address. */
  readonly address: Address | undefined;
}

function resolveEnd(state: DataplaneState, end: FlowEnd): End {
  if ("address" in end) {
    const address = parseAddress(end.address);
    if (address === undefined) throw invalid(`"${end.address}" is not an IP address`);
    return { address, endpoint: state.endpointsWithAddress(formatAddress(address))[0] };
  }
  const name = "workload" in end ? end.workload : workloadIdText(end.endpoint);
  const endpoint = "workload" in end ? state.endpointsOfWorkload(name)[0] : state.workloadEndpoints.get(name);
  if (endpoint === undefined)
    throw new CalcError(`No endpoint is known for ${name}`, { code: "CALC_ENDPOINT_UNKNOWN", data: { name } });
  return { endpoint, address: undefined };
}

function hasVersion(end: End, version: 4 | 6): boolean {
  if (end.address !== undefined) return end.address.family === version;
  const nets = version === 4 ? end.endpoint?.endpoint.ipv4_nets : end.endpoint?.endpoint.ipv6_nets;
  return nets !== undefined && nets.length > 0;
}

function defaultVersion(source: End, destination: End): 4 | 6 {
  const given = source.address ?? destination.address;
  if (given !== undefined) return given.family;
  return hasVersion(source, 6) && hasVersion(destination, 6) && !(hasVersion(source, 4) && hasVersion(destination, 4))
    ? 6
    : 4;
}

function addressOf(end: End, version: 4 | 6): Address | undefined {
  if (end.address !== undefined) {
    if (end.address.family !== version)
      throw invalid(`${formatAddress(end.address)} is not an IPv${version} address, as the flow wants`);
    return end.address;
  }
  const nets = version === 4 ? end.endpoint?.endpoint.ipv4_nets : end.endpoint?.endpoint.ipv6_nets;
  const first = nets?.[0];
  const cidr = first === undefined ? undefined : parseCidr(first);
  return cidr === undefined ? undefined : { family: cidr.family, words: cidr.words };
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

function invalid(message: string): CalcError {
  return new CalcError(message, { code: "CALC_FLOW_INVALID" });
}
