import { NETLINK_ROUTE } from "../message/header.ts";
import { openMonitor } from "../socket/open-monitor.ts";
import { decodeRouteEvent } from "./event-codec.ts";
import type { MonitorGroup, RouteEvent, RouteMonitor, RouteMonitorOptions } from "./route-monitor.ts";

/** enum rtnetlink_groups, linux/rtnetlink.h, as bits of the address. */
const GROUPS: Readonly<Record<MonitorGroup, number>> = {
  links: 1 << 0,
  neighbours: 1 << 2,
  addresses: (1 << 4) | (1 << 8),
  routes: (1 << 6) | (1 << 10),
};

/** Opens a monitor of links, addresses and routes. It holds one thread of libuv's pool while it lives. */
export function openRouteMonitor(options: RouteMonitorOptions): RouteMonitor {
  let events: RouteEvent[] = [];
  const monitor = openMonitor({
    protocol: NETLINK_ROUTE,
    groups: options.groups.reduce((bits, group) => bits | GROUPS[group], 0),
    ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
    onDatagram(reader) {
      while (reader.next()) {
        const event = decodeRouteEvent(reader);
        if (event !== undefined) events.push(event);
      }
    },
    onBurst(lost) {
      const burst = events;
      events = [];
      if (burst.length > 0) options.onEvents(burst);
      // A callback may have closed the monitor.
      if (lost && !monitor.isClosing) options.onResync();
    },
    onError: options.onError,
  });
  return { close: () => monitor.close() };
}
