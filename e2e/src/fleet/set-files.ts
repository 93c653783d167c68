import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { writeManifest } from "../lab/write-manifest.ts";

/** Sets in a file of many. */
const SETS_A_FILE = 1000;
const NETS = 10;

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
    writeManifest(this.#file(name), [setOf(name, version)]);
  }

  /** So many that stay as they are. */
  setMany(count: number): void {
    for (let first = 0; first < count; first += SETS_A_FILE) {
      const sets = Array.from({ length: Math.min(SETS_A_FILE, count - first) }, (_, i) =>
        setOf(`many-${first + i}`, first + i),
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

/** Nets that have nothing in common, so that they take as much room on the wire as a cluster's real ones. */
function setOf(name: string, version: number): Resource {
  const bytes = createHash("sha256").update(`${name} ${version}`).digest();
  const nets = Array.from({ length: NETS }, (_, i) => `10.${bytes[3 * i]}.${bytes[3 * i + 1]}.${bytes[3 * i + 2]}/32`);
  return {
    apiVersion: "projectcalico.org/v3",
    kind: "GlobalNetworkSet",
    metadata: { name, labels: { version: `v${version}` } },
    spec: { nets },
  } as unknown as Resource;
}
