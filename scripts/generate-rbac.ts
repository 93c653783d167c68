/** Writes the role of Typha into `deploy/rbac` and into the chart. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TYPHA_ROLE_FILE, typhaRole } from "./typha-role.ts";

// A chart can read only what is inside of it.
for (const name of [TYPHA_ROLE_FILE, "deploy/helm/bulrush/files/typha-role.yaml"]) {
  const file = join(import.meta.dirname, "..", name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, typhaRole());
  process.stdout.write(`${name}\n`);
}
