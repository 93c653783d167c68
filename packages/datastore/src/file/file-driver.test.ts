import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test, type TestContext } from "node:test";
import { systemClock } from "@bulrush/base";
import type { DatastoreDriver, Item, WatchEvent, WatchStream } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import { openDatastore } from "../open.ts";
import { formatProblem, type Problem } from "../problem.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-file-"));
after(() => rmSync(root, { recursive: true, force: true }));
const clock = systemClock({ keepAlive: true });
let count = 0;

function tier(name: string, order = 1): string {
  return `apiVersion: projectcalico.org/v3\nkind: Tier\nmetadata: {name: ${name}}\nspec: {order: ${order}}\n---\n`;
}

interface Opened {
  readonly path: string;
  readonly driver: DatastoreDriver;
  readonly write: (name: string, text: string) => void;
  readonly items: (kind?: DatastoreKind) => Promise<Item[]>;
  /** Tiers that are not built in, `name order`. */
  readonly tiers: () => Promise<string[]>;
  /** A watch on tiers from now on, each event as `type name`. */
  readonly watch: () => Promise<() => Promise<string>>;
  /** Resolves when the list of problems has changed, with its lines. */
  readonly problems: () => Promise<string[]>;
}

const BUILT_IN = new Set(["default", "kube-admin", "kube-baseline"]);

async function open(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  rescanIntervalMs = 60_000,
): Promise<Opened> {
  const path = join(root, String(count++));
  mkdirSync(path);
  const write = (name: string, text: string): void => writeFileSync(join(path, name), text);
  for (const [name, text] of Object.entries(files)) write(name, text);
  let changed: ((problems: readonly Problem[]) => void) | undefined;
  let unseen: readonly Problem[] | undefined;
  const driver = await openDatastore(
    { type: "file", directory: path, debounceMs: 5, rescanIntervalMs },
    {
      clock,
      onProblems: (problems) => {
        if (changed === undefined) unseen = problems;
        else changed(problems);
        changed = undefined;
      },
    },
  );
  t.after(() => driver.close());
  const items = async (kind: DatastoreKind = "Tier"): Promise<Item[]> => {
    const out: Item[] = [];
    for await (const page of driver.list({ kind, revision: "0", signal: t.signal })) out.push(...page.items);
    return out;
  };
  return {
    path,
    driver,
    write,
    items,
    tiers: async () =>
      (await items())
        .filter(({ name }) => !BUILT_IN.has(name))
        .map(({ name, value }) => `${name} ${(value?.spec as { order: number } | undefined)?.order}`),
    watch: async () => {
      const stream = await driver.watch({ kind: "Tier", revision: await revisionOf(driver, t), signal: t.signal });
      return eventReader(stream);
    },
    problems: async () => {
      const found =
        unseen ??
        (await new Promise<readonly Problem[]>((resolve) => {
          changed = resolve;
        }));
      unseen = undefined;
      return found.map(formatProblem);
    },
  };
}

async function revisionOf(driver: DatastoreDriver, t: TestContext): Promise<string> {
  let revision = "";
  for await (const page of driver.list({ kind: "Tier", revision: "0", signal: t.signal })) revision = page.revision;
  return revision;
}

function eventReader(stream: WatchStream): () => Promise<string> {
  const queue: WatchEvent[] = [];
  return async () => {
    while (queue.length === 0) queue.push(...((await stream.next()) ?? []));
    const event = queue.shift();
    assert.ok(event !== undefined && "item" in event && event.item !== undefined);
    return `${event.type} ${event.item.name}`;
  };
}

test("FileDriver lists what is in the directory, and what every datastore has", async (t) => {
  const { tiers, items } = await open(t, { "a.yaml": tier("a", 5) });
  assert.deepEqual(await tiers(), ["a 5"]);
  assert.deepEqual((await items()).map(({ name }) => name).sort(), ["a", ...BUILT_IN].sort());
  assert.deepEqual(
    (await items("Profile")).map(({ name }) => name),
    ["projectcalico-default-allow"],
  );
  assert.equal((await items("ClusterInformation")).length, 1);
});

test("FileDriver makes Calico's kinds of Kubernetes'", async (t) => {
  const { items } = await open(t, {
    "a.json": JSON.stringify({
      apiVersion: "v1",
      kind: "List",
      items: [
        { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "sa", namespace: "shop" } },
        { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } },
        { apiVersion: "v1", kind: "Node", metadata: { name: "n" } },
        { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "shop" }, spec: { nodeName: "n" } },
        { apiVersion: "v1", kind: "Pod", metadata: { name: "host" }, spec: { nodeName: "n", hostNetwork: true } },
        { apiVersion: "v1", kind: "Service", metadata: { name: "s" } },
        { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "np", namespace: "shop" } },
      ],
    }),
  });
  const names = async (kind: DatastoreKind): Promise<string[]> => (await items(kind)).map(({ name }) => name);
  assert.deepEqual(await names("Profile"), ["ksa.shop.sa", "kns.shop", "projectcalico-default-allow", "kns.default"]);
  assert.deepEqual(await names("WorkloadEndpoint"), ["n-k8s-p-eth0"]);
  assert.deepEqual(await names("Node"), ["n"]);
  assert.deepEqual(await names("KubernetesNetworkPolicy"), ["np"]);
  assert.deepEqual(await names("KubernetesService"), ["s"]);
});

test("FileDriver tells a new, a changed and a removed file", async (t) => {
  const { write, watch, path } = await open(t, { "a.yaml": tier("a") });
  const next = await watch();
  write("b.yaml", tier("b"));
  assert.equal(await next(), "added b");
  write("b.yaml", tier("b", 7));
  assert.equal(await next(), "modified b");
  rmSync(join(path, "b.yaml"));
  assert.equal(await next(), "deleted b");
});

test("FileDriver keeps the revision of what did not change", async (t) => {
  const { write, watch, items } = await open(t, { "a.yaml": tier("a") + tier("b") });
  const before = new Map((await items()).map(({ name, revision }) => [name, revision]));
  const next = await watch();
  write("a.yaml", `# moved\n${tier("b", 2)}${tier("a")}`);
  assert.equal(await next(), "modified b");
  const after = new Map((await items()).map(({ name, revision }) => [name, revision]));
  assert.equal(after.get("a"), before.get("a"));
  assert.ok(Number(after.get("b")) > Number(before.get("b")));
});

test("FileDriver takes an atomic rename for a change, not for a removal", async (t) => {
  const { write, watch, path } = await open(t, { "a.yaml": tier("a") });
  const next = await watch();
  write(".a.yaml.swp", tier("a", 2));
  renameSync(join(path, ".a.yaml.swp"), join(path, "a.yaml"));
  assert.equal(await next(), "modified a");
  // As an editor with backups does it: the old file goes away first.
  renameSync(join(path, "a.yaml"), join(path, "a.yaml~"));
  write("a.yaml", tier("a", 3));
  assert.equal(await next(), "modified a");
});

test("FileDriver keeps the last good contents of a file with an error, and says so", async (t) => {
  const { write, tiers, problems } = await open(t, { "a.yaml": tier("a") + tier("b") });
  write("a.yaml", `${tier("a", 9)}kind: [\n`);
  const [line = "", ...others] = await problems();
  assert.deepEqual(others, []);
  assert.match(
    line,
    /^a\.yaml:\d+ \(document 2\): Cannot read this document: .*; the last good contents of the file stay/,
  );
  assert.deepEqual(await tiers(), ["a 1", "b 1"]);
  write("a.yaml", tier("a", 9));
  assert.deepEqual(await problems(), []);
  assert.deepEqual(await tiers(), ["a 9"]);
});

test("FileDriver takes what it can of a file that was never good", async (t) => {
  const { tiers, problems } = await open(t, { "a.yaml": `${tier("a")}kind: [\n` });
  assert.equal((await problems()).length, 1);
  assert.deepEqual(await tiers(), ["a 1"]);
});

test("FileDriver reports duplicates; the first path counts, and the next one takes over", async (t) => {
  const { watch, tiers, path, problems } = await open(t, { "b.yaml": tier("t", 2), "a.yaml": tier("t", 1) });
  assert.deepEqual(await problems(), ["b.yaml:1: Tier t: Already defined in a.yaml:1; ignored"]);
  assert.deepEqual(await tiers(), ["t 1"]);
  const next = await watch();
  rmSync(join(path, "a.yaml"));
  assert.equal(await next(), "modified t");
  assert.deepEqual(await tiers(), ["t 2"]);
});

test("FileDriver reports pods whose namespace nobody defines", async (t) => {
  const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\n";
  const { problems } = await open(t, { "a.yaml": pod });
  assert.match((await problems())[0] ?? "", /^a\.yaml:1: Pod shop\/p: metadata\.namespace: No Namespace "shop"/);
});

test("FileDriver keeps everything when the directory goes away, and goes on with its successor", async (t) => {
  const { path, tiers, problems, watch, driver } = await open(t, { "a.yaml": tier("a") }, 50);
  const next = await watch();
  renameSync(path, `${path}.old`);
  assert.match((await problems())[0] ?? "", /Nothing at .*; the last good contents stay in force$/);
  await assert.rejects(driver.probe("Tier", t.signal), /Nothing at/);
  assert.deepEqual(await tiers(), ["a 1"]);
  mkdirSync(path);
  writeFileSync(join(path, "a.yaml"), tier("a"));
  writeFileSync(join(path, "b.yaml"), tier("b"));
  assert.equal(await next(), "added b");
  await driver.probe("Tier", t.signal);
  // Hints come from the new directory now.
  writeFileSync(join(path, "c.yaml"), tier("c"));
  assert.equal(await next(), "added c");
});

test("FileDriver says that a directory that never was there is missing, and finds it later", async (t) => {
  const path = join(root, "later");
  const driver = await openDatastore({ type: "file", directory: path, debounceMs: 5, rescanIntervalMs: 20 }, { clock });
  t.after(() => driver.close());
  const list = async (): Promise<void> => {
    for await (const page of driver.list({ kind: "Tier", revision: "0", signal: t.signal })) assert.ok(page);
  };
  await assert.rejects(list(), /Nothing at/);
  const stream = await driver.watch({ kind: "Tier", revision: "1", signal: t.signal });
  mkdirSync(path);
  await stream.next();
  await list();
});

test("FileDriver sees the swap of a mounted ConfigMap", async (t) => {
  const { path, write, watch } = await open(t, {});
  mkdirSync(join(path, "..1"));
  mkdirSync(join(path, "..2"));
  write("..1/a.yaml", tier("a", 1));
  write("..2/a.yaml", tier("a", 2));
  const next = await watch();
  symlinkSync("..1", join(path, "..data"));
  symlinkSync("..data/a.yaml", join(path, "a.yaml"));
  assert.equal(await next(), "added a");
  symlinkSync("..2", join(path, "..tmp"));
  renameSync(join(path, "..tmp"), join(path, "..data"));
  assert.equal(await next(), "modified a");
});

test("FileDriver ends its watches at the signal and at close", async (t) => {
  const { driver } = await open(t, {});
  const controller = new AbortController();
  const request = { kind: "Tier", revision: "100", signal: controller.signal } as const;
  const first = await driver.watch(request);
  const waiting = first.next();
  controller.abort();
  assert.equal(await waiting, undefined);
  const second = await driver.watch({ ...request, signal: t.signal });
  const other = second.next();
  second.close();
  assert.equal(await other, undefined);
});

test("FileDriver keeps what it knows of a directory that it cannot look at any more", async (t) => {
  const { path, write, tiers, watch, problems } = await open(t, { "d.yaml": tier("d") });
  const next = await watch();
  mkdirSync(join(path, "sub"));
  write("sub/b.yaml", tier("b"));
  assert.equal(await next(), "added b");
  // A link to itself is neither a file nor nothing.
  renameSync(join(path, "sub"), join(path, ".old"));
  symlinkSync("sub", join(path, "sub"));
  rmSync(join(path, "d.yaml"));
  assert.match((await problems())[0] ?? "", /^sub: Cannot read it: ELOOP/);
  assert.equal(await next(), "deleted d");
  assert.deepEqual(await tiers(), ["b 1"]);
});

test("FileDriver reports directories that are too deep", async (t) => {
  const deep = Array.from({ length: 16 }, (_, i) => String(i)).join("/");
  const { path, problems } = await open(t, {});
  mkdirSync(join(path, deep), { recursive: true });
  assert.match((await problems())[0] ?? "", /\/15: More than 16 directories deep; ignored$/);
});

test("a large file holds up neither the small ones nor the timers, and comes when it is read", async (t) => {
  const { write, watch, tiers } = await open(t, { "a.yaml": tier("a") });
  const next = await watch();
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  t.after(() => clearInterval(timer));
  write("large.yaml", `${tier("large")}# ${"x".repeat(100)}\n${"{a: [b, c]}\n---\n".repeat(20_000)}`);
  write("small.yaml", tier("small"));
  assert.equal(await next(), "added small");
  const before = ticks;
  assert.equal(await next(), "added large");
  assert.ok(ticks - before > 10, `the timer ran ${ticks - before} times`);
  assert.deepEqual((await tiers()).sort(), ["a 1", "large 1", "small 1"]);
});

test("a first scan waits for the large files", async (t) => {
  const { tiers } = await open(t, { "large.yaml": `${tier("large")}# ${"x".repeat(100_000)}\n` });
  assert.deepEqual(await tiers(), ["large 1"]);
});

test("files that are all wrong make a list of problems that ends", async (t) => {
  const wrong = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`${i}.yaml`, "--- ]\n".repeat(60)]));
  const { driver } = await open(t, wrong);
  const problems = driver.problems?.() ?? [];
  assert.equal(problems.length, 1000);
  assert.match(problems.at(-1)?.message ?? "", /^1001 more problems$/);
});
