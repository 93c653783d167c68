import { readFileSync } from "node:fs";

/** The version of this package. */
export const VERSION: string = readVersion();

function readVersion(): string {
  // From src and from dist/src alike, package.json is the nearest one above.
  for (const up of ["../package.json", "../../package.json"]) {
    try {
      return (JSON.parse(readFileSync(new URL(up, import.meta.url), "utf8")) as { version: string }).version;
    } catch {
      // The next one.
    }
  }
  return "unknown";
}
