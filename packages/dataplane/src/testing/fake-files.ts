import type { HostFiles } from "../file/host-files.ts";

/** Files in memory. */
export class FakeFiles implements HostFiles {
  /** By path. */
  readonly texts: Map<string, string> = new Map();
  /** Paths that were written, in order. */
  readonly writes: string[] = [];
  /** Writes fail while it is set. */
  isFull = false;
  /** Paths that hold this text can neither be written nor removed. */
  refused: string | undefined;

  read(path: string): string | undefined {
    return this.texts.get(path);
  }

  list(directory: string): string[] {
    const prefix = `${directory}/`;
    return [...this.texts.keys()].filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
  }

  write(path: string, text: string): void {
    if (this.isFull) throw new Error("no space left");
    this.#check(path);
    this.writes.push(path);
    this.texts.set(path, text);
  }

  remove(path: string): void {
    this.#check(path);
    this.texts.delete(path);
  }

  #check(path: string): void {
    if (this.refused !== undefined && path.includes(this.refused)) throw new Error(`name too long: ${path}`);
  }
}
