import { compareStrings } from "@bulrush/base";
import { formatAddress, parseAddress } from "@bulrush/ip";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import { canBeInterface } from "./interface-name.ts";
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
 * the interface is never unguarded; its addresses are not looked at. One without a name gets each interface that has
 * any of its expected addresses. A name that no interface can have guards nothing. Where several match an interface, the lowest id wins.
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
      const names = endpoint.name === "" ? interfacesOfAddresses(endpoint, known) : [endpoint.name];
      for (const name of names) if (canBeInterface(name) && !byInterface.has(name)) byInterface.set(name, id);
    }
  }
  return { byInterface, wildcard };
}

function interfacesOfAddresses(endpoint: DataplaneHostEndpoint, interfaces: readonly Interface[]): string[] {
  const expected = [...endpoint.expected_ipv4_addrs, ...endpoint.expected_ipv6_addrs].map(canonicalAddress);
  return interfaces.filter(({ addresses }) => expected.some((one) => addresses.has(one))).map(({ name }) => name);
}

function canonicalAddress(text: string): string {
  const address = parseAddress(text);
  return address === undefined ? text : formatAddress(address);
}
