import type { Sysctls } from "./kernel.ts";
import { settingFiles } from "./setting-files.ts";

/**
 * Settings of interfaces that are no hardware: "wg0/threaded" (Documentation/ABI/testing/sysfs-class-net of Linux). They
 * are those of the network namespace that `root` was mounted in. Below `root` only `devices/virtual/net` is used, so that
 * no more of the host need be mounted into a container.
 */
export function virtualDevices(root: string = "/sys"): Sysctls {
  return settingFiles((name) => `${root}/devices/virtual/net/${name}`);
}
