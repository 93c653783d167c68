import { type FSWatcher, watch } from "node:fs";
import { join } from "node:path";

/**
 * Plain watches on a set of directories. They are only hints: an event says that something may have changed, and a
 * watch that fails, or stays on a directory that was moved away, is made good by the next scan.
 */
export class DirectoryWatcher {
  readonly #onHint: (path: string | undefined) => void;
  readonly #watches = new Map<string, { readonly identity: string; readonly watcher: FSWatcher }>();

  /** `onHint` is told the path that may have changed, or undefined where that is not known. */
  constructor(onHint: (path: string | undefined) => void) {
    this.#onHint = onHint;
  }

  /** Watches exactly these directories, path to identity: one whose identity has changed is watched anew. */
  follow(directories: ReadonlyMap<string, string>): void {
    for (const [path, { identity, watcher }] of this.#watches) {
      if (directories.get(path) === identity) continue;
      watcher.close();
      this.#watches.delete(path);
    }
    for (const [path, identity] of directories) {
      if (!this.#watches.has(path)) this.#add(path, identity);
    }
  }

  close(): void {
    this.follow(new Map());
  }

  #add(path: string, identity: string): void {
    try {
      const watcher = watch(path, { persistent: false }, (_, name) =>
        this.#onHint(name === null ? undefined : join(path, name)),
      );
      watcher.on("error", () => {
        watcher.close();
        if (this.#watches.get(path)?.watcher === watcher) this.#watches.delete(path);
      });
      this.#watches.set(path, { identity, watcher });
    } catch {
      // Out of watches, or gone already: the periodic scan sees what changes.
    }
  }
}
