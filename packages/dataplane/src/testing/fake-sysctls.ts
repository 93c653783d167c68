import type { Sysctls } from "../kernel/kernel.ts";

/** Settings in memory. Every interface has those that we set, at 0. */
export class FakeSysctls implements Sysctls {
  /** "path=value" of every write. */
  readonly writes: string[] = [];
  /** Writes of paths that hold this text fail. */
  failing: string | undefined;
  /** Reads of paths that hold this text fail. */
  unreadable: string | undefined;
  /** Paths that do not exist. */
  readonly missing: Set<string> = new Set();
  readonly #values = new Map<string, string>([["kernel/osrelease", "6.18.44-test"]]);

  read(path: string): string | undefined {
    if (this.unreadable !== undefined && path.includes(this.unreadable)) throw new Error("EIO: i/o error");
    return this.missing.has(path) ? undefined : (this.#values.get(path) ?? "0");
  }

  write(path: string, value: string): void {
    if (this.failing !== undefined && path.includes(this.failing)) throw new Error("EROFS: read-only file system");
    this.writes.push(`${path}=${value}`);
    this.#values.set(path, value);
  }
}
