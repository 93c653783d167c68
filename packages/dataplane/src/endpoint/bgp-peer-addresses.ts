import { messageOf } from "@bulrush/base";
import { formatAddress, parseAddress } from "@bulrush/ip";
import { hasErrno, type InterfaceAddress, type RouteOperation } from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { Listeners } from "../manager/listeners.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { OWN_PROTOCOL } from "../route/own-protocol.ts";

const FULL_LENGTH = { 4: 32, 6: 128 } as const;

/**
 * The addresses by which workloads that speak BGP find this host: one a family, the same on the interface of each
 * workload that a BGPPeer picks, and gone from it when none picks it any more.
 *
 *     GlobalBGPConfigUpdate ── peering addresses ──┐
 *     endpoints ── which of them are peers ────────┼──> wanted on an interface <──compare──> what it has
 *     interfaces ── came, went, lost an address ───┘
 *
 * Ours on a workload interface are the addresses that say so (protocol 80; kernels older than 5.18 forget it), and, once
 * there is a peering address, those that are, or were, that address, and the single ones of scope link. An address of
 * another kind, or on another interface, is somebody else's. While nobody asks for a peering address, one look at the
 * start finds what says that it is ours: the wish for it may have ended while we were away.
 *
 * To be brought into the kernel ahead of routes: with the last IPv4 address of an interface, the kernel drops all routes
 * and neighbours of it without a word.
 * Invariant: `#known` has every peering address that there was since the start.
 */
export class BgpPeerAddresses implements DeviceWork {
  /** An interface that may have lost its IPv4 routes and neighbours. */
  readonly onAddressGone: Listeners<string> = new Listeners();
  readonly #config: DataplaneConfig;
  readonly #endpoints: WorkloadEndpoints;
  readonly #interfaces: Interfaces;
  readonly #dirty = new Set<string>();
  readonly #known = new Set<string>();
  /** What was there after the last round, by interface name and index. */
  readonly #settled = new Map<string, string>();
  /** Interfaces that were told of because IPv6 is off there. */
  readonly #withoutIpv6 = new Set<string>();
  /** The present peering addresses, each with its full length. */
  #peering: readonly string[] = [];
  #isDue = true;
  /** True until the first look: an earlier life may have left something. */
  #mayHaveLeft = true;

  constructor(config: DataplaneConfig, endpoints: WorkloadEndpoints, interfaces: Interfaces) {
    this.#config = config;
    this.#endpoints = endpoints;
    this.#interfaces = interfaces;
    const note = (name: string): void => {
      if (isWorkloadInterface(name, config.interfacePrefixes)) this.#dirty.add(name);
    };
    endpoints.onInterfaceChange.add(note);
    interfaces.onChange.add(note);
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg !== "GlobalBGPConfigUpdate") return;
    const texts = [message.local_workload_peering_ip_v4, message.local_workload_peering_ip_v6];
    this.#peering = texts.flatMap((text) => {
      const address = parseAddress(text);
      if (address === undefined || (address.family === 6 && !this.#config.ipv6Support)) return [];
      return [`${formatAddress(address)}/${FULL_LENGTH[address.family]}`];
    });
    for (const address of this.#peering) this.#known.add(address);
    this.#isDue = true;
    this.#settled.clear();
  }

  queueResync(): void {
    this.#isDue = true;
  }

  apply(access: RouteAccess): DeviceResult {
    if (this.#config.routeSyncDisabled || (this.#known.size === 0 && !this.#mayHaveLeft)) {
      this.#dirty.clear();
      return NO_DEVICE_WORK;
    }
    if (!this.#isDue && this.#dirty.size === 0) return NO_DEVICE_WORK;
    const failures: string[] = [];
    const warnings: string[] = [];
    const repaired: DriftItem[] = [];
    let writes = 0;
    try {
      const names = this.#isDue ? this.#workloadInterfaces() : this.#dirty;
      const plans = this.#plan(access, names);
      const operations = plans.flatMap((plan) => plan.operations);
      for (const plan of plans) {
        if (plan.operations.length > 0 && this.#settled.get(plan.name) === plan.state) repaired.push(...driftOf(plan));
        this.#settled.set(plan.name, plan.state);
      }
      this.#isDue = false;
      this.#dirty.clear();
      writes = operations.length;
      if (writes > 0)
        for (const { error, operation } of access.apply(operations)) {
          // Gone with its interface, or by somebody else's hand. The interface's end comes as an event.
          if (hasErrno(error, "ENODEV", "EADDRNOTAVAIL")) continue;
          // disable_ipv6 of that interface: it is somebody's wish, and holds nothing else up.
          const isOff = operation.kind === "replace-address" && isIpv6(operation.address.address);
          if (isOff && hasErrno(error, "EACCES")) this.#noteWithoutIpv6(operation.address.device, error, warnings);
          else failures.push(`${operation.kind}: ${error.message}`);
        }
      for (const { name, operations: done } of plans) if (done.some(isIpv4Loss)) this.onAddressGone.notify(name);
    } catch (error) {
      failures.push(`List addresses of BGP peers: ${messageOf(error)}`);
    }
    if (failures.length > 0) {
      this.#isDue = true;
      this.#settled.clear();
    } else this.#mayHaveLeft = false;
    return { writes, drift: repaired.length, repaired, failures, warnings };
  }

  /** It is tried again with the next look, and is nobody's drift. */
  #noteWithoutIpv6(device: number, error: Error, warnings: string[]): void {
    const name = this.#interfaces.byIndex(device)?.name ?? String(device);
    this.#settled.delete(name);
    if (!this.#withoutIpv6.has(name)) warnings.push(`No peering address of IPv6 on ${name}: ${error.message}`);
    this.#withoutIpv6.add(name);
  }

  inspect(access: RouteAccess): readonly DriftItem[] {
    if (this.#known.size === 0 || this.#config.routeSyncDisabled) return [];
    return this.#plan(access, this.#workloadInterfaces()).flatMap(driftOf);
  }

  #workloadInterfaces(): Set<string> {
    const names = new Set<string>();
    for (const { name } of this.#interfaces.all())
      if (isWorkloadInterface(name, this.#config.interfacePrefixes)) names.add(name);
    return names;
  }

  #plan(access: RouteAccess, names: ReadonlySet<string>): Plan[] {
    const byDevice = new Map<number, InterfaceAddress[]>();
    for (const address of access.addresses())
      byDevice.set(address.device, [...(byDevice.get(address.device) ?? []), address]);
    return [...names].flatMap((name) => {
      const known = this.#interfaces.get(name);
      if (known === undefined) {
        this.#settled.delete(name);
        this.#withoutIpv6.delete(name);
        return [];
      }
      const isPeer = this.#endpoints.ownerOf(name)?.endpoint.local_bgp_peer !== undefined;
      const wanted = isPeer ? this.#peering : [];
      const operations = this.#operations(known.index, wanted, byDevice.get(known.index) ?? []);
      // A link that goes down takes its IPv6 addresses along: that is nobody's doing.
      return [{ name, operations, state: `${known.index} ${known.up} ${wanted.join(" ")}` }];
    });
  }

  #operations(device: number, wanted: readonly string[], present: readonly InterfaceAddress[]): RouteOperation[] {
    const isRight = ({ address, scope }: InterfaceAddress): boolean =>
      wanted.includes(address) && (isIpv6(address) || scope === "link");
    const right = new Set(present.filter(isRight).map(({ address }) => address));
    const stale = present.filter((known) => !isRight(known) && this.#isOurs(known));
    // One of another scope is in the way of ours; all else goes last, so that the interface is never without any.
    const [first, last] = [true, false].map((isInTheWay) =>
      stale
        .filter(({ address }) => wanted.includes(address) === isInTheWay)
        .map((address): RouteOperation => ({ kind: "delete-address", address })),
    );
    // Nobody else on the link has it: no need to wait for the search of duplicates. No route comes with it.
    const fields = { device, scope: "link", noDad: true, noPrefixRoute: true, protocol: OWN_PROTOCOL } as const;
    const missing = wanted
      .filter((address) => !right.has(address))
      .map((address): RouteOperation => ({ kind: "replace-address", address: { ...fields, address } }));
    return [...(first ?? []), ...missing, ...(last ?? [])];
  }

  #isOurs({ address, protocol, scope }: InterfaceAddress): boolean {
    if (protocol === OWN_PROTOCOL) return true;
    if (this.#known.size === 0) return false;
    // The kernel works the scope of an IPv6 address out of its bits: it tells nothing of who wrote it.
    return this.#known.has(address) || (address.endsWith("/32") && !isIpv6(address) && scope === "link");
  }
}

interface Plan {
  readonly name: string;
  readonly operations: readonly RouteOperation[];
  /** The same text: neither the interface nor what is wanted of it has changed. */
  readonly state: string;
}

function isIpv4Loss(operation: RouteOperation): boolean {
  return operation.kind === "delete-address" && !isIpv6(operation.address.address);
}

function isIpv6(address: string): boolean {
  return address.includes(":");
}

function driftOf({ name, operations }: Plan): DriftItem[] {
  return operations.flatMap((operation): DriftItem[] => {
    if (operation.kind !== "replace-address" && operation.kind !== "delete-address") return [];
    const what = operation.kind === "replace-address" ? "missing" : "unknown";
    return [{ kind: "device", name, what, detail: `address ${operation.address.address}` }];
  });
}
