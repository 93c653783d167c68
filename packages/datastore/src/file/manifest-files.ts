import { compareBytes } from "../manifest/compare-bytes.ts";
import type { FoundFile } from "../manifest/list-files.ts";
import type { ManifestResource } from "../manifest/resource.ts";
import type { ParsedManifest } from "../manifest/parse.ts";
import type { Problem } from "../problem.ts";

interface Known {
  /** Of the version that was read last. */
  stamp: string;
  /** The last good contents, or what of the first ones could be read. */
  resources: readonly ManifestResource[];
  problems: readonly Problem[];
}

interface Waiting {
  readonly stamp: string;
  readonly sinceMs: number;
}

/** How long a file must lie still, or be away, before that is believed. */
export interface SettleTimes {
  /** After any write: a reader must not see the half of it. */
  readonly settleMs: number;
  /** Of a file that has vanished or is empty: editors move the old one away before the new one comes. */
  readonly removalMs: number;
}

/** What `update` asks the caller to do. */
export interface FilesToRead {
  readonly read: readonly FoundFile[];
  /** When to look again, in milliseconds from now; undefined if all is settled. */
  readonly againMs: number | undefined;
}

/**
 * What is known of each file of a directory, by path. Decides which are to be read, and keeps the last good contents of
 * one that has become unreadable.
 *
 * Invariant: `#order`, where it is set, has exactly the paths of `#known`.
 */
export class ManifestFiles {
  readonly #times: SettleTimes;
  readonly #known = new Map<string, Known>();
  readonly #waiting = new Map<string, Waiting>();
  /** The paths of `#known` in byte order; undefined when they are other ones than they were. */
  #order: readonly string[] | undefined;
  #version = 0;
  #isFirst = true;

  constructor(times: SettleTimes) {
    this.#times = times;
  }

  /** Another number when `contents` or `problems` may be other ones. */
  get version(): number {
    return this.#version;
  }

  /** The files that are waited for, by path: the next `update` must have looked at them. */
  get waiting(): Iterable<string> {
    return this.#waiting.keys();
  }

  /**
   * Takes a complete listing. The first one is believed as it is. `unreadable`: files and directories that could not be
   * looked at; what is known of them and of what is in them stays.
   */
  update(found: readonly FoundFile[], nowMs: number, unreadable: readonly string[] = []): FilesToRead {
    const read: FoundFile[] = [];
    let againMs: number | undefined;
    const isSettled = (path: string, stamp: string, needMs: number): boolean => {
      const waiting = this.#waiting.get(path);
      const sinceMs = waiting?.stamp === stamp ? waiting.sinceMs : nowMs;
      const restMs = needMs - (nowMs - sinceMs);
      if (restMs <= 0) {
        this.#waiting.delete(path);
        return true;
      }
      this.#waiting.set(path, { stamp, sinceMs });
      againMs = Math.min(againMs ?? restMs, restMs);
      return false;
    };
    const paths = new Set<string>();
    for (const file of found) {
      paths.add(file.path);
      const known = this.#known.get(file.path);
      if (known?.stamp === file.stamp) {
        this.#waiting.delete(file.path);
        continue;
      }
      const needMs = file.bytes === 0 ? this.#times.removalMs : this.#times.settleMs;
      if (this.#isFirst || isSettled(file.path, file.stamp, needMs)) read.push(file);
    }
    for (const path of this.#known.keys()) {
      if (paths.has(path) || unreadable.some((at) => path === at || path.startsWith(`${at}/`))) continue;
      if (isSettled(path, "", this.#times.removalMs)) this.#forget(path);
    }
    for (const path of this.#waiting.keys()) {
      if (!paths.has(path) && !this.#known.has(path)) this.#waiting.delete(path);
    }
    this.#isFirst = false;
    return { read, againMs };
  }

  /** The contents of a file that was to be read come later: the next `update` asks for it again. */
  postpone(file: FoundFile): void {
    this.#waiting.set(file.path, { stamp: file.stamp, sinceMs: -Infinity });
  }

  /** Takes the contents of a file that was to be read. With an error in it, the last good contents stay. */
  setContents(file: FoundFile, parsed: ParsedManifest): void {
    const known = this.#known.get(file.path);
    const isBad = parsed.problems.some((problem) => problem.severity === "error");
    this.#version++;
    if (known === undefined) this.#order = undefined;
    if (!isBad || known === undefined) {
      this.#known.set(file.path, { stamp: file.stamp, ...parsed });
      return;
    }
    known.stamp = file.stamp;
    known.problems = parsed.problems.map((problem) =>
      problem.severity === "error"
        ? { ...problem, effect: "the last good contents of the file stay in force" }
        : problem,
    );
  }

  /** Contents in byte order of path. */
  contents(): readonly (readonly ManifestResource[])[] {
    return this.#sorted().map((known) => known.resources);
  }

  problems(): readonly Problem[] {
    return this.#sorted().flatMap((known) => known.problems);
  }

  #forget(path: string): void {
    this.#known.delete(path);
    this.#order = undefined;
    this.#version++;
  }

  #sorted(): readonly Known[] {
    this.#order ??= [...this.#known.keys()].sort(compareBytes);
    return this.#order.map((path) => this.#known.get(path) as Known);
  }
}
