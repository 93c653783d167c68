import { copyFileSync, type FSWatcher, mkdirSync, readdirSync, renameSync, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

/** A burst of saves counts as one when nothing more comes for so long. */
const SETTLE_MS = 15;
/** Watching is a hint only; this is how often the files are looked at in any case. */
const LOOK_EVERY_MS = 500;

interface Facts {
  /** Names, sizes and times of everything: equal while nothing was saved. */
  readonly fingerprint: string;
  /** When something was saved last, Unix ms. */
  readonly savedMs: number;
}

/**
 * The directory that Typha watches: the user's own when it is one; for a single file a directory that always holds its
 * present contents.
 *
 * Invariant: `#seen` is the fingerprint of what the caller has been told of; a save at any time, also while the caller
 * is busy, makes the next `nextChange` resolve.
 */
export class ManifestSource {
  readonly directory: string;
  readonly #path: string;
  readonly #isFile: boolean;
  #seen: string;

  constructor(path: string, workDir: string) {
    this.#path = path;
    this.#isFile = statSync(path).isFile();
    this.directory = this.#isFile ? join(workDir, "manifests") : path;
    if (this.#isFile) {
      mkdirSync(this.directory, { recursive: true });
      this.#copy();
    }
    this.#seen = this.#look().fingerprint;
  }

  #copy(): void {
    if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return;
    const target = join(this.directory, basename(this.#path));
    copyFileSync(this.#path, `${target}.new`);
    renameSync(`${target}.new`, target);
  }

  #look(): Facts {
    const parts: string[] = [];
    let savedMs = 0;
    const visit = (path: string): void => {
      const facts = statSync(path, { throwIfNoEntry: false });
      if (facts === undefined) return;
      savedMs = Math.max(savedMs, facts.mtimeMs);
      parts.push(`${path} ${facts.ino} ${facts.size} ${facts.mtimeMs}`);
      if (facts.isDirectory()) for (const name of readdirSync(path).sort()) visit(join(path, name));
    };
    visit(this.#path);
    return { fingerprint: parts.join("\n"), savedMs };
  }

  #directories(): string[] {
    if (this.#isFile) return [dirname(this.#path)];
    const found: string[] = [];
    const visit = (path: string): void => {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return;
      found.push(path);
      for (const entry of readdirSync(path, { withFileTypes: true }))
        if (entry.isDirectory()) visit(join(path, entry.name));
    };
    visit(this.#path);
    return found;
  }

  /**
   * Resolves with the time of the last save once something differs from what was told before, a moment after the last
   * of a burst. Rejects with the signal's reason.
   */
  async nextChange(signal: AbortSignal): Promise<number> {
    let wake = (): void => {};
    const watchers = this.#directories().map((path): FSWatcher => watch(path, () => wake()));
    for (const watcher of watchers) watcher.on("error", () => {});
    signal.addEventListener("abort", () => wake(), { once: true });
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, ms);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    try {
      for (;;) {
        if (signal.aborted) throw signal.reason as Error;
        let facts = this.#look();
        if (facts.fingerprint === this.#seen) {
          await pause(LOOK_EVERY_MS);
          continue;
        }
        for (let before = ""; before !== facts.fingerprint; facts = this.#look()) {
          before = facts.fingerprint;
          await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
        }
        this.#seen = facts.fingerprint;
        if (this.#isFile) this.#copy();
        return facts.savedMs;
      }
    } finally {
      for (const watcher of watchers) watcher.close();
    }
  }
}
