/** Writes the role of Typha into `deploy/rbac`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { TYPHA_ROLE_FILE, typhaRole } from "./typha-role.ts";

const file = join(import.meta.dirname, "..", TYPHA_ROLE_FILE);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, typhaRole());
process.stdout.write(`${TYPHA_ROLE_FILE}\n`);
