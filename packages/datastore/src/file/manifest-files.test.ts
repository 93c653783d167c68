import assert from "node:assert/strict";
import { test } from "node:test";
import type { FoundFile } from "../manifest/list-files.ts";
import { parseManifest } from "../manifest/parse.ts";
import { ManifestFiles } from "./manifest-files.ts";

function file(path: string, stamp: string, bytes = 10): FoundFile {
  return { path, absolute: `/${path}`, stamp, bytes };
}

function tier(name: string): string {
  return `apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: ${name}}\n`;
}

/** Files where a.yaml (stamp 1) defines the tier a. */
function known(): ManifestFiles {
  const files = new ManifestFiles({ settleMs: 20, removalMs: 100 });
  const { read } = files.update([file("a.yaml", "1")], 0);
  assert.equal(read.length, 1);
  files.setContents(file("a.yaml", "1"), parseManifest(tier("a"), "a.yaml"));
  return files;
}

function names(files: ManifestFiles): string[] {
  return files.contents().flatMap((resources) => resources.map(({ resource }) => resource.metadata.name));
}

test("ManifestFiles reads a changed file when it has lain still", () => {
  const files = known();
  assert.deepEqual(files.update([file("a.yaml", "2")], 1000), { read: [], againMs: 20 });
  assert.deepEqual(files.update([file("a.yaml", "3")], 1015), { read: [], againMs: 20 });
  assert.deepEqual(files.update([file("a.yaml", "3")], 1030), { read: [], againMs: 5 });
  assert.deepEqual(files.update([file("a.yaml", "3")], 1035), { read: [file("a.yaml", "3")], againMs: undefined });
});

test("ManifestFiles does not read an unchanged file again, nor one that went back", () => {
  const files = known();
  assert.deepEqual(files.update([file("a.yaml", "1")], 1000), { read: [], againMs: undefined });
  files.update([file("a.yaml", "2")], 1000);
  assert.deepEqual(files.update([file("a.yaml", "1")], 1010), { read: [], againMs: undefined });
});

test("ManifestFiles believes in an empty file only after the time of a removal", () => {
  const files = known();
  assert.deepEqual(files.update([file("a.yaml", "2", 0)], 1000), { read: [], againMs: 100 });
  assert.equal(files.update([file("a.yaml", "2", 0)], 1100).read.length, 1);
});

test("ManifestFiles forgets a file that has been away for a while", () => {
  const files = known();
  assert.deepEqual(files.update([], 1000), { read: [], againMs: 100 });
  assert.deepEqual(names(files), ["a"]);
  files.update([file("a.yaml", "1")], 1050);
  assert.deepEqual(files.update([], 1060), { read: [], againMs: 100 });
  assert.deepEqual(files.update([], 1160), { read: [], againMs: undefined });
  assert.deepEqual(names(files), []);
});

test("ManifestFiles keeps what lies under a path that could not be looked at", () => {
  for (const unreadable of ["a.yaml", "dir"]) {
    const files = new ManifestFiles({ settleMs: 20, removalMs: 100 });
    const path = unreadable === "dir" ? "dir/a.yaml" : "a.yaml";
    files.update([file(path, "1"), file("director.yaml", "1")], 0);
    files.setContents(file(path, "1"), parseManifest(tier("a"), path));
    files.setContents(file("director.yaml", "1"), parseManifest(tier("b"), "director.yaml"));
    files.update([], 1000, [unreadable]);
    assert.deepEqual(files.update([], 1100, [unreadable]), { read: [], againMs: undefined });
    assert.deepEqual(names(files), ["a"]);
    files.update([], 1200);
    files.update([], 1300);
    assert.deepEqual(names(files), []);
  }
});

test("ManifestFiles keeps the last good contents beside the error, until the file is good", () => {
  const files = known();
  files.setContents(file("a.yaml", "2"), parseManifest("kind: [", "a.yaml"));
  assert.deepEqual([names(files), files.problems().length], [["a"], 1]);
  assert.deepEqual(files.update([file("a.yaml", "2")], 1000).read, []);
  files.setContents(file("a.yaml", "3"), parseManifest(tier("b"), "a.yaml"));
  assert.deepEqual([names(files), files.problems()], [["b"], []]);
});

test("ManifestFiles takes a file with warnings only", () => {
  const files = known();
  const foreign = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n";
  files.setContents(file("a.yaml", "2"), parseManifest(tier("b") + foreign, "a.yaml"));
  assert.deepEqual([names(files), files.problems().length], [["b"], 1]);
});

test("ManifestFiles asks again for a file whose contents come later, and keeps the ones before", () => {
  const files = known();
  files.update([file("a.yaml", "2")], 1000);
  assert.equal(files.update([file("a.yaml", "2")], 1020).read.length, 1);
  files.postpone(file("a.yaml", "2"));
  assert.deepEqual(names(files), ["a"]);
  assert.deepEqual(files.update([file("a.yaml", "2")], 1021), { read: [file("a.yaml", "2")], againMs: undefined });
  files.setContents(file("a.yaml", "2"), parseManifest(tier("b"), "a.yaml"));
  assert.deepEqual(names(files), ["b"]);
  assert.deepEqual(files.update([file("a.yaml", "2")], 1022), { read: [], againMs: undefined });
});
