import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";

const ROOT = join(import.meta.dirname, "..");

/** Names that the protocol takes from Node for what a browser never does: compressing, and hashes of values. */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  "node:zlib": ["constants", "zstdCompressSync", "zstdDecompressSync"],
  "node:crypto": ["createHash", "hash"],
};

/** Modules of Node, as ones whose functions say that they are missing. */
const withoutNode: Plugin = {
  name: "without-node",
  setup(hooks) {
    hooks.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "missing" }));
    hooks.onLoad({ filter: /.*/, namespace: "missing" }, ({ path }) => {
      const names = UNUSED[path];
      if (names === undefined) return { errors: [{ text: `${path} is not there in a browser` }] };
      const missing = `() => { throw new Error(${JSON.stringify(`${path} is not there in a browser`)}); }`;
      const contents = names
        .map((name) => `export const ${name} = ${name === "constants" ? "{}" : missing};`)
        .join("\n");
      return { contents };
    });
  },
};

/**
 * Writes the console into a directory: index.html, console.css, console.js, graph-worker.js. They are all of it.
 *
 * @throws what esbuild throws for sources that do not build.
 */
export async function buildConsole(directory: string): Promise<void> {
  mkdirSync(directory, { recursive: true });
  await build({
    absWorkingDir: ROOT,
    entryPoints: { console: "src/main.tsx", "graph-worker": "src/graph/graph-worker.ts" },
    outdir: directory,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2023",
    platform: "browser",
    conditions: ["bulrush-source"],
    jsx: "automatic",
    jsxImportSource: "preact",
    legalComments: "none",
    plugins: [withoutNode],
  });
  for (const name of ["index.html", "console.css"]) copyFileSync(join(ROOT, "static", name), join(directory, name));
}
