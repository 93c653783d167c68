import type { Sysctls } from "./kernel.ts";
import { settingFiles } from "./setting-files.ts";

const PROC_SYS = "/proc/sys";

/** Kernel settings of the calling thread's network namespace. Only those below `net` are looked for in `root`. */
export function procSysctls(root: string = PROC_SYS): Sysctls {
  return settingFiles((name) => `${name.startsWith("net/") ? root : PROC_SYS}/${name}`);
}
