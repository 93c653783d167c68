/**
 * npm run bundle:calc -- FILE: the calculation graph and its explanations as one script for a browser, which defines
 * `bulrush`: everything of @bulrush/calc, and what reads a datastore's keys and values out of JSON.
 *
 *   const updates = lines.map(({ key, value }) => bulrush.updateOf(key, value));
 *   const explainer = new bulrush.Explainer();
 *   explainer.update(updates);
 *   explainer.explain({ source: { workload: "shop/web" }, ... }, true);
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const ROOT = join(import.meta.dirname, "..");

/** What the script exports. */
const ENTRY = `
import { readKV, valueFromPlain } from "@bulrush/model";
export * from "@bulrush/calc";
/** A key's path and its value as JSON has it, as an update; undefined for a path that is none of ours. */
export function updateOf(path, plain) {
  const kv = readKV(path, plain);
  if (kv === undefined) return undefined;
  const value = kv.value === null ? undefined : valueFromPlain(kv.key, kv.value);
  return { key: kv.key, path: kv.path, value, revision: "", type: value === undefined ? "deleted" : "new" };
}
`;

export interface Bundle {
  readonly text: string;
  /** Every file that went into it, from the root of the repository. */
  readonly inputs: readonly string[];
}

/** Fails where something that only Node.js has is imported. */
export async function bundleCalc(): Promise<Bundle> {
  const result = await build({
    // Resolved where both packages are dependencies.
    stdin: { contents: ENTRY, resolveDir: join(ROOT, "packages/ctl"), sourcefile: "bundle-calc-entry.js" },
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: "browser",
    format: "iife",
    globalName: "bulrush",
    target: "es2024",
    conditions: ["bulrush-source"],
    logLevel: "silent",
  });
  const text = result.outputFiles[0]?.text ?? "";
  return { text, inputs: Object.keys(result.metafile.inputs) };
}

if (import.meta.main) {
  const file = process.argv[2];
  if (file === undefined) {
    process.stderr.write("Usage: npm run bundle:calc -- FILE\n");
    process.exit(2);
  }
  const { text } = await bundleCalc();
  writeFileSync(file, text);
  process.stdout.write(`${file}: ${Math.ceil(text.length / 1024)} KB\n`);
}
