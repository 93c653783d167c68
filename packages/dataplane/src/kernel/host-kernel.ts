import { openConntrack, openRouteConnection, openRouteMonitor } from "@bulrush/netlink";
import { openNftConnection } from "@bulrush/nftables";
import type { Kernel } from "./kernel.ts";
import { procSysctls } from "./proc-sysctls.ts";

/** The kernel of the calling thread's network namespace. Throws a coded error of the netlink or nftables package. */
export function openHostKernel(): Kernel {
  const opened: { close: () => void }[] = [];
  const keep = <T extends { close: () => void }>(connection: T): T => {
    opened.push(connection);
    return connection;
  };
  const close = (): void => {
    for (const connection of opened) connection.close();
  };
  try {
    return {
      nft: keep(openNftConnection()),
      routes: keep(openRouteConnection()),
      conntrack: keep(openConntrack()),
      sysctls: procSysctls(),
      openMonitor: (callbacks) => openRouteMonitor({ groups: ["links", "addresses", "routes"], ...callbacks }),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
