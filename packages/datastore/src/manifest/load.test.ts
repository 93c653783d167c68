import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { DatastoreError } from "../errors.ts";
import { formatProblem } from "../problem.ts";
import { type LoadedManifests, loadManifests, type LoadOptions } from "./load.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-load-"));
after(() => rmSync(root, { recursive: true }));
let count = 0;

function directory(files: Readonly<Record<string, string>>): string {
  const path = join(root, String(count++));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

function tier(name: string, order = 1): string {
  return `apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: ${name}}\nspec: {order: ${order}}\n`;
}

function namesOf({ resources }: LoadedManifests): string[] {
  return resources.map(({ resource, source }) => `${source.file} ${resource.metadata.name}`);
}

async function load(files: Readonly<Record<string, string>>, options?: LoadOptions): Promise<LoadedManifests> {
  return loadManifests(directory(files), options);
}

test("loadManifests() reads a directory and the ones below it, in byte order of path", async () => {
  const loaded = await load({
    "b.yaml": tier("b"),
    "B.yml": tier("upper"),
    "a/z.json": JSON.stringify({ apiVersion: "projectcalico.org/v3", kind: "Tier", metadata: { name: "z" } }),
    "a.yaml": tier("a"),
    "ä.yaml": tier("umlaut"),
    "notes.txt": "x: [",
    ".hidden.yaml": tier("hidden"),
    ".git/c.yaml": tier("c"),
    "b.yaml~": tier("backup"),
  });
  assert.deepEqual(namesOf(loaded), ["B.yml upper", "a.yaml a", "a/z.json z", "b.yaml b", "ä.yaml umlaut"]);
  assert.deepEqual(loaded.problems, []);
});

test("loadManifests() lets the first of two definitions count, and names both places", async () => {
  const loaded = await load({ "2.yaml": tier("t", 2), "1.yaml": `---\n${tier("t", 1)}---\n${tier("t", 3)}` });
  assert.deepEqual(
    loaded.resources.map(({ resource }) => resource.spec),
    [{ order: 1, defaultAction: "Deny" }],
  );
  assert.deepEqual(loaded.problems.map(formatProblem), [
    "1.yaml:7 (document 2): Tier t: Already defined in 1.yaml:2; ignored",
    "2.yaml:1: Tier t: Already defined in 1.yaml:2; ignored",
  ]);
});

test("loadManifests() takes kinds of one name in different groups apart, and both versions of Calico's together", async () => {
  const policy = (apiVersion: string): string =>
    `apiVersion: ${apiVersion}\nkind: NetworkPolicy\nmetadata: {name: p}\n---\n`;
  const { resources, problems } = await load({
    "a.yaml": policy("networking.k8s.io/v1") + policy("projectcalico.org/v3") + policy("crd.projectcalico.org/v1"),
  });
  assert.deepEqual([resources.length, problems.length], [2, 1]);
});

test("loadManifests() names unreadable files and reads the rest", async () => {
  const path = directory({ "a.yaml": tier("a"), "b.yaml": "", "c.yaml": "x".repeat(200), "d.yaml": tier("d") });
  writeFileSync(join(path, "b.yaml"), Buffer.from([0x61, 0xff]));
  const loaded = await loadManifests(path, { maxFileBytes: 150 });
  assert.deepEqual(namesOf(loaded), ["a.yaml a", "d.yaml d"]);
  assert.deepEqual(loaded.problems.map(formatProblem), [
    "b.yaml: Not UTF-8 text",
    "c.yaml: The file has 200 bytes, more than 150",
  ]);
});

test("loadManifests() takes no more files than its bound", async () => {
  const loaded = await load({ "a.yaml": tier("a"), "b.yaml": tier("b"), "c.yaml": tier("c") }, { maxFiles: 2 });
  assert.deepEqual(namesOf(loaded), ["a.yaml a", "b.yaml b"]);
  assert.deepEqual(loaded.problems.map(formatProblem), ["c.yaml: More than 2 files; ignored"]);
});

test("loadManifests() follows links, but not in circles", async () => {
  const path = directory({ "..data/a.yaml": tier("a") });
  symlinkSync("..data/a.yaml", join(path, "a.yaml"));
  symlinkSync(".", join(path, "loop"));
  symlinkSync("nowhere", join(path, "dangling.yaml"));
  const loaded = await loadManifests(path);
  assert.deepEqual([namesOf(loaded), loaded.problems], [["a.yaml a"], []]);
});

test("loadManifests() reads one file", async () => {
  const path = join(directory({ "any.txt": tier("a") }), "any.txt");
  assert.deepEqual(namesOf(await loadManifests(path)), ["any.txt a"]);
});

test("loadManifests() reads a stream for -, up to the bound", async () => {
  const stream = async function* (): AsyncIterable<Uint8Array> {
    await Promise.resolve();
    yield Buffer.from(tier("a").slice(0, 30));
    yield Buffer.from(tier("a").slice(30));
  };
  assert.deepEqual(namesOf(await loadManifests("-", { stdin: stream() })), ["- a"]);
  const bounded = await loadManifests("-", { stdin: stream(), maxFileBytes: 40 });
  assert.deepEqual(bounded.problems.map(formatProblem), ["-: More than 40 bytes"]);
});

test("loadManifests() throws where there is nothing", async () => {
  await assert.rejects(loadManifests(join(root, "nothing")), (error: unknown) => {
    assert.ok(error instanceof DatastoreError);
    return error.code === "DATASTORE_NOT_FOUND" && error.message.includes("nothing");
  });
});
