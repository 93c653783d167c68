import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import {
  type Address,
  type Cidr,
  containsAddress,
  formatAddress,
  isHostCidr,
  parseAddress,
  parseCidr,
} from "@bulrush/ip";
import type { NeighbourResponder } from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import type { Kernel, RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import type { Family } from "../render/statements.ts";
import type { LiveMigrations } from "../route/live-migrations.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { IPIP_DEVICE } from "../tunnel/ipip-device.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";
import { type HostNetwork, hostNetworks } from "./host-networks.ts";
import { hashOf, ownerOf } from "./service-owner.ts";

/** Questions are answered this late at most: who asks waits for a second before it asks again. */
const LISTEN_MS = 25;
/** Devices that nobody can listen at are tried again after this long. */
const RETRY_MS = 10_000;
/** One that was lost is opened anew after this long: a link that is down for less is told to nobody. */
const REOPEN_MS = 200;

export interface LocalReachabilityOptions {
  readonly config: DataplaneConfig;
  readonly endpoints: WorkloadEndpoints;
  readonly migrations: LiveMigrations;
  readonly interfaces: Interfaces;
  readonly clock: Clock;
  /** Has `apply` called in so long, though nothing else may change. */
  readonly wakeIn: (delayMs: number) => void;
}

/** A host of the cluster. */
interface Host {
  readonly address: Address;
  /** Of its name. */
  readonly hash: number;
}

/** One network that is spoken to. */
interface Listener {
  readonly responder: NeighbourResponder;
  /** What it was opened for: it is opened anew for anything else. */
  readonly key: string;
}

/**
 * Pods and services with addresses out of a network that this host is in are found there without a router: the host answers
 * ARP and neighbour discovery for them, and tells of them when they come and from time to time.
 *
 *     pods of this host (not those that are to come, or have left) ─┐
 *     addresses given to LoadBalancer services: this host's share ──┼─ in a pool without encapsulation, in a subnet of a
 *                                                                   v  device, of no host: answered for at that device
 *     questions wait in the kernel, and are looked for every 25 ms; without an address at a device nobody listens there
 *
 * Of an address of a service one host of its subnet is the owner, by a hash: each service needs one way in, not one by
 * every host.
 * Nothing of it is in the kernel: it ends with the process, and neighbours remember the answers for a while.
 *
 * Invariant: `#listeners` has one for each family and device with an address, under the name of both; the timer runs as
 * long as there is one.
 */
export class LocalReachability implements DeviceWork {
  readonly #options: LocalReachabilityOptions;
  readonly #pools = new Map<string, Cidr>();
  /** Addresses by service. */
  readonly #services = new Map<string, readonly string[]>();
  /** Hosts that have an address of the family. */
  readonly #hosts = { 4: new Map<string, Host>(), 6: new Map<string, Host>() };
  readonly #listeners = new Map<string, Listener>();
  /** What stood in the way, by listener, as last told. */
  #problems: ReadonlyMap<string, string> = new Map();
  #networks: readonly HostNetwork[] | undefined;
  #isDirty = true;
  /** After a failure: when to look again though nothing changed. */
  #retryAtMs: number | undefined;
  #nextAnnounceMs = 0;
  #timer: CancelTimer | undefined;

  constructor(options: LocalReachabilityOptions) {
    this.#options = options;
    const { config, endpoints, interfaces, migrations } = options;
    if (!config.localReachability) return;
    const note = (): void => {
      this.#isDirty = true;
    };
    endpoints.onInterfaceChange.add(note);
    migrations.onChange.add(note);
    interfaces.onChange.add((name) => this.touchInterface(name));
  }

  /** Something happened to the interface, though it may seem the same: its MAC may be another. */
  touchInterface(name: string): void {
    if (isWorkloadInterface(name, this.#options.config.interfacePrefixes)) return;
    this.#networks = undefined;
    this.#isDirty = true;
  }

  onUpdate(message: ToDataplane): void {
    if (!this.#options.config.localReachability) return;
    switch (message.msg) {
      case "IPAMPoolUpdate": {
        const { cidr, ipip_mode: ipip, vxlan_mode: vxlan } = message.pool;
        this.#set(this.#pools, message.id, isOff(ipip) && isOff(vxlan) ? parseCidr(cidr) : undefined);
        return;
      }
      case "IPAMPoolRemove":
        this.#set(this.#pools, message.id, undefined);
        return;
      case "ServiceUpdate": {
        // Given by a controller, which writes the status. What the service's author asks for (`loadbalancer_ip`,
        // `external_ips`) may be somebody else's address.
        const { loadbalancer_ingress_ips: given, name, namespace, type } = message;
        const addresses = type === "LoadBalancer" ? given.filter((text) => text !== "") : [];
        this.#set(this.#services, `${namespace}/${name}`, addresses.length === 0 ? undefined : addresses);
        return;
      }
      case "ServiceRemove":
        this.#set(this.#services, `${message.namespace}/${message.name}`, undefined);
        return;
      case "HostMetadataUpdate":
        this.#setHost(4, message.hostname, message.ipv4_addr);
        this.#setHost(6, message.hostname, message.ipv6_addr);
        return;
      case "HostMetadataRemove":
        this.#setHost(4, message.hostname, "");
        this.#setHost(6, message.hostname, "");
        return;
      default:
    }
  }

  queueResync(): void {
    this.#networks = undefined;
    this.#isDirty = true;
  }

  stop(): void {
    this.#timer?.();
    this.#timer = undefined;
    for (const { responder } of this.#listeners.values()) responder.close();
    this.#listeners.clear();
  }

  apply(access: RouteAccess, nowMs: number, kernel: Kernel): DeviceResult {
    if (!this.#options.config.localReachability) return NO_DEVICE_WORK;
    const isDue = this.#retryAtMs !== undefined && nowMs >= this.#retryAtMs;
    if (!this.#isDirty && !isDue) return NO_DEVICE_WORK;
    this.#isDirty = false;
    const warnings: string[] = [];
    const problems = new Map<string, string>();
    const trouble = (what: string, error: unknown): void => {
      const why = messageOf(error);
      if (this.#problems.get(what) !== why) warnings.push(`Answer neighbours at ${what} (needs NET_RAW): ${why}`);
      problems.set(what, why);
    };
    try {
      this.#networks ??= this.#findNetworks(access);
    } catch (error) {
      trouble("the host's devices", error);
    }
    const unwanted = new Set(this.#listeners.keys());
    for (const network of this.#networks ?? []) {
      const addresses = this.#addressesIn(network);
      if (addresses.size === 0) continue;
      const what = `${network.name}, IPv${network.family}`;
      unwanted.delete(what);
      try {
        this.#listener(what, network, kernel).responder.set(addresses);
      } catch (error) {
        this.#drop(what);
        trouble(what, error);
      }
    }
    for (const what of unwanted) this.#drop(what);
    this.#problems = problems;
    this.#retryAtMs = problems.size > 0 ? nowMs + RETRY_MS : undefined;
    this.#listen(nowMs);
    return { ...NO_DEVICE_WORK, warnings, againAtMs: this.#retryAtMs };
  }

  #set<T>(map: Map<string, T>, key: string, value: T | undefined): void {
    if (value === undefined) this.#isDirty = map.delete(key) || this.#isDirty;
    else {
      map.set(key, value);
      this.#isDirty = true;
    }
  }

  /** `text`: with a length, or without. */
  #setHost(family: Family, name: string, text: string): void {
    const address = parseAddress(text.replace(/\/.*$/, ""));
    const hosts = this.#hosts[family];
    const known = hosts.get(name);
    if (address === undefined) this.#isDirty = hosts.delete(name) || this.#isDirty;
    else if (known === undefined || formatAddress(known.address) !== formatAddress(address)) {
      hosts.set(name, { address, hash: hashOf(name) });
      this.#isDirty = true;
    }
  }

  #findNetworks(access: RouteAccess): HostNetwork[] {
    const { config, interfaces } = this.#options;
    const own = new Set<string>([
      IPIP_DEVICE,
      ...Object.values(VXLAN_DEVICE),
      ...Object.values<string>(config.wireguardDevice),
    ]);
    return hostNetworks(
      interfaces,
      access.links(),
      access.addresses(),
      (name) => own.has(name) || isWorkloadInterface(name, config.interfacePrefixes),
    );
  }

  #addressesIn({ family, subnets }: HostNetwork): Set<string> {
    const { config, interfaces } = this.#options;
    if (family === 6 && !config.ipv6Support) return new Set();
    const addresses = new Set<string>();
    const isIn = (address: Address, cidrs: Iterable<Cidr>): boolean => {
      for (const cidr of cidrs) if (containsAddress(cidr, address)) return true;
      return false;
    };
    const found = (text: string): Address | undefined => {
      const address = parseAddress(text);
      if (address?.family !== family || !isIn(address, subnets)) return undefined;
      return isIn(address, this.#pools.values()) ? address : undefined;
    };
    for (const net of this.#podNetworks(family)) {
      const cidr = parseCidr(net);
      const address = cidr !== undefined && isHostCidr(cidr) ? found(formatAddress(cidr)) : undefined;
      if (address !== undefined) addresses.add(formatAddress(address));
    }
    const inSubnet = new Map<Cidr, readonly (readonly [string, number])[]>();
    for (const text of [...this.#services.values()].flat()) {
      const address = found(text);
      const subnet = address && subnets.find((cidr) => containsAddress(cidr, address));
      if (address === undefined || subnet === undefined) continue;
      const hosts = inSubnet.get(subnet) ?? this.#hostsIn(subnet, family);
      inSubnet.set(subnet, hosts);
      const canonical = formatAddress(address);
      if (ownerOf(canonical, hosts) === config.hostname) addresses.add(canonical);
    }
    // For its own the kernel answers, for another host's that one.
    for (const { addresses: own } of interfaces.all()) for (const address of own) addresses.delete(address);
    for (const { address } of this.#hosts[family].values()) addresses.delete(formatAddress(address));
    return addresses;
  }

  /** Hosts that can answer in a subnet: those with their own address there; where no host has, it is the second one of all. */
  #hostsIn(subnet: Cidr, family: Family): (readonly [name: string, hash: number])[] {
    const all = [...this.#hosts[family]];
    const near = all.filter(([, { address }]) => containsAddress(subnet, address));
    return (near.length > 0 ? near : all).map(([name, { hash }]) => [name, hash]);
  }

  *#podNetworks(family: Family): Generator<string> {
    const { endpoints, migrations } = this.#options;
    for (const name of endpoints.interfaceNames()) {
      const endpoint = endpoints.ownerOf(name)?.endpoint;
      if (endpoint?.state !== "active" || endpoint.live_migration_role === "source") continue;
      if (migrations.priorityOf(name) !== "none") yield* family === 4 ? endpoint.ipv4_nets : endpoint.ipv6_nets;
    }
  }

  #listener(what: string, { device, family, from, mac }: HostNetwork, kernel: Kernel): Listener {
    const key = [device, mac, from].join(" ");
    const known = this.#listeners.get(what);
    if (known?.key === key) return known;
    this.#drop(what);
    const responder = kernel.openNeighbourResponder?.({ family, device, mac, ...(family === 6 ? { from } : {}) });
    if (responder === undefined) throw new Error("not here");
    const listener = { responder, key };
    this.#listeners.set(what, listener);
    return listener;
  }

  #drop(what: string): void {
    this.#listeners.get(what)?.responder.close();
    this.#listeners.delete(what);
  }

  #listen(nowMs: number): void {
    if (this.#timer !== undefined || this.#listeners.size === 0) return;
    this.#nextAnnounceMs = nowMs + this.#options.config.localReachabilityRefreshMs;
    this.#again();
  }

  #again(): void {
    this.#timer = this.#options.clock.after(LISTEN_MS, () => {
      this.#timer = undefined;
      this.#answer(this.#options.clock.monotonicMs());
      if (this.#listeners.size > 0) this.#again();
    });
  }

  /** What cannot speak is opened anew. */
  #answer(nowMs: number): void {
    const refreshMs = this.#options.config.localReachabilityRefreshMs;
    const isDue = refreshMs > 0 && nowMs >= this.#nextAnnounceMs;
    if (isDue) this.#nextAnnounceMs = nowMs + refreshMs;
    for (const [what, { responder }] of this.#listeners)
      try {
        responder.answer();
        if (isDue) responder.announce();
      } catch {
        this.#drop(what);
        this.#isDirty = true;
        this.#options.wakeIn(REOPEN_MS);
      }
  }
}

/** How v1 pools say that they do without. */
function isOff(mode: string): boolean {
  return mode === "" || mode.toLowerCase() === "never";
}
