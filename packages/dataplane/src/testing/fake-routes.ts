import {
  type InterfaceAddress,
  type Link,
  type Neighbour,
  NetlinkError,
  type OperationFailure,
  type Route,
  type RouteEvent,
  type RouteMonitor,
  type RouteMonitorOptions,
  type RouteOperation,
} from "@bulrush/netlink";
import type { RouteAccess } from "../kernel/kernel.ts";

type MonitorCallbacks = Pick<RouteMonitorOptions, "onEvents" | "onResync" | "onError">;

/** Links, addresses, routes and neighbours in memory, with the kernel's manners as far as the tests need them. */
export class FakeRoutes implements RouteAccess {
  /** Every write that was tried, in order, as "replace-route 10.0.0.1/32". */
  readonly writes: string[] = [];
  /** How often routes were listed. */
  routeListings = 0;
  /** Listings of routes fail while it is set. */
  failListings = false;
  /** Writes are done, and their answers lost, while it is set. */
  loseAnswers = false;
  /** Writes of this destination or address fail with EPERM. */
  failWritesOf: string | undefined;
  readonly #links = new Map<number, Link>();
  readonly #addresses: InterfaceAddress[] = [];
  readonly #routes = new Map<string, Route>();
  readonly #neighbours = new Map<string, Neighbour>();
  readonly #monitors = new Set<MonitorCallbacks>();

  links(): Link[] {
    return [...this.#links.values()];
  }

  addresses(): InterfaceAddress[] {
    return [...this.#addresses];
  }

  routes(filter: { readonly family?: 4 | 6; readonly device?: number } = {}): Route[] {
    this.routeListings++;
    if (this.failListings) throw failure("Dump routes", "EINTR");
    return [...this.#routes.values()].filter(
      ({ destination, device }) =>
        (filter.family === undefined || destination.includes(":") === (filter.family === 6)) &&
        (filter.device === undefined || device === filter.device),
    );
  }

  neighbours(): Neighbour[] {
    return [...this.#neighbours.values()];
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
  listing(): string[] {
    return [...this.#routes.values()]
      .map(({ destination, device, metric, protocol, source }) => {
        const name = device === undefined ? "-" : (this.#links.get(device)?.name ?? `if${device}`);
        return `${destination} dev ${name} proto ${protocol ?? 3} metric ${metric ?? 0}${source === undefined ? "" : ` src ${source}`}`;
      })
      .sort();
  }

  neighbourListing(): string[] {
    return [...this.#neighbours.values()]
      .map(({ address, device, mac }) => `${address ?? "-"} dev ${this.#links.get(device)?.name ?? "-"} ${mac ?? "-"}`)
      .sort();
  }

  /** Makes or changes a link and tells the monitors. Going down takes its routes along. */
  setLink(index: number, name: string, up = true): void {
    const link: Link = { index, name, up, running: up, flags: 0, mtu: 1500 };
    this.#links.set(index, link);
    if (!up) this.#dropRoutesOf(index);
    this.emit({ kind: "link", link });
  }

  removeLink(index: number): void {
    const link = this.#links.get(index);
    if (link === undefined) return;
    this.#links.delete(index);
    this.#dropRoutesOf(index);
    this.emit({ kind: "link-gone", link });
  }

  addAddress(device: number, address: string): void {
    this.#addresses.push({ device, address });
    this.emit({ kind: "address", address: { device, address } });
  }

  /** Puts a route there as somebody else would. */
  putRoute(route: Route): void {
    this.#routes.set(keyOf(route), route);
  }

  dropRoute(route: Route): void {
    this.#routes.delete(keyOf(route));
  }

  emit(...events: readonly RouteEvent[]): void {
    for (const { onEvents } of this.#monitors) onEvents(events);
  }

  breakMonitor(): void {
    for (const { onError } of this.#monitors) onError(new Error("The monitor broke"));
  }

  #dropRoutesOf(device: number): void {
    for (const [key, route] of this.#routes) if (route.device === device) this.#routes.delete(key);
    for (const [key, neighbour] of this.#neighbours) if (neighbour.device === device) this.#neighbours.delete(key);
  }

  #one(operation: RouteOperation): string | undefined {
    switch (operation.kind) {
      case "replace-route": {
        const { route } = operation;
        if (route.destination === this.failWritesOf) return "EPERM";
        const link = route.device === undefined ? undefined : this.#links.get(route.device);
        if (route.device !== undefined && link === undefined) return "ENODEV";
        if (link?.up === false) return "ENETDOWN";
        this.#routes.set(keyOf(route), route);
        return undefined;
      }
      case "delete-route":
        return this.#routes.delete(keyOf(operation.route)) ? undefined : "ESRCH";
      case "replace-neighbour":
        if (operation.neighbour.address === this.failWritesOf) return "EPERM";
        if (!this.#links.has(operation.neighbour.device)) return "ENODEV";
        this.#neighbours.set(`${operation.neighbour.device} ${operation.neighbour.address}`, operation.neighbour);
        return undefined;
      case "delete-neighbour":
        if (operation.neighbour.address === this.failWritesOf) return "EPERM";
        return this.#neighbours.delete(`${operation.neighbour.device} ${operation.neighbour.address}`)
          ? undefined
          : "ENOENT";
      default:
        return "EOPNOTSUPP";
    }
  }
}

function keyOf({ destination, metric }: Route): string {
  return `${destination} ${metric ?? 0}`;
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
    default:
      return operation.kind;
  }
}

function failure(op: string, errnoName: string): NetlinkError {
  return new NetlinkError(`${op}: ${errnoName}`, { code: "NETLINK_REFUSED", op, errno: 1, errnoName });
}
