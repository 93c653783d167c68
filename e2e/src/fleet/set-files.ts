import { rmSync } from "node:fs";
import { join } from "node:path";
import { writeManifest } from "../lab/write-manifest.ts";
import { networkSet } from "./network-set.ts";

/** Sets in a file of many. */
const SETS_A_FILE = 1000;

/** Network sets as manifests, a file each but for those of `setMany`. */
export class SetFiles {
  readonly #directory: string;
  readonly #names = new Set<string>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  has(name: string): boolean {
    return this.#names.has(name);
  }

  /** `version` makes the contents. */
  set(name: string, version: number): void {
    this.#names.add(name);
    writeManifest(this.#file(name), [networkSet(name, version)]);
  }

  /** So many that stay as they are. */
  setMany(count: number): void {
    for (let first = 0; first < count; first += SETS_A_FILE) {
      const sets = Array.from({ length: Math.min(SETS_A_FILE, count - first) }, (_, i) =>
        networkSet(`many-${first + i}`, first + i),
      );
      writeManifest(this.#file(`many-${first}`), sets);
    }
  }

  delete(name: string): void {
    this.#names.delete(name);
    rmSync(this.#file(name));
  }

  #file(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}
