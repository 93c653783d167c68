import { readFileSync, writeFileSync } from "node:fs";
import { hasCode } from "@bulrush/base";
import type { Sysctls } from "./kernel.ts";

const PROC_SYS = "/proc/sys";

/** Kernel settings of the calling thread's network namespace. Only those below `net` are looked for in `root`. */
export function procSysctls(root: string = PROC_SYS): Sysctls {
  return {
    read(path) {
      try {
        return readFileSync(`${path.startsWith("net/") ? root : PROC_SYS}/${path}`, "latin1").trimEnd();
      } catch (error) {
        if (hasCode(error, "ENOENT")) return undefined;
        throw error;
      }
    },
    write(path, value) {
      // A plain open without O_CREAT: an interface that has just gone must not leave a file behind in a test's root.
      writeFileSync(`${root}/${path}`, `${value}\n`, { flag: "r+" });
    },
  };
}
