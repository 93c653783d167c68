import {
  openAnnouncementWatch,
  openConntrack,
  openLogMonitor,
  openNeighbourResponder,
  openRouteConnection,
  openRouteMonitor,
  openWireguard,
} from "@bulrush/netlink";
import { openNftConnection, openNftWatch } from "@bulrush/nftables";
import { hostFiles } from "../file/host-files.ts";
import { newWireguardKey } from "../wireguard/new-wireguard-key.ts";
import type { Kernel } from "./kernel.ts";
import { procSysctls } from "./proc-sysctls.ts";
import { virtualDevices } from "./virtual-devices.ts";

/**
 * Where the kernel's settings are, when not below /proc/sys: in a container that is not privileged that one is read-only,
 * and the host's own is mounted elsewhere. Only the `net` below it is used.
 */
const SYSCTL_DIRECTORY = "BULRUSH_PROC_SYS_DIR";

/** The same of /sys. Only the `devices/virtual/net` below it is used. */
const SYS_DIRECTORY = "BULRUSH_SYS_DIR";

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
      sysctls: procSysctls(process.env[SYSCTL_DIRECTORY] || undefined),
      virtualDevices: virtualDevices(process.env[SYS_DIRECTORY] || undefined),
      files: hostFiles(),
      wireguard: { open: () => openWireguard(), newKey: newWireguardKey },
      openAnnouncementWatch: (device) => openAnnouncementWatch(device),
      openNeighbourResponder,
      openMonitor: (callbacks) => openRouteMonitor({ groups: ["links", "addresses", "routes"], ...callbacks }),
      openNftWatch,
      openLogMonitor,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}
