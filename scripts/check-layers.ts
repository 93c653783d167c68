/**
 * Checks what the compiler does not: that a package imports only from layers below its own, that a third-party library
 * is imported only by its owner, that pure packages touch no sockets, files, timers or randomness, that TypeScript's
 * references equal the workspace dependencies, and that no file is over its length.
 */
import { globSync, readFileSync } from "node:fs";
import { compareStrings } from "../packages/base/src/compare.ts";
import { basename, dirname, join, relative, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const MAX_SOURCE_LINES = 500;
const MAX_TEST_LINES = 800;

interface Layers {
  readonly layers: Readonly<Record<string, number>>;
  readonly libraries: Readonly<Record<string, readonly string[]>>;
  readonly pure: readonly string[];
}

interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const { layers, libraries, pure } = JSON.parse(
  readFileSync(join(import.meta.dirname, "layers.json"), "utf8"),
) as Layers;
const problems: string[] = [];

const packageDirs = globSync(["packages/*/package.json", "proto/package.json", "e2e/package.json"], { cwd: ROOT })
  .map((file) => dirname(file))
  .sort();

/** Words that a pure package has no use for. Comments are stripped before the search. */
const IMPURE = [
  /from "node:(?!test|assert)[a-z_/]+"/,
  /\bDate\.now\b/,
  /\bMath\.random\b/,
  /\bset(?:Timeout|Interval|Immediate)\b/,
  /\bprocess\./,
  /\bperformance\./,
];

/** What a statement at the start of a line, or a dynamic import, names. Strings of a test are neither. */
const IMPORTED =
  /(?:^|\n)[ \t]*(?:import|export)\s(?:[^"';=()]*?\sfrom\s)?\s*"([^"\n]+)"|\bimport\(\s*"([^"\n]+)"\s*\)/g;

function stripComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, "").replaceAll(/^\s*\/\/.*$/gm, "");
}

function checkFile(file: string, owner: string, declared: ReadonlySet<string>): void {
  const source = readFileSync(join(ROOT, file), "utf8");
  // Folders named testing hold what tests share.
  const isTest = file.endsWith(".test.ts") || file.includes("/testing/");
  const lines = source.split("\n").length;
  const limit = isTest ? MAX_TEST_LINES : MAX_SOURCE_LINES;
  if (lines > limit) problems.push(`${file}: ${lines} lines, over the limit of ${limit}`);
  const code = stripComments(source);
  for (const match of code.matchAll(IMPORTED)) {
    const specifier = match[1] ?? match[2] ?? "";
    if (specifier.startsWith(".") || specifier.startsWith("node:")) continue;
    const name = specifier.startsWith("@")
      ? specifier.split("/").slice(0, 2).join("/")
      : (specifier.split("/")[0] ?? "");
    if (name.startsWith("@bulrush/")) {
      const target = name.slice("@bulrush/".length);
      if (target === owner) problems.push(`${file}: imports its own package by name`);
      else if (!((layers[target] ?? 99) < (layers[owner] ?? 0)))
        problems.push(`${file}: ${owner} may not import ${target}`);
      else if (!declared.has(name)) problems.push(`${file}: ${name} is not in the package's dependencies`);
    } else if (!(isTest && name === "fast-check") && !(file.includes("/bench/") && name === "mitata")) {
      const owners = libraries[name] ?? [];
      if (!owners.includes(owner))
        problems.push(`${file}: library ${name} belongs to ${owners.join(", ") || "nobody"}`);
    }
  }
  if (pure.includes(owner) && !isTest && file.includes("/src/"))
    for (const word of IMPURE)
      if (word.test(code)) problems.push(`${file}: ${owner} is pure, but this matches ${word.source}`);
}

for (const dir of packageDirs) {
  const owner = basename(dir);
  if (layers[owner] === undefined) problems.push(`${dir}: no layer in scripts/layers.json`);
  const manifest = JSON.parse(readFileSync(join(ROOT, dir, "package.json"), "utf8")) as Manifest;
  const declared = new Set(Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }));
  const wanted = [...declared]
    .filter((name) => name.startsWith("@bulrush/"))
    .map((name) => name.slice("@bulrush/".length));
  const tsconfig = JSON.parse(readFileSync(join(ROOT, dir, "tsconfig.json"), "utf8")) as {
    references?: readonly { path: string }[];
  };
  const referenced = (tsconfig.references ?? []).map((reference) => basename(resolve(ROOT, dir, reference.path)));
  if (wanted.toSorted(compareStrings).join() !== referenced.toSorted(compareStrings).join())
    problems.push(`${dir}/tsconfig.json: references [${referenced.join(", ")}] but depends on [${wanted.join(", ")}]`);
  for (const file of globSync(`${dir}/{src,bin,bench,build}/**/*.{ts,tsx}`, { cwd: ROOT }))
    checkFile(file, owner, declared);
}

const solution = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8")) as {
  references: readonly { path: string }[];
};
const built = solution.references
  .map((reference) => relative(ROOT, resolve(ROOT, reference.path)))
  .toSorted(compareStrings);
if (built.join() !== packageDirs.join())
  problems.push("tsconfig.json: its references are not all packages of the workspace");

for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`layers: ${packageDirs.length} packages, ${problems.length} problems\n`);
process.exit(problems.length > 0 ? 1 : 0);
