import type { CancelTimer, Clock } from "@bulrush/base";
import type { InterfaceAddress, Link, RouteEvent, RouteMonitor } from "@bulrush/netlink";
import type { Kernel } from "../kernel/kernel.ts";
import type { Interface, Interfaces } from "../manager/interfaces.ts";

/**
 * What goes for less than this was never gone, for those who watch names: a link that goes down, an address that is
 * taken off and put back. A host endpoint that is found by its address must not lose its interface over a renewed lease.
 */
const FLAP_MS = 100;

export interface InterfaceMonitorOptions {
  readonly kernel: Pick<Kernel, "routes" | "openMonitor">;
  readonly clock: Clock;
  readonly interfaces: Interfaces;
  /** True for interfaces whose addresses do not count. */
  readonly isExcluded: (name: string) => boolean;
  /** Something may have happened to this interface's routes, even where its state is the same as before. */
  readonly onTouched: (name: string) => void;
  /** Notices were lost: anything may have happened to anything. What was found to have changed is told of as well. */
  readonly onMissed: () => void;
  /** An interface has lost an address, be it for a moment only. */
  readonly onAddressGone: (address: InterfaceAddress) => void;
  /** A route came, changed or went. */
  readonly onRoute: (event: RouteChange) => void;
  readonly onFatal: (error: Error) => void;
}

/** What the kernel tells of a route. */
export type RouteChange = Extract<RouteEvent, { readonly kind: "route" | "route-gone" }>;

interface KnownLink {
  link: Link;
  /** As watchers see it: follows `link.running` up at once and down after {@link FLAP_MS}. */
  up: boolean;
  cancelDown: CancelTimer | undefined;
  /** As watchers see them: they come at once and go after {@link FLAP_MS}. */
  readonly addresses: Map<string, InterfaceAddress>;
  /** Addresses that have gone, and are still in `addresses`. */
  readonly leaving: Map<string, CancelTimer>;
}

/**
 * Follows links and addresses, and keeps {@link Interfaces} by name. Links are told apart by index: a rename is a name
 * that goes and one that comes. While two indices claim one name (events out of order), the name stays as it was.
 *
 * Invariant: `#links` is what the kernel listed last, with all events since.
 */
export class InterfaceMonitor {
  readonly #options: InterfaceMonitorOptions;
  readonly #links = new Map<number, KnownLink>();
  #monitor: RouteMonitor | undefined;

  constructor(options: InterfaceMonitorOptions) {
    this.#options = options;
  }

  /** Subscribes, then lists. In sync when it returns. Throws when either fails. */
  start(): void {
    this.#monitor = this.#options.kernel.openMonitor({
      onEvents: (events) => this.#onEvents(events),
      onResync: () => this.#resyncOrDie(),
      onError: (error) => this.#options.onFatal(error),
    });
    this.resync();
  }

  /** Lists everything again and makes up for what was missed. Throws when a listing fails. */
  resync(): void {
    const { routes } = this.#options.kernel;
    const links = routes.links();
    const addresses = routes.addresses();
    const listed = new Set(links.map(({ index }) => index));
    for (const [index, known] of this.#links) if (!listed.has(index)) this.#onGone(known.link);
    for (const link of links) this.#onLink(link);
    const present = new Set(addresses.map(({ address, device }) => `${device} ${address}`));
    for (const { addresses: known } of this.#links.values())
      for (const address of known.values())
        if (!present.has(`${address.device} ${address.address}`)) this.#onAddressGone(address);
    for (const address of addresses) this.#noteAddress(address);
    for (const { link } of this.#links.values()) this.#publish(link.name);
  }

  async stop(): Promise<void> {
    for (const known of this.#links.values()) {
      known.cancelDown?.();
      stopLeaving(known);
    }
    await this.#monitor?.close();
  }

  #resyncOrDie(): void {
    try {
      this.resync();
      this.#options.onMissed();
    } catch (error) {
      this.#options.onFatal(error as Error);
    }
  }

  #onEvents(events: readonly RouteEvent[]): void {
    for (const event of events) {
      switch (event.kind) {
        case "link":
          this.#onLink(event.link);
          this.#options.onTouched(event.link.name);
          break;
        case "link-gone":
          this.#onGone(event.link);
          this.#options.onTouched(event.link.name);
          break;
        case "address":
          this.#onAddress(event.address);
          break;
        case "address-gone":
          this.#onAddressGone(event.address);
          this.#touchAfterLoss(event.address);
          this.#options.onAddressGone(event.address);
          break;
        case "route":
        case "route-gone":
          this.#options.onRoute(event);
          break;
        default:
      }
    }
  }

  #onLink(link: Link): void {
    const known = this.#links.get(link.index);
    if (known === undefined) {
      this.#links.set(link.index, {
        link,
        up: link.running,
        cancelDown: undefined,
        addresses: new Map(),
        leaving: new Map(),
      });
      this.#publish(link.name);
      return;
    }
    const oldName = known.link.name;
    known.link = link;
    if (link.running) {
      known.cancelDown?.();
      known.cancelDown = undefined;
      known.up = true;
    } else if (known.up && known.cancelDown === undefined)
      known.cancelDown = this.#options.clock.after(FLAP_MS, () => {
        known.cancelDown = undefined;
        known.up = false;
        this.#publish(known.link.name);
      });
    if (oldName !== link.name) {
      this.#publish(oldName);
      this.#options.onTouched(oldName);
    }
    this.#publish(link.name);
  }

  #onGone(link: Link): void {
    const known = this.#links.get(link.index);
    if (known === undefined) return;
    known.cancelDown?.();
    stopLeaving(known);
    this.#links.delete(link.index);
    this.#publish(known.link.name);
  }

  #onAddress(address: InterfaceAddress): void {
    const known = this.#noteAddress(address);
    if (known !== undefined) this.#publish(known.link.name);
  }

  /** It is there: it does not leave any more. */
  #noteAddress(address: InterfaceAddress): KnownLink | undefined {
    const known = this.#links.get(address.device);
    known?.leaving.get(address.address)?.();
    known?.leaving.delete(address.address);
    known?.addresses.set(address.address, address);
    return known;
  }

  #onAddressGone({ address, device }: InterfaceAddress): void {
    const known = this.#links.get(device);
    if (known === undefined || !known.addresses.has(address) || known.leaving.has(address)) return;
    const cancel = this.#options.clock.after(FLAP_MS, () => {
      known.leaving.delete(address);
      known.addresses.delete(address);
      this.#publish(known.link.name);
    });
    known.leaving.set(address, cancel);
  }

  /**
   * With the last IPv4 address of an interface the kernel drops its IPv4 routes, whoever made them, and tells nobody
   * (fib_disable_ip). They do not come back with the address.
   */
  #touchAfterLoss({ address, device }: InterfaceAddress): void {
    const name = this.#links.get(device)?.link.name;
    if (name !== undefined && !address.includes(":")) this.#options.onTouched(name);
  }

  #publish(name: string): void {
    const claimants = [...this.#links.values()].filter(({ link }) => link.name === name);
    const [only, second] = claimants;
    if (second !== undefined) return;
    this.#options.interfaces.put(name, only === undefined ? undefined : this.#toInterface(only));
  }

  #toInterface({ link, up, addresses }: KnownLink): Interface {
    const texts = this.#options.isExcluded(link.name)
      ? []
      : [...addresses.keys()].map((address) => address.slice(0, address.indexOf("/")));
    return { name: link.name, index: link.index, up, mtu: link.mtu, addresses: new Set(texts) };
  }
}

function stopLeaving({ leaving }: KnownLink): void {
  for (const cancel of leaving.values()) cancel();
  leaving.clear();
}
