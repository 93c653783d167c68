import { join } from "node:path";
import { buildConsole } from "./build-console.ts";

/** npm run console [-- DIRECTORY] */
const directory = process.argv[2] ?? join(import.meta.dirname, "..", "dist", "site");
await buildConsole(directory);
process.stdout.write(`${directory}\n`);
