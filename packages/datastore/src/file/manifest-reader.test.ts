import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock, systemClock } from "@bulrush/base";
import type { FoundFile } from "../manifest/list-files.ts";
import type { ParsedManifest } from "../manifest/parse.ts";
import { ManifestReader, type ManifestReaderOptions } from "./manifest-reader.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-reader-"));
after(() => rmSync(root, { recursive: true, force: true }));

const TIER = "apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: t}\n";
const LARGE = `${TIER}# ${"x".repeat(2000)}\n`;

function file(name: string, text: string, stamp = "1"): FoundFile {
  const absolute = join(root, name);
  writeFileSync(absolute, text);
  return { path: name, absolute, stamp, bytes: text.length };
}

function names(parsed: ParsedManifest | undefined): string[] | undefined {
  return parsed?.resources.map(({ resource }) => resource.metadata.name);
}

interface Made {
  readonly reader: ManifestReader;
  /** Resolves at the next `onReady`. */
  readonly ready: () => Promise<void>;
}

function make(options: Partial<ManifestReaderOptions> = {}): Made {
  let wake = (): void => undefined;
  const reader = new ManifestReader({
    clock: systemClock({ keepAlive: true }),
    maxFileBytes: 10_000,
    inlineBytes: 1000,
    onReady: () => wake(),
    ...options,
  });
  return { reader, ready: () => new Promise((resolve) => (wake = resolve)) };
}

test("ManifestReader reads a small file at once and refuses one over the bound", async () => {
  const { reader } = make();
  assert.deepEqual(names(await reader.read(file("a.yaml", TIER), false)), ["t"]);
  const refused = await reader.read(file("b.yaml", "x".repeat(10_001)), false);
  assert.equal(refused?.problems[0]?.message, "The file has 10001 bytes, more than 10000");
});

test("ManifestReader reads a large file in a thread, and says when it is ready", async () => {
  const { reader, ready } = make();
  const large = file("c.yaml", LARGE);
  const isReady = ready();
  assert.equal(await reader.read(large, false), undefined);
  assert.equal(await reader.read(large, false), undefined);
  await isReady;
  assert.deepEqual(names(await reader.read(large, false)), ["t"]);
});

test("ManifestReader waits for a large file where the caller does", async () => {
  const { reader } = make();
  const [one, two] = [file("d.yaml", LARGE), file("e.yaml", `${LARGE}---\n]\n`)];
  assert.deepEqual(names(await reader.read(one, true)), ["t"]);
  const parsed = await reader.read(two, true);
  assert.match(parsed?.problems[0]?.message ?? "", /^Cannot read this document/);
  assert.equal(parsed?.problems[0]?.source?.line, 6);
});

test("ManifestReader begins anew with a file that changed meanwhile, and forgets one that is gone", async () => {
  const { reader } = make();
  assert.equal(await reader.read(file("f.yaml", LARGE, "1"), false), undefined);
  const changed = file("f.yaml", LARGE.replace("name: t", "name: u"), "2");
  assert.deepEqual(names(await reader.read(changed, true)), ["u"]);
  assert.equal(await reader.read(changed, false), undefined);
  reader.retain(new Set());
  assert.equal(await reader.read(changed, false), undefined);
  reader.close();
});

test("ManifestReader gives up a file that takes too long or too much memory, and reads the next one", async () => {
  const clock = new ManualClock();
  const slow = make({ clock, timeoutMs: 500 });
  const reading = slow.reader.read(file("g.yaml", LARGE), true);
  while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(500);
  assert.equal((await reading)?.problems[0]?.message, "Cannot be read within 500 ms");
  assert.deepEqual(names(await slow.reader.read(file("h.yaml", LARGE), true)), ["t"]);

  const small = make({ maxFileBytes: 10_000_000, maxHeapMiB: 16 });
  const heavy = file("i.yaml", `a: [${"{x: 1},".repeat(200_000)}]\n`);
  const [problem] = (await small.reader.read(heavy, true))?.problems ?? [];
  assert.match(problem?.message ?? "", /^Cannot read the file: .*memory/);
  assert.deepEqual(problem?.source, { file: "i.yaml", document: 0, line: 0 });
});
