import { openRouteConnection, openRouteMonitor } from "@bulrush/netlink";
import { openNftConnection } from "@bulrush/nftables";
import type { Kernel } from "./kernel.ts";
import { procSysctls } from "./proc-sysctls.ts";

/** The kernel of the calling thread's network namespace. Throws a coded error of the netlink or nftables package. */
export function openHostKernel(): Kernel {
  const routes = openRouteConnection();
  try {
    const nft = openNftConnection();
    return {
      nft,
      routes,
      sysctls: procSysctls(),
      openMonitor: (callbacks) => openRouteMonitor({ groups: ["links", "addresses"], ...callbacks }),
      close() {
        nft.close();
        routes.close();
      },
    };
  } catch (error) {
    routes.close();
    throw error;
  }
}
