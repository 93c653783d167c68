import { assert } from "@bulrush/base";
import { cidrOf, formatAddress, formatCidr, parseAddress } from "@bulrush/ip";
import type { EndpointSliceResource } from "@bulrush/model";
import type { ActiveIpSet } from "./active-ip-set.ts";

/** The label that says whose endpoints a slice holds. */
const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

interface Slice {
  /** `namespace/name`. */
  readonly service: string;
  /** "10.0.0.1,tcp:80". */
  readonly portMembers: readonly string[];
  /** "10.0.0.1/32". */
  readonly addressMembers: readonly string[];
}

interface ServiceSets {
  withPorts: ActiveIpSet | undefined;
  withoutPorts: ActiveIpSet | undefined;
}

/**
 * Fills the IP sets of services from endpoint slices. Every address counts, ready or not: traffic to an endpoint that
 * is just going away is the same traffic.
 *
 * Invariant: `#slicesOf` lists for each service the slices that name it now; each set counts its members once a slice.
 */
export class ServiceIndex {
  readonly #slices = new Map<string, Slice>();
  readonly #slicesOf = new Map<string, Set<Slice>>();
  readonly #sets = new Map<string, ServiceSets>();

  /** A slice by `namespace/name`; `undefined` when it has gone. */
  setSlice(name: string, resource: EndpointSliceResource | undefined): void {
    const old = this.#slices.get(name);
    const next = resource === undefined ? undefined : readSlice(resource);
    if (next === undefined) this.#slices.delete(name);
    else {
      this.#slices.set(name, next);
      let slices = this.#slicesOf.get(next.service);
      if (slices === undefined) this.#slicesOf.set(next.service, (slices = new Set()));
      slices.add(next);
      this.#move(next, true);
    }
    if (old === undefined) return;
    const slices = this.#slicesOf.get(old.service);
    slices?.delete(old);
    if (slices?.size === 0) this.#slicesOf.delete(old.service);
    this.#move(old, false);
  }

  addSet(set: ActiveIpSet): void {
    const { spec } = set;
    assert(spec.kind === "service", () => `IP set ${set.id} is not of a service`);
    let sets = this.#sets.get(spec.service);
    if (sets === undefined) this.#sets.set(spec.service, (sets = { withPorts: undefined, withoutPorts: undefined }));
    if (spec.withPorts) sets.withPorts = set;
    else sets.withoutPorts = set;
    for (const slice of this.#slicesOf.get(spec.service) ?? [])
      for (const member of spec.withPorts ? slice.portMembers : slice.addressMembers) set.add(member);
  }

  removeSet(set: ActiveIpSet): void {
    const { spec } = set;
    assert(spec.kind === "service", () => `IP set ${set.id} is not of a service`);
    const sets = this.#sets.get(spec.service);
    if (sets === undefined) return;
    if (spec.withPorts) sets.withPorts = undefined;
    else sets.withoutPorts = undefined;
    if (sets.withPorts === undefined && sets.withoutPorts === undefined) this.#sets.delete(spec.service);
  }

  #move(slice: Slice, add: boolean): void {
    const sets = this.#sets.get(slice.service);
    if (sets === undefined) return;
    for (const [set, members] of [
      [sets.withPorts, slice.portMembers],
      [sets.withoutPorts, slice.addressMembers],
    ] as const) {
      if (set === undefined) continue;
      for (const member of members)
        if (add) set.add(member);
        else set.remove(member);
    }
  }
}

/** `undefined` for a slice without the label of a service. */
function readSlice(resource: EndpointSliceResource): Slice | undefined {
  const name = resource.metadata.labels?.[SERVICE_NAME_LABEL];
  if (!name) return undefined;
  const portMembers = new Set<string>();
  const addressMembers = new Set<string>();
  for (const endpoint of resource.endpoints ?? []) {
    for (const text of endpoint.addresses ?? []) {
      const address = parseAddress(text);
      if (address === undefined) continue;
      addressMembers.add(formatCidr(cidrOf(address)));
      for (const port of resource.ports ?? []) {
        const protocol = (port.protocol ?? "TCP").toLowerCase();
        if (port.port === undefined || port.port === null) continue;
        if (protocol !== "tcp" && protocol !== "udp" && protocol !== "sctp") continue;
        portMembers.add(`${formatAddress(address)},${protocol}:${port.port}`);
      }
    }
  }
  return {
    service: `${resource.metadata.namespace ?? ""}/${name}`,
    portMembers: [...portMembers],
    addressMembers: [...addressMembers],
  };
}
