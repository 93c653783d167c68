import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A file of the console, as it is sent. */
export interface ConsoleFile {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
}

/** Everything that the page consists of; it loads nothing from elsewhere. */
const FILES: readonly (readonly [path: string, name: string, type: string])[] = [
  ["/", "index.html", "text/html; charset=utf-8"],
  ["/console.css", "console.css", "text/css; charset=utf-8"],
  ["/console.js", "console.js", "text/javascript; charset=utf-8"],
  ["/graph-worker.js", "graph-worker.js", "text/javascript; charset=utf-8"],
];

/** Headers of every file: the page may load from here alone, and no other page may show it in a frame. */
export const CONSOLE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cache-control": "no-cache",
};

/** The built console of a directory, in memory. Throws what reading throws. */
export function readConsole(directory: string): readonly ConsoleFile[] {
  return FILES.map(([path, name, type]) => ({ path, type, body: readFileSync(join(directory, name)) }));
}
