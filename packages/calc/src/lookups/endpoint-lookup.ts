import { type Address, formatAddress, parseAddress } from "@bulrush/ip";
import type { HostEndpoint, HostEndpointKey, WorkloadEndpoint, WorkloadEndpointKey } from "@bulrush/model";

/** Flows end after their endpoint has gone: its addresses are known for so long. */
const KEPT_MS = 10_000;

/** An endpoint by its key, as its last update said. Shared: nobody changes it. */
export type FoundEndpoint =
  | { readonly key: WorkloadEndpointKey; readonly value: WorkloadEndpoint }
  | { readonly key: HostEndpointKey; readonly value: HostEndpoint };

interface Holding {
  readonly path: string;
  endpoint: FoundEndpoint;
  /** When it is forgotten; undefined while the endpoint has the address. */
  endsMs: number | undefined;
}

/**
 * From an address to the endpoint that has it, or had it until just now. Of several the latest to get it counts.
 *
 * Invariant: the list of an address is never empty, in the order in which endpoints got it, each once.
 */
export class EndpointLookup {
  readonly #byAddress = new Map<string, Holding[]>();
  readonly #addressesOf = new Map<string, ReadonlySet<string>>();
  /** Addresses with a holding that ends. */
  readonly #ending = new Set<string>();

  /** Endpoints that are there. */
  get count(): number {
    return this.#addressesOf.size;
  }

  set(path: string, endpoint: FoundEndpoint, nowMs: number): void {
    const before = this.#addressesOf.get(path) ?? new Set();
    const after = addressesOf(endpoint);
    this.#addressesOf.set(path, after);
    for (const address of before) if (!after.has(address)) this.#end(address, path, nowMs);
    for (const address of after) this.#hold(address, path, endpoint);
  }

  remove(path: string, nowMs: number): void {
    const before = this.#addressesOf.get(path);
    if (before === undefined) return;
    this.#addressesOf.delete(path);
    for (const address of before) this.#end(address, path, nowMs);
  }

  find(address: Address): FoundEndpoint | undefined {
    return this.#byAddress.get(formatAddress(address))?.at(-1)?.endpoint;
  }

  /** Forgets what ended {@link KEPT_MS} ago. */
  expire(nowMs: number): void {
    for (const address of this.#ending) {
      const left = (this.#byAddress.get(address) ?? []).filter(({ endsMs }) => endsMs === undefined || endsMs > nowMs);
      if (left.length === 0) this.#byAddress.delete(address);
      else this.#byAddress.set(address, left);
      if (left.every(({ endsMs }) => endsMs === undefined)) this.#ending.delete(address);
    }
  }

  #hold(address: string, path: string, endpoint: FoundEndpoint): void {
    const list = this.#byAddress.get(address) ?? [];
    const known = list.find((holding) => holding.path === path);
    if (known !== undefined && known.endsMs === undefined) {
      known.endpoint = endpoint;
      return;
    }
    // Who comes back is the latest again.
    this.#byAddress.set(address, [
      ...list.filter((holding) => holding !== known),
      { path, endpoint, endsMs: undefined },
    ]);
  }

  #end(address: string, path: string, nowMs: number): void {
    const holding = this.#byAddress.get(address)?.find((one) => one.path === path);
    if (holding === undefined) return;
    holding.endsMs = nowMs + KEPT_MS;
    this.#ending.add(address);
  }
}

function addressesOf({ key, value }: FoundEndpoint): ReadonlySet<string> {
  const texts =
    key.type === "WorkloadEndpoint"
      ? [...((value as WorkloadEndpoint).ipv4_nets ?? []), ...((value as WorkloadEndpoint).ipv6_nets ?? [])]
      : [
          ...((value as HostEndpoint).expected_ipv4_addrs ?? []),
          ...((value as HostEndpoint).expected_ipv6_addrs ?? []),
        ];
  return new Set(
    texts.flatMap((text) => {
      const address = parseAddress(text.split("/")[0] ?? "");
      return address === undefined ? [] : [formatAddress(address)];
    }),
  );
}
