import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Resource } from "@bulrush/model";

/** Saves a file the way editors do: a new file that takes the old one's name, so that no reader sees half of it. */
export function writeManifest(file: string, content: string | readonly Resource[]): void {
  const text =
    typeof content === "string" ? content : JSON.stringify({ apiVersion: "v1", kind: "List", items: content });
  mkdirSync(dirname(file), { recursive: true });
  // A name that no reader of manifests takes for one.
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
