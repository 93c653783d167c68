import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** Small files that others on this host read. All calls are synchronous, and throw what `node:fs` throws. */
export interface HostFiles {
  /** `undefined` when there is no such file. */
  read(path: string): string | undefined;
  /** Names in the directory; none when there is no such directory. */
  list(directory: string): string[];
  /**
   * Whoever reads the file finds the old text or the new one, never a part. Makes the directory (0755) where it is
   * missing; the file is for all to read (0644).
   */
  write(path: string, text: string): void;
  /** Does nothing when there is no such file. */
  remove(path: string): void;
}

const DIRECTORY_MODE = 0o755;
const FILE_MODE = 0o644;

export function hostFiles(): HostFiles {
  return {
    read(path) {
      try {
        return readFileSync(path, "utf8");
      } catch (error) {
        return orMissing(error, undefined);
      }
    },
    list(directory) {
      try {
        return readdirSync(directory);
      } catch (error) {
        return orMissing(error, []);
      }
    },
    write(path, text) {
      const directory = dirname(path);
      mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
      const draft = join(directory, `.${basename(path)}.new`.slice(0, 255));
      writeFileSync(draft, text);
      // Whatever the process's mask says.
      chmodSync(draft, FILE_MODE);
      renameSync(draft, path);
    },
    remove: (path) => rmSync(path, { force: true }),
  };
}

function orMissing<T>(error: unknown, missing: T): T {
  if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
    return missing;
  throw error;
}
