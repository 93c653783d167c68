import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { writeManifest } from "../lab/write-manifest.ts";
import { BAD_MANIFESTS, USUAL } from "./bad-manifests.ts";
import { eventually, GATE_POLICY, type World } from "./world.ts";

const FLOWS = ["alice 8080", "alice 8081", "bob 8080", "bob 8081"] as const;

/** Who really reaches the gate. */
async function reachOf(world: World): Promise<string[]> {
  const answers = await Promise.all(
    FLOWS.map((flow) => {
      const [client = "", port] = flow.split(" ");
      return world.connects(`edge/${client}`, "edge/gate", Number(port));
    }),
  );
  return FLOWS.filter((_, i) => answers[i]);
}

async function problemsAre(world: World, what: string, named: readonly RegExp[]): Promise<void> {
  let problems: readonly string[] = [];
  await eventually(
    `${what}: named in /api/v1/status: ${named.join(" ")}`,
    async () => {
      ({ problems } = await world.status());
      return named.length === 0
        ? problems.length === 0
        : named.every((pattern) => problems.some((line) => pattern.test(line)));
    },
    45_000,
    () => problems.join("\n"),
  );
}

function logged(world: World): readonly string[] {
  return world.log("typha").flatMap(({ problem }) => (typeof problem === "string" ? [problem] : []));
}

/** Bad manifests, one after the other, while everything else goes on. `world` is called when the tests run. */
export function manifestTests(world: () => World): void {
  for (const { name, files, named, reach = USUAL } of BAD_MANIFESTS) {
    void test(`bad manifest: ${name}`, async () => {
      const w = world();
      const before = new Map(
        Object.keys(files).map((file) => [file, file === "gate.yaml" ? readFileSync(w.file(file)) : undefined]),
      );
      try {
        for (const [file, content] of Object.entries(files)) writeFileSync(w.file(file), content);
        await w.goodEdit(name);
        await problemsAre(w, name, named);
        // Whoever has the problem in its report may still have the line in a buffer.
        for (const pattern of named)
          await eventually(`${name}: logged: ${pattern}`, () => logged(w).some((line) => pattern.test(line)));
        assert.equal((await w.status()).ready, true);
        await eventually(
          `${name}: only [${reach.join(", ")}] reach the gate`,
          async () => (await reachOf(w)).join() === reach.join(),
        );
        w.checkTraffic(name);
      } finally {
        for (const [file, content] of before)
          if (content === undefined) rmSync(w.file(file));
          else writeManifest(w.file(file), content.toString());
      }
      await problemsAre(w, `${name}, mended`, []);
      await eventually(`${name}, mended`, async () => (await reachOf(w)).join() === USUAL.join());
      w.checkTraffic(`${name}, mended`);
    });
  }

  void test("a file that is written anew, replaced, or away for a moment changes nothing", async () => {
    const w = world();
    const before = w.generations();
    const ways: readonly (() => void)[] = [
      () => {
        rmSync(w.file("gate.yaml"));
        writeFileSync(w.file("gate.yaml"), GATE_POLICY);
      },
      () => writeManifest(w.file("gate.yaml"), GATE_POLICY),
      () => {
        writeFileSync(w.file("gate.yaml"), "");
        writeFileSync(w.file("gate.yaml"), GATE_POLICY);
      },
      () => renameSync(w.file("gate.yaml"), w.file("gate2.yaml")),
      () => renameSync(w.file("gate2.yaml"), w.file("gate.yaml")),
    ];
    for (const way of ways) {
      way();
      // A warning that the directory was read after it.
      writeFileSync(w.file("seen.yaml"), "apiVersion: x/v1\nkind: Seen\n");
      await problemsAre(w, "the directory was read", [/^seen\.yaml/]);
      rmSync(w.file("seen.yaml"));
      await problemsAre(w, "the directory was read", []);
    }
    assert.equal(w.generations(), before);
    assert.deepEqual(await reachOf(w), USUAL);
    w.checkTraffic("a file that comes and goes");
  });
}

/** What `work` does to the directory as a whole: the policies in it stay in force, and good edits do too. */
export function directoryTests(world: () => World): void {
  void test("a directory that is replaced, or cannot be looked at", async () => {
    const w = world();
    const policy = (allow: string): string => GATE_POLICY.replace("name: gate,", "name: more,").replace("alice", allow);
    writeManifest(w.file("more/policy.yaml"), policy("nobody"));
    writeManifest(
      w.file("more/deny.yaml"),
      policy("x")
        .replace("more,", "deny,")
        .replace(/spec:[^]*/, DENY_8080),
    );
    await eventually("the directory is read", async () => (await reachOf(w)).length === 0);

    // A directory of the same name in its place, with a file that cannot be read: the others count.
    mkdirSync(w.file("other"));
    writeFileSync(w.file("other/deny.yaml"), "kind: [");
    writeFileSync(w.file("other/policy.yaml"), policy("nobody"));
    renameSync(w.file("more"), w.file("../gone"));
    renameSync(w.file("other"), w.file("more"));
    await w.goodEdit("a directory in a directory's place");
    await problemsAre(w, "a file in the new directory", [/^more\/deny\.yaml:1: .*last good contents of the file stay/]);
    assert.deepEqual(await reachOf(w), []);

    // Links that lead to themselves: neither the file nor the directory can be looked at.
    rmSync(w.file("more/deny.yaml"));
    symlinkSync("deny.yaml", w.file("more/deny.yaml"));
    await w.goodEdit("a link to itself in a file's place");
    await problemsAre(w, "a link in a file's place", [/^more\/deny\.yaml: Cannot (read|look)/]);
    assert.deepEqual(await reachOf(w), []);
    rmSync(w.file("more"), { recursive: true });
    symlinkSync("more", w.file("more"));
    await w.goodEdit("a link to itself in a directory's place");
    await problemsAre(w, "a link in a directory's place", [/^more: Cannot (read|look)/]);
    assert.deepEqual(await reachOf(w), []);
    w.checkTraffic("directories that cannot be looked at");

    rmSync(w.file("more"));
    await problemsAre(w, "the directory is gone", []);
    await eventually("what was in it is gone", async () => (await reachOf(w)).join() === USUAL.join());
  });

  void test("the whole directory away: nothing changes until it is back", async () => {
    const w = world();
    const before = w.generations();
    renameSync(w.manifestDir, `${w.manifestDir}.away`);
    await problemsAre(w, "the directory is away", [/manifests: .*Nothing at.*the last good contents stay in force/]);
    assert.deepEqual(await reachOf(w), USUAL);
    cpSync(`${w.manifestDir}.away`, w.manifestDir, { recursive: true });
    await problemsAre(w, "another directory with the same files", []);
    assert.equal(w.generations(), before);
    await w.goodEdit("another directory with the same files");
    w.checkTraffic("the whole directory away");
  });

  void test("a large file that takes long to read holds up nobody", async () => {
    const w = world();
    writeFileSync(w.file("large.yaml"), "- {a: [b, {c: d}]}\n--- ]\n".repeat(200_000));
    const startMs = performance.now();
    for (let i = 0; i < 4; i++) await w.goodEdit("while a large file is read");
    // The thread is still at it: the edits did not wait for it.
    assert.deepEqual((await w.status()).problems, [], `after ${performance.now() - startMs} ms`);
    assert.match((await w.status()).health, /felix-cache.*in sync/);
    rmSync(w.file("large.yaml"));
    await w.goodEdit("after a large file");
    w.checkTraffic("a large file");
  });

  void test("after all of it: the same agents on the same connections, and Typha ready", async () => {
    const w = world();
    const ids = (await w.clients()).map(({ connectionId }) => connectionId.replace(/^.*-/, ""));
    assert.deepEqual(ids, ["1", "2", "3"]);
    for (const host of ["host-a", "host-b"] as const) {
      assert.ok(w.session.cluster.agent(host).isRunning);
      const lines = w.log(`agent-${host}`).filter(({ level }) => level === "error" || level === "fatal");
      assert.deepEqual(lines, []);
    }
    const { ready, problems } = await w.status();
    assert.deepEqual([ready, problems], [true, []]);
  });
}

const DENY_8080 = `spec:
  order: 1
  selector: name == 'gate'
  types: [Ingress]
  ingress: [{action: Deny}]
`;
