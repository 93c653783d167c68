import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { writeManifest } from "../lab/write-manifest.ts";

/** Network sets as manifests, a file each. */
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
    const set = {
      apiVersion: "projectcalico.org/v3",
      kind: "GlobalNetworkSet",
      metadata: { name, labels: { version: `v${version}` } },
      spec: { nets: [`10.${version & 255}.0.0/16`] },
    } as unknown as Resource;
    writeManifest(this.#file(name), [set]);
  }

  delete(name: string): void {
    this.#names.delete(name);
    rmSync(this.#file(name));
  }

  #file(name: string): string {
    return join(this.#directory, `${name}.json`);
  }
}
