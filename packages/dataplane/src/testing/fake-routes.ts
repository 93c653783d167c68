import {
  type Filter,
  type InterfaceAddress,
  type Link,
  type Neighbour,
  NetlinkError,
  type OperationFailure,
  type PlainLink,
  type Qdisc,
  type Route,
  type RouteEvent,
  type RouteMonitor,
  type RouteMonitorOptions,
  type RouteOperation,
  type RouteScope,
  type RoutingRule,
  type VxlanInfo,
  type VxlanLink,
} from "@bulrush/netlink";
import type { RouteAccess } from "../kernel/kernel.ts";
import { FakeQueues } from "./fake-queues.ts";

/** linux/rtnetlink.h: RT_TABLE_MAIN */
const MAIN_TABLE = 254;

type MonitorCallbacks = Pick<RouteMonitorOptions, "onEvents" | "onResync" | "onError">;

/** Links, addresses, routes and neighbours in memory, with the kernel's manners as far as the tests need them. */
export class FakeRoutes implements RouteAccess {
  /** Every write that was tried, in order, as "replace-route 10.0.0.1/32". */
  readonly writes: string[] = [];
  /** How often routes were listed. */
  routeListings = 0;
  /** Listings of routes fail while it is set: all of them, or those of a family. */
  failListings: boolean | 4 | 6 = false;
  /** Writes are done, and their answers lost, while it is set. */
  loseAnswers = false;
  /** Writes of this destination or address fail with EPERM. */
  failWritesOf: string | undefined;
  /** Devices on which IPv6 is off (disable_ipv6): addresses and routes of IPv6 fail there with EACCES. */
  readonly withoutIpv6: Set<number> = new Set();
  /** As a kernel older than 5.18: addresses do not say who wrote them. */
  forgetsAddressProtocols = false;
  /** Kinds of devices that this kernel does not have. */
  readonly missingKinds: Set<string> = new Set();
  /** The kernel does not give an index twice in a long time. */
  #nextIndex = 1000;
  readonly #links = new Map<number, Link>();
  readonly #addresses: InterfaceAddress[] = [];
  readonly #routes = new Map<string, Route>();
  readonly #neighbours = new Map<string, Neighbour>();
  readonly #rules: RoutingRule[] = [];
  readonly #monitors = new Set<MonitorCallbacks>();
  readonly queues: FakeQueues = new FakeQueues((index) => this.#links.has(index));

  links(): Link[] {
    return [...this.#links.values()];
  }

  addresses(): InterfaceAddress[] {
    return [...this.#addresses];
  }

  link(name: string): Link | undefined {
    return this.links().find((link) => link.name === name);
  }

  routes(filter: { readonly family?: 4 | 6; readonly table?: number | "all"; readonly device?: number } = {}): Route[] {
    this.routeListings++;
    if (this.failListings === true || (this.failListings !== false && this.failListings === filter.family))
      throw failure("Dump routes", "EINTR");
    return [...this.#routes.values()].filter(
      ({ destination, device, table = MAIN_TABLE }) =>
        (filter.table === "all" || (filter.table ?? MAIN_TABLE) === table) &&
        (filter.family === undefined || destination.includes(":") === (filter.family === 6)) &&
        (filter.device === undefined || device === filter.device),
    );
  }

  neighbours(filter: { readonly device?: number; readonly forwarding?: boolean } = {}): Neighbour[] {
    return [...this.#neighbours.values()].filter(
      ({ device, forwarding }) =>
        (filter.device === undefined || filter.device === device) &&
        (filter.forwarding === true) === (forwarding === true),
    );
  }

  rules(family: 4 | 6): RoutingRule[] {
    return this.#rules.filter((rule) => rule.family === family);
  }

  qdiscs(): Qdisc[] {
    return this.queues.qdiscs();
  }

  ingressFilters(device: number): Filter[] {
    return this.queues.filters(device);
  }

  apply(operations: readonly RouteOperation[]): OperationFailure[] {
    const failures: OperationFailure[] = [];
    for (const [index, operation] of operations.entries()) {
      this.writes.push(describe(operation));
      const errno = this.#one(operation);
      if (errno !== undefined) failures.push({ index, operation, error: failure(operation.kind, errno) });
    }
    if (this.loseAnswers) throw failure("Write routes", "ENOBUFS");
    return failures;
  }

  close(): void {
    this.#monitors.clear();
  }

  openMonitor(callbacks: MonitorCallbacks): RouteMonitor {
    this.#monitors.add(callbacks);
    return {
      close: () => {
        this.#monitors.delete(callbacks);
        return Promise.resolve();
      },
    };
  }

  /** What a person would list: "10.0.0.1/32 dev cali1 proto 3 metric 1024", sorted. */
  listing(wanted: number = MAIN_TABLE): string[] {
    return [...this.#routes.values()]
      .filter(({ table = MAIN_TABLE }) => table === wanted)
      .map(({ destination, device, metric, mtu, onlink, protocol, source, type, via }) => {
        const name = device === undefined ? "-" : (this.#links.get(device)?.name ?? `if${device}`);
        const words = [`${destination} dev ${name} proto ${protocol ?? 3} metric ${metric ?? 0}`];
        if (source !== undefined) words.push(`src ${source}`);
        if (via !== undefined) words.push(`via ${via}`);
        if (onlink === true) words.push("onlink");
        if (mtu !== undefined) words.push(`mtu ${mtu}`);
        if (type !== undefined && type !== "unicast") words.push(type);
        return words.join(" ");
      })
      .sort();
  }

  /** "10.0.0.1 dev cali1 MAC", and "fdb MAC dev vxlan.calico to 192.168.0.2". */
  neighbourListing(): string[] {
    return [...this.#neighbours.values()]
      .map(({ address = "-", device, forwarding, mac = "-" }) => {
        const name = this.#links.get(device)?.name ?? "-";
        return forwarding === true ? `fdb ${mac} dev ${name} to ${address}` : `${address} dev ${name} ${mac}`;
      })
      .sort();
  }

  /** Puts a neighbour or forwarding entry there as somebody else would. */
  putNeighbour(neighbour: Neighbour): void {
    this.#neighbours.set(neighbourKey(neighbour), neighbour);
  }

  /** Makes or changes a link and tells the monitors. Going down takes its routes along. */
  setLink(index: number, name: string, up = true, mtu = 1500, mac?: string): void {
    const link: Link = { index, name, up, running: up, flags: 0, mtu, ...(mac === undefined ? {} : { mac }) };
    this.#links.set(index, link);
    if (!up) this.#dropRoutesOf(index);
    this.emit({ kind: "link", link });
  }

  removeLink(index: number): void {
    const link = this.#links.get(index);
    if (link === undefined) return;
    this.#links.delete(index);
    this.queues.dropDevice(index);
    this.#dropRoutesOf(index);
    this.#dropAddressesOf(index);
    this.emit({ kind: "link-gone", link });
  }

  addAddress(device: number, text: string, scope?: RouteScope, protocol?: number): void {
    const address: InterfaceAddress = {
      device,
      address: text,
      ...(scope === undefined ? {} : { scope }),
      ...(protocol === undefined || this.forgetsAddressProtocols ? {} : { protocol }),
    };
    this.#addresses.push(address);
    this.emit({ kind: "address", address });
  }

  /** Takes an address from its interface and (but for undefined) gives it to another. */
  moveAddress(address: string, device: number | undefined): void {
    const at = this.#addresses.findIndex((known) => known.address === address);
    const [gone] = at < 0 ? [] : this.#addresses.splice(at, 1);
    if (gone !== undefined) {
      this.#disableIpv4(gone);
      this.emit({ kind: "address-gone", address: gone });
    }
    if (device !== undefined) this.addAddress(device, address);
  }

  /** Puts a route there as somebody else would. */
  putRoute(route: Route): void {
    this.#routes.set(keyOf(route), route);
  }

  dropRoute(route: Route): void {
    this.#routes.delete(keyOf(route));
  }

  /** The kernel had more to tell than its buffer holds. */
  loseNotices(): void {
    for (const { onResync } of this.#monitors) onResync();
  }

  emit(...events: readonly RouteEvent[]): void {
    for (const { onEvents } of this.#monitors) onEvents(events);
  }

  breakMonitor(): void {
    for (const { onError } of this.#monitors) onError(new Error("The monitor broke"));
  }

  #dropAddressesOf(device: number): void {
    for (let i = this.#addresses.length - 1; i >= 0; i--)
      if (this.#addresses[i]?.device === device) this.#addresses.splice(i, 1);
  }

  /** fib_disable_ip(): with the last IPv4 address, the kernel drops all IPv4 routes of the device, and tells nobody. */
  #disableIpv4({ address, device }: InterfaceAddress): void {
    const isLeft = this.#addresses.some((known) => known.device === device && isIpv4(known.address));
    if (isIpv4(address) && !isLeft) this.#dropRoutesOf(device, isIpv4);
  }

  #dropRoutesOf(device: number, which: (address: string) => boolean = () => true): void {
    for (const [key, route] of this.#routes)
      if (route.device === device && which(route.destination)) this.#routes.delete(key);
    for (const [key, neighbour] of this.#neighbours)
      if (neighbour.device === device && which(neighbour.address ?? "")) this.#neighbours.delete(key);
  }

  #addVxlan({ mac, mtu = 1500, name, up = false, ...settings }: VxlanLink): string | undefined {
    if (this.link(name) !== undefined) return "EEXIST";
    const index = this.#nextIndex++;
    const { vni, port, local, parent } = settings;
    const vxlan: VxlanInfo = {
      vni,
      port,
      learning: settings.learning === true,
      l2miss: false,
      gbp: false,
      external: false,
      ...(local === undefined ? {} : { local }),
      ...(parent === undefined ? {} : { parent }),
    };
    const link: Link = { index, name, up, running: up, flags: 0, mtu, kind: "vxlan", vxlan, ...(mac && { mac }) };
    this.#links.set(index, link);
    this.emit({ kind: "link", link });
    return undefined;
  }

  #addPlain({ kind, mtu = 1500, name, up = false }: PlainLink): string | undefined {
    if (this.missingKinds.has(kind)) return "EOPNOTSUPP";
    if (this.link(name) !== undefined) return "EEXIST";
    const link: Link = { index: this.#nextIndex++, name, up, running: up, flags: 0, mtu, kind };
    this.#links.set(link.index, link);
    this.emit({ kind: "link", link });
    return undefined;
  }

  #replaceAddress({ address, device, protocol, scope }: InterfaceAddress): void {
    const at = this.#addresses.findIndex((known) => known.device === device && known.address === address);
    if (at >= 0) this.#addresses.splice(at, 1);
    this.addAddress(device, address, scope, protocol);
  }

  #one(operation: RouteOperation): string | undefined {
    switch (operation.kind) {
      case "replace-route": {
        const { route } = operation;
        if (route.destination === this.failWritesOf) return "EPERM";
        const link = route.device === undefined ? undefined : this.#links.get(route.device);
        if (route.device !== undefined && link === undefined) return "ENODEV";
        if (link?.up === false) return "ENETDOWN";
        if (this.withoutIpv6.has(link?.index ?? 0) && !isIpv4(route.destination)) return "EACCES";
        this.#routes.set(keyOf(route), route);
        return undefined;
      }
      case "delete-route":
        return this.#routes.delete(keyOf(operation.route)) ? undefined : "ESRCH";
      case "replace-neighbour":
        if (operation.neighbour.address === this.failWritesOf) return "EPERM";
        if (!this.#links.has(operation.neighbour.device)) return "ENODEV";
        this.putNeighbour(operation.neighbour);
        return undefined;
      case "delete-neighbour":
        if (operation.neighbour.address === this.failWritesOf) return "EPERM";
        return this.#neighbours.delete(neighbourKey(operation.neighbour)) ? undefined : "ENOENT";
      case "replace-qdisc":
      case "delete-qdisc":
      case "add-redirect":
        return this.queues.write(operation);
      case "add-rule":
        this.#rules.push(operation.rule);
        return undefined;
      case "delete-rule": {
        const at = this.#rules.findIndex((rule) => JSON.stringify(rule) === JSON.stringify(operation.rule));
        if (at < 0) return "ENOENT";
        this.#rules.splice(at, 1);
        return undefined;
      }
      case "add-link":
        return this.#addPlain(operation.plain);
      case "add-vxlan":
        return this.#addVxlan(operation.vxlan);
      case "change-link": {
        const link = typeof operation.link === "number" ? this.#links.get(operation.link) : this.link(operation.link);
        if (link === undefined) return "ENODEV";
        const { mtu = link.mtu, up = link.up } = operation.change;
        this.#links.set(link.index, { ...link, mtu, up, running: up });
        return undefined;
      }
      case "delete-link": {
        const link = typeof operation.link === "number" ? this.#links.get(operation.link) : this.link(operation.link);
        if (link === undefined) return "ENODEV";
        this.removeLink(link.index);
        return undefined;
      }
      case "replace-address":
        if (this.withoutIpv6.has(operation.address.device) && !isIpv4(operation.address.address)) return "EACCES";
        this.#replaceAddress(operation.address);
        return undefined;
      case "delete-address": {
        const { address, device } = operation.address;
        const at = this.#addresses.findIndex((known) => known.device === device && known.address === address);
        if (at < 0) return "EADDRNOTAVAIL";
        this.#addresses.splice(at, 1);
        // fib_disable_ip(): with the last IPv4 address, the kernel drops all IPv4 routes of the device, and tells nobody.
        if (
          !address.includes(":") &&
          !this.#addresses.some((known) => known.device === device && isIpv4(known.address))
        )
          this.#dropRoutesOf(device, isIpv4);
        this.emit({ kind: "address-gone", address: operation.address });
        return undefined;
      }
      default:
        return "EOPNOTSUPP";
    }
  }
}

function keyOf({ destination, metric, table = MAIN_TABLE }: Route): string {
  return `${destination} ${metric ?? 0} ${table}`;
}

function isIpv4(text: string): boolean {
  return !text.includes(":");
}

function neighbourKey({ address, device, forwarding, mac }: Neighbour): string {
  return forwarding === true ? `fdb ${device} ${mac}` : `${device} ${address}`;
}

function describe(operation: RouteOperation): string {
  switch (operation.kind) {
    case "add-route":
    case "replace-route":
    case "delete-route":
      return `${operation.kind} ${operation.route.destination}`;
    case "add-neighbour":
    case "replace-neighbour":
    case "delete-neighbour":
      return `${operation.kind} ${operation.neighbour.address ?? "-"}`;
    case "add-link":
      return `${operation.kind} ${operation.plain.name}`;
    case "add-vxlan":
      return `${operation.kind} ${operation.vxlan.name}`;
    case "change-link":
    case "delete-link":
      return `${operation.kind} ${operation.link}`;
    case "replace-address":
    case "delete-address":
      return `${operation.kind} ${operation.address.address}`;
    default:
      return operation.kind;
  }
}

function failure(op: string, errnoName: string): NetlinkError {
  return new NetlinkError(`${op}: ${errnoName}`, { code: "NETLINK_REFUSED", op, errno: 1, errnoName });
}
