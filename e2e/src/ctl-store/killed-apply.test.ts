/** `bulrushctl apply` on a directory, killed while it writes: what is there is whole, and the next writer goes on. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { loadManifests } from "@bulrush/datastore";
import { CALICO_V3 } from "@bulrush/model";
import { runCtl } from "./run-ctl.ts";

const PROGRAM = join(import.meta.dirname, "..", "..", "..", "packages", "ctl", "bin", "bulrushctl.ts");
/** More than are written in one go. */
const NEW_SETS = 700;
const root = mkdtempSync(join(tmpdir(), "bulrush-killed-"));
after(() => rmSync(root, { recursive: true }));

function set(name: string, nets: readonly string[]): object {
  return { apiVersion: CALICO_V3, kind: "GlobalNetworkSet", metadata: { name }, spec: { nets } };
}

/** Stops it in its tracks: nothing moves between a look at what it did and its end. */
async function freeze({ pid = 0 }: ChildProcess): Promise<void> {
  process.kill(pid, "SIGSTOP");
  // proc_pid_stat(5): the state stands behind the name.
  while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await nextTurn();
}

/** Kills it as soon as it holds the lock and so many files of new sets are there. */
async function killWhileItWrites(child: ChildProcess, directory: string, files: number): Promise<void> {
  const sets = join(directory, "globalnetworksets");
  const lock = join(directory, ".bulrush.lock");
  const exited = once(child, "exit");
  let changed = Promise.withResolvers<void>();
  const watchers = [directory, sets].map((path) => watch(path, () => changed.resolve()));
  for (;;) {
    changed = Promise.withResolvers();
    const count = readdirSync(sets).filter((name) => name.endsWith(".yaml")).length;
    if (count >= files && existsSync(lock)) {
      await freeze(child);
      if (existsSync(lock)) break;
      child.kill("SIGCONT");
    }
    await Promise.race([exited, changed.promise]);
    assert.equal(child.exitCode, null, "It was over before it could be killed");
  }
  for (const watcher of watchers) watcher.close();
  child.kill("SIGKILL");
  await exited;
}

const OLD = `# Kept by hand.
apiVersion: ${CALICO_V3}
kind: GlobalNetworkSet
metadata: { name: old }
spec: { nets: [10.0.0.0/8] }
---
apiVersion: ${CALICO_V3}
kind: GlobalNetworkSet
metadata: { name: other } # beside it
spec: { nets: [10.0.0.0/8] }
`;

for (const files of [0, 1, 300]) {
  test(`apply is killed when ${files} new files are there`, async () => {
    const directory = join(root, `after-${files}`);
    const input = join(root, `input-${files}.json`);
    const wanted = new Map<string, unknown>([
      ["old", ["10.9.0.0/16"]],
      ...Array.from({ length: NEW_SETS }, (_, i) => [`set-${i}`, [`10.${i % 256}.0.0/16`]] as const),
    ]);
    const items = [...wanted].map(([name, nets]) => set(name, nets as string[]));
    writeFileSync(input, JSON.stringify({ apiVersion: "v1", kind: "List", items }));
    const env = { BULRUSH_DATASTORE_DIR: directory };
    mkdirSync(join(directory, "globalnetworksets"), { recursive: true });
    writeFileSync(join(directory, "by-hand.yaml"), OLD);

    const child = spawn(process.execPath, ["--conditions=bulrush-source", PROGRAM, "apply", "-f", input], {
      stdio: "ignore",
      env: { PATH: process.env["PATH"] ?? "", ...env },
    });
    await killWhileItWrites(child, directory, files);

    // Each file is as it was or as it was to become, and nothing else is read.
    const { resources, problems } = await loadManifests(directory);
    assert.deepEqual(problems, []);
    for (const { resource, source } of resources) {
      const { name } = resource.metadata;
      const { nets } = resource.spec as { nets: unknown };
      const before = source.file.endsWith("by-hand.yaml") ? ["10.0.0.0/8"] : undefined;
      const isWhole = [before, wanted.get(name)].some((want) => JSON.stringify(want) === JSON.stringify(nets));
      assert.ok(isWhole, `${name} has ${JSON.stringify(nets)}`);
    }
    assert.ok(resources.length >= files + 2, `${resources.length} resources`);

    const again = await runCtl(["apply", "-f", input], env);
    assert.deepEqual([again.code, again.err], [0, ""]);
    const after = await loadManifests(directory);
    const names = after.resources.map(({ resource }) => resource.metadata.name).sort();
    assert.deepEqual([names, after.problems], [[...wanted.keys(), "other"].sort(), []]);
    assert.match(
      readFileSync(join(directory, "by-hand.yaml"), "utf8"),
      /^# Kept by hand\.[^]*name: other } # beside it/,
    );
    const left = readdirSync(directory, { recursive: true }).filter((name) => /(?:^|\/)\./.test(String(name)));
    assert.deepEqual(left, [], "What it left half done is cleared away");
  });
}
