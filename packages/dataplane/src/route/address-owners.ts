import type { Interfaces } from "../manager/interfaces.ts";
import type { RouteCandidates, RouteKey } from "./route-candidates.ts";

/** What has become of a network since it was asked about last. */
export type OwnerChange =
  | { readonly kind: "same" }
  | { readonly kind: "claimed"; readonly device: number }
  /** A workload had it, and has it no more; `device` is that of the next one. */
  | { readonly kind: "freed"; readonly from: number; readonly device: number | undefined };

/**
 * Which local workload has a single address, by the index of its interface. An address keeps its owner while the
 * owner's interface is down or being made anew under its name: it is freed when nobody claims it any more, or when it
 * goes to another interface. A change of metric is no change of owner, and remote owners are none of our business.
 */
export class AddressOwners {
  readonly #devices = new Map<string, number>();

  /** The device that had the network when {@link settle} was last told. */
  deviceOf(destination: string): number | undefined {
    return this.#devices.get(destination);
  }

  /** Where a workload was seen before we knew it: by its route at the start. */
  note(destination: string, device: number): void {
    this.#devices.set(destination, device);
  }

  /** `key`: one that the network has, or had. */
  change(destination: string, key: RouteKey, candidates: RouteCandidates, interfaces: Interfaces): OwnerChange {
    const from = this.#devices.get(destination);
    const device = candidates.localDevice(destination, key, interfaces);
    if (device === "waiting" || device === from) return { kind: "same" };
    if (from !== undefined) return { kind: "freed", from, device };
    return device === undefined ? { kind: "same" } : { kind: "claimed", device };
  }

  /** From now on the network is the device's, or (undefined) nobody's. */
  settle(destination: string, device: number | undefined): void {
    if (device === undefined) this.#devices.delete(destination);
    else this.#devices.set(destination, device);
  }
}

/** The address of a network that holds but one, as text; else undefined. */
export function singleAddress(destination: string): string | undefined {
  const full = destination.includes(":") ? "/128" : "/32";
  return destination.endsWith(full) ? destination.slice(0, -full.length) : undefined;
}
