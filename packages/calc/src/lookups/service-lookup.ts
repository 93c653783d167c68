import { compareStrings } from "@bulrush/base";
import { type Address, formatAddress, parseAddress } from "@bulrush/ip";
import type { ServiceResource } from "@bulrush/model";

/** A port of a service. */
export interface FoundService {
  readonly namespace: string;
  readonly name: string;
  /** "" for a port without a name. */
  readonly port: string;
}

interface LoadBalanced {
  readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
}

/**
 * From an address, port and protocol, or from a node's port, to the service behind it. Where two services claim one, the
 * first by `namespace/name` counts.
 *
 * Invariant: `#claims` has for each claim the services that make it, and no claim without one.
 */
export class ServiceLookup {
  readonly #claimsOf = new Map<string, ReadonlyMap<string, FoundService>>();
  readonly #claims = new Map<string, Map<string, FoundService>>();

  get count(): number {
    return this.#claimsOf.size;
  }

  set(namespace: string, name: string, service: ServiceResource | undefined): void {
    const id = `${namespace}/${name}`;
    for (const claim of this.#claimsOf.get(id)?.keys() ?? []) {
      const here = this.#claims.get(claim);
      here?.delete(id);
      if (here?.size === 0) this.#claims.delete(claim);
    }
    this.#claimsOf.delete(id);
    if (service === undefined) return;
    const claims = claimsOf(namespace, name, service);
    this.#claimsOf.set(id, claims);
    for (const [claim, found] of claims) {
      const here = this.#claims.get(claim) ?? new Map<string, FoundService>();
      here.set(id, found);
      this.#claims.set(claim, here);
    }
  }

  /** `protocol` is a lower-case name. */
  find(address: Address, port: number, protocol: string): FoundService | undefined {
    return this.#first(`${formatAddress(address)} ${protocol} ${port}`);
  }

  /** By a port that every node has for the service. */
  findNodePort(port: number, protocol: string): FoundService | undefined {
    return this.#first(`node ${protocol} ${port}`);
  }

  #first(claim: string): FoundService | undefined {
    const here = this.#claims.get(claim);
    if (here === undefined) return undefined;
    return [...here].sort(([a], [b]) => compareStrings(a, b))[0]?.[1];
  }
}

function claimsOf(
  namespace: string,
  name: string,
  { spec, status }: ServiceResource,
): ReadonlyMap<string, FoundService> {
  const { ingress } = (status as LoadBalanced | undefined)?.loadBalancer ?? {};
  const { clusterIP, clusterIPs = [], externalIPs = [], loadBalancerIP } = spec ?? {};
  const texts = [clusterIP, ...clusterIPs, ...externalIPs, loadBalancerIP, ...(ingress ?? []).map(({ ip }) => ip)];
  // A service without an address of its own says "None".
  const addresses = texts.map((text) => (text ? parseAddress(text) : undefined)).filter((one) => one !== undefined);
  const claims = new Map<string, FoundService>();
  for (const { port, name: portName, protocol = "TCP", nodePort } of spec?.ports ?? []) {
    const found: FoundService = { namespace, name, port: portName ?? "" };
    const word = protocol.toLowerCase();
    for (const address of addresses) claims.set(`${formatAddress(address)} ${word} ${port}`, found);
    if (nodePort) claims.set(`node ${word} ${nodePort}`, found);
  }
  return claims;
}
