import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Runs the TypeScript blocks of a package's README, in order, as one program. `sourceDir` is its `src`. */
export async function runReadme(sourceDir: string, packageName: string): Promise<void> {
  const readme = readFileSync(join(sourceDir, "../README.md"), "utf8");
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ""]) => code);
  if (blocks.length === 0) throw new Error("The README has no code");
  const index = pathToFileURL(join(sourceDir, "index.ts")).href;
  const directory = mkdtempSync(join(tmpdir(), "bulrush-readme-"));
  try {
    const file = join(directory, "readme.ts");
    writeFileSync(file, blocks.join("\n").replaceAll(`"${packageName}"`, `"${index}"`));
    await import(pathToFileURL(file).href);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
