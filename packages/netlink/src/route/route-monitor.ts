import type { InterfaceAddress } from "./address.ts";
import type { Link } from "./link.ts";
import type { Neighbour } from "./neighbour.ts";
import type { Route } from "./route.ts";

/** One change, with the object as it is now, or as it was where it is gone. */
export type RouteEvent =
  | { readonly kind: "link" | "link-gone"; readonly link: Link }
  | { readonly kind: "address" | "address-gone"; readonly address: InterfaceAddress }
  | { readonly kind: "route" | "route-gone"; readonly route: Route }
  | { readonly kind: "neighbour" | "neighbour-gone"; readonly neighbour: Neighbour };

/** What is told of; addresses and routes are those of both families. */
export type MonitorGroup = "links" | "addresses" | "routes" | "neighbours";

/**
 * Callbacks run on the thread that opened the monitor, never from inside `open` or `close`, in the kernel's order.
 */
export interface RouteMonitorOptions {
  readonly groups: readonly MonitorGroup[];
  /** Path or open file descriptor of the namespace to watch. Default: the calling thread's. */
  readonly namespace?: string | number;
  /** All events of one datagram burst together. */
  readonly onEvents: (events: readonly RouteEvent[]) => void;
  /** Events were lost (the buffer ran over): list everything again, now. What changes from here on is told again. */
  readonly onResync: () => void;
  /** The monitor has ended by itself. */
  readonly onError: (error: Error) => void;
}

/** Told of changes in a namespace. The caller closes it. */
export interface RouteMonitor {
  /** Stops at once; no callback comes after it. Resolves when the file descriptor is closed. */
  close(): Promise<void>;
}
