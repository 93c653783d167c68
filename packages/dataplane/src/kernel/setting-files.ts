import { readFileSync, writeFileSync } from "node:fs";
import { hasCode } from "@bulrush/base";
import type { Sysctls } from "./kernel.ts";

/** Settings that the kernel shows as files. `pathOf` gives the file of a setting's name. */
export function settingFiles(pathOf: (name: string) => string): Sysctls {
  return {
    read(name) {
      try {
        return readFileSync(pathOf(name), "latin1").trimEnd();
      } catch (error) {
        if (hasCode(error, "ENOENT")) return undefined;
        throw error;
      }
    },
    write(name, value) {
      // A plain open without O_CREAT: an interface that has just gone must not leave a file behind in a test's root.
      writeFileSync(pathOf(name), `${value}\n`, { flag: "r+" });
    },
  };
}
