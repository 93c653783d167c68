/** Writes `deploy/crds` from the schemas of packages/model, and takes away what is not among them. */
import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crdFiles } from "../packages/model/src/crd/files.ts";

const CRDS = join(import.meta.dirname, "..", "deploy", "crds");

const files = crdFiles();
const wanted = new Set(files.map(({ path }) => path));
for (const { path, text } of files) {
  mkdirSync(dirname(join(CRDS, path)), { recursive: true });
  writeFileSync(join(CRDS, path), text);
}
for (const path of globSync("*/*.yaml", { cwd: CRDS })) if (!wanted.has(path)) rmSync(join(CRDS, path));
process.stdout.write(`${files.length} files in deploy/crds\n`);
