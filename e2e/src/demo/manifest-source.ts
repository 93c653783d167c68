import { copyFileSync, mkdirSync, readdirSync, renameSync, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

/**
 * The directory that Typha watches: the user's own when it is one; for a single file a directory that always holds its
 * present contents.
 */
export class ManifestSource {
  readonly directory: string;
  readonly #path: string;
  readonly #isFile: boolean;

  constructor(path: string, workDir: string) {
    this.#path = path;
    this.#isFile = statSync(path).isFile();
    this.directory = this.#isFile ? join(workDir, "manifests") : path;
    if (this.#isFile) {
      mkdirSync(this.directory, { recursive: true });
      this.#copy();
    }
  }

  #copy(): void {
    const target = join(this.directory, basename(this.#path));
    copyFileSync(this.#path, `${target}.new`);
    renameSync(`${target}.new`, target);
  }

  /** When something in it was saved last, Unix ms. */
  lastSavedMs(): number {
    let newest = 0;
    const look = (path: string): void => {
      const facts = statSync(path, { throwIfNoEntry: false });
      if (facts === undefined) return;
      newest = Math.max(newest, facts.mtimeMs);
      if (facts.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
    };
    look(this.#path);
    return newest;
  }

  /** Resolves at the next change, a moment after the last of a burst of events. */
  nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const watcher = watch(this.#isFile ? dirname(this.#path) : this.#path, { recursive: !this.#isFile });
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        watcher.close();
        clearTimeout(timer);
      };
      watcher.on("change", (_event, name) => {
        if (this.#isFile && name !== null && String(name) !== basename(this.#path)) return;
        clearTimeout(timer);
        timer = setTimeout(() => {
          end();
          if (this.#isFile && statSync(this.#path, { throwIfNoEntry: false }) !== undefined) this.#copy();
          resolve();
        }, 15);
      });
      signal.addEventListener("abort", () => {
        end();
        reject(signal.reason as Error);
      });
    });
  }
}
