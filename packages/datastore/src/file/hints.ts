import { basename } from "node:path";
import { isOwnFile } from "./write/atomic-write.ts";

/** More than these are quicker found by a listing; so many may also mean that the kernel has dropped some. */
const MAX_PATHS = 1000;

/**
 * What may have changed since it was looked at last.
 *
 * Invariant: `#paths` is undefined when anything may have.
 */
export class Hints {
  #paths: Set<string> | undefined;

  /** A path, or undefined: anything. True if somebody should look. */
  add(path: string | undefined): boolean {
    const name = path === undefined ? "" : basename(path);
    if (isOwnFile(name)) return false;
    // Other hidden names are what directories are swapped by.
    if (path === undefined || name.startsWith(".")) this.#paths = undefined;
    else this.#paths?.add(path);
    if (this.#paths !== undefined && this.#paths.size > MAX_PATHS) this.#paths = undefined;
    return true;
  }

  /** What there is to look at, which then is nothing; undefined: everything. */
  take(): ReadonlySet<string> | undefined {
    const taken = this.#paths;
    this.#paths = new Set();
    return taken;
  }
}
