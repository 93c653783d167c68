import { compareStrings } from "@bulrush/base";
import { formatAddress, parseAddress } from "@bulrush/ip";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import type { Interface } from "./interfaces.ts";

/** Which host endpoint rules which interface. */
export interface HostEndpointMatch {
  /** Interface name to endpoint id. */
  readonly byInterface: ReadonlyMap<string, string>;
  /** The endpoint named `*`: for every interface without one of its own. */
  readonly wildcard: string | undefined;
}

/**
 * Matches host endpoints to interfaces. One that names its interface gets it, whether it exists yet or not, so that
 * the interface is never unguarded; its addresses are not looked at. One without a name gets the first interface that
 * has one of its expected addresses. Where several match an interface, the lowest id wins.
 */
export function matchHostEndpoints(
  endpoints: ReadonlyMap<string, DataplaneHostEndpoint>,
  interfaces: Iterable<Interface>,
): HostEndpointMatch {
  const known = [...interfaces].sort((a, b) => compareStrings(a.name, b.name));
  const byInterface = new Map<string, string>();
  let wildcard: string | undefined;
  for (const [id, endpoint] of [...endpoints].sort(([a], [b]) => compareStrings(a, b))) {
    if (endpoint.name === "*") wildcard ??= id;
    else {
      const name = endpoint.name === "" ? interfaceOfAddresses(endpoint, known) : endpoint.name;
      if (name !== undefined && !byInterface.has(name)) byInterface.set(name, id);
    }
  }
  return { byInterface, wildcard };
}

function interfaceOfAddresses(endpoint: DataplaneHostEndpoint, interfaces: readonly Interface[]): string | undefined {
  const expected = [...endpoint.expected_ipv4_addrs, ...endpoint.expected_ipv6_addrs].map(canonicalAddress);
  return interfaces.find(({ addresses }) => expected.some((address) => addresses.has(address)))?.name;
}

function canonicalAddress(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(address);
}
