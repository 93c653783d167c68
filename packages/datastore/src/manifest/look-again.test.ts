import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type FoundFiles, listManifestFiles } from "./list-files.ts";
import { lookAgain } from "./look-again.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-look-"));
after(() => rmSync(root, { recursive: true }));
let count = 0;

const MAX_FILES = 100;

interface Change {
  readonly title: string;
  /** What happens, in a directory with `a.yaml`, `b.yaml` and `sub/c.yaml`. Names that something is said to have happened to. */
  readonly make: (at: (name: string) => string) => readonly string[];
  /** Names that are looked at without anything having been said. */
  readonly others?: readonly string[];
  /** A whole listing is needed. */
  readonly isBlind?: boolean;
}

const write = (at: (name: string) => string, ...names: readonly string[]): readonly string[] => {
  for (const name of names) writeFileSync(at(name), `# ${name} is another one\n`);
  return names;
};

const CHANGES: readonly Change[] = [
  { title: "nothing", make: () => [] },
  { title: "a file that changed", make: (at) => write(at, "b.yaml") },
  { title: "a file of a directory below", make: (at) => write(at, "sub/c.yaml") },
  { title: "new files, in their place", make: (at) => write(at, "aa.json", "sub/b.yml", "sub.yaml") },
  { title: "files that are no manifests", make: (at) => write(at, "x.txt", "sub/README") },
  { title: "a file that went", make: (at) => (unlinkSync(at("a.yaml")), ["a.yaml"]) },
  {
    title: "a file that went under another name",
    make: (at) => (renameSync(at("a.yaml"), at("z.yaml")), ["a.yaml", "z.yaml"]),
  },
  { title: "a file that had gone before", make: () => [], others: ["gone.yaml", "a.yaml"] },
  { title: "something nobody knew that went", make: () => ["x"], isBlind: true },
  {
    title: "a new directory",
    make: (at) => (mkdirSync(at("more")), ["more", ...write(at, "more/d.yaml")]),
    isBlind: true,
  },
  { title: "a directory that went", make: (at) => (rmSync(at("sub"), { recursive: true }), ["sub"]), isBlind: true },
  {
    title: "a file that became a directory",
    make: (at) => (unlinkSync(at("a.yaml")), mkdirSync(at("a.yaml")), ["a.yaml"]),
    isBlind: true,
  },
  { title: "a link in a circle", make: (at) => (symlinkSync(at("l.yaml"), at("l.yaml")), ["l.yaml"]), isBlind: true },
];

function sorted({ files, directories }: FoundFiles): unknown {
  return { files, directories: [...directories] };
}

for (const { title, make, others = [], isBlind = false } of CHANGES) {
  test(`lookAgain() ${isBlind ? "leaves to a whole listing" : "finds what a whole listing finds"}: ${title}`, async () => {
    const directory = join(root, String(count++));
    const at = (name: string): string => join(directory, name);
    mkdirSync(join(directory, "sub"), { recursive: true });
    for (const name of ["a.yaml", "b.yaml", "sub/c.yaml"]) writeFileSync(at(name), "");
    const before = await listManifestFiles(directory, MAX_FILES);
    const hinted = new Set(make(at).map(at));
    const found = await lookAgain(directory, before, hinted, others.map(at));
    if (isBlind) assert.equal(found, undefined);
    else assert.deepEqual(found && sorted(found), sorted(await listManifestFiles(directory, MAX_FILES)));
  });
}

test("lookAgain() leaves to a whole listing what it could not read", async () => {
  const directory = join(root, String(count++));
  mkdirSync(directory);
  for (const name of ["a.yaml", "b.yaml"]) writeFileSync(join(directory, name), "");
  const found = await listManifestFiles(directory, 1);
  assert.equal(found.problems.length, 1);
  assert.equal(await lookAgain(directory, found, new Set(), []), undefined);
});
