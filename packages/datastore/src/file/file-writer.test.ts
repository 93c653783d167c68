import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { systemClock } from "@bulrush/base";
import type { Resource } from "@bulrush/model";
import { applyResource, resourceIdOf } from "../driver/apply.ts";
import type { StoredResource } from "../driver/writer.ts";
import { loadManifests } from "../manifest/load.ts";
import { FileWriter } from "./file-writer.ts";
import { LOCK_NAME } from "./write/file-lock.ts";
import { asWriteError } from "./write/pending-files.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-writer-"));
after(() => rmSync(root, { recursive: true }));
const clock = systemClock({ keepAlive: true });
const { signal } = new AbortController();
const V3 = "projectcalico.org/v3";

function directory(files: Readonly<Record<string, string>> = {}): string {
  const path = mkdtempSync(join(root, "d"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return path;
}

function writerOf(path: string): FileWriter {
  return new FileWriter({ type: "file", directory: path }, { clock, lockTimeoutMs: 30_000 });
}

function policy(name: string, order: number, namespace = "shop"): Resource {
  return { apiVersion: V3, kind: "NetworkPolicy", metadata: { name, namespace }, spec: { order, types: ["Ingress"] } };
}

function tier(name: string, order: number): Resource {
  return { apiVersion: V3, kind: "Tier", metadata: { name }, spec: { order } };
}

const TIERS = ["a", "b", "c"].map((name) => `# ${name}\napiVersion: ${V3}\nkind: Tier\nmetadata: {name: ${name}}\n`);

test("create() puts a new resource in a file of its own, where readers find it", async () => {
  const path = directory();
  const stored = await writerOf(path).create(policy("web", 5), signal);
  assert.equal(stored.source?.file, "networkpolicies/shop.web.yaml");
  const { resources, problems } = await loadManifests(path);
  assert.deepEqual(problems, []);
  assert.deepEqual(
    resources.map(({ resource }) => resource),
    [{ ...policy("web", 5), spec: { order: 5, tier: "default", types: ["Ingress"] } }],
  );
  assert.deepEqual(readdirSync(path), ["networkpolicies"]);
});

test("create() keeps kinds of one name apart, and does not take another file's place", async () => {
  const path = directory({ "tiers/x.yaml": "not: ours\n" });
  const writer = writerOf(path);
  const native: Resource = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata: { name: "web" } };
  const files = [
    await writer.create(policy("web", 1, "default"), signal),
    await writer.create(native, signal),
    await writer.create(tier("x", 1), signal),
  ].map(({ source }) => source?.file);
  assert.deepEqual(files, [
    "networkpolicies/default.web.yaml",
    "networkpolicies.networking.k8s.io/default.web.yaml",
    "tiers/x-2.yaml",
  ]);
});

test("create(), update() and delete() say what is in the way", async () => {
  const path = directory({ "tiers.yaml": TIERS.join("---\n") });
  const writer = writerOf(path);
  const a = resourceIdOf(tier("a", 1));
  const { revision } = (await writer.get(a, signal)) as StoredResource;
  const rows: readonly [Promise<unknown>, string, RegExp][] = [
    [writer.create(tier("a", 1), signal), "DATASTORE_ALREADY_EXISTS", /Tier a .*"tiers\.yaml"/],
    [writer.update(tier("a", 1), "old", signal), "DATASTORE_CONFLICT", /Tier a has revision/],
    [writer.update(tier("z", 1), revision, signal), "DATASTORE_NOT_FOUND", /Tier z is not there/],
    [writer.delete(a, "old", signal), "DATASTORE_CONFLICT", /Tier a has revision/],
    [writer.delete(resourceIdOf(tier("z", 1)), undefined, signal), "DATASTORE_NOT_FOUND", /Tier z is not there/],
    [writer.delete(resourceIdOf(tier("default", 1)), undefined, signal), "DATASTORE_NOT_FOUND", /is built in/],
    [writer.get({ ...a, kind: "Tear" }, signal), "DATASTORE_NOT_SUPPORTED", /no kind "Tear"/],
  ];
  for (const [promise, code, message] of rows) await assert.rejects(promise, { code, message });
  assert.equal(readFileSync(join(path, "tiers.yaml"), "utf8"), TIERS.join("---\n"));
});

test("update() and delete() keep a resource's file, and every other document byte for byte", async () => {
  const path = directory({ "all/tiers.yaml": TIERS.join("---\n") });
  const writer = writerOf(path);
  const known = (await writer.get(resourceIdOf(tier("b", 1)), signal)) as StoredResource;
  const stored = await writer.update(tier("b", 7), known.revision, signal);
  assert.equal(stored.source?.file, "all/tiers.yaml");
  assert.notEqual(stored.revision, known.revision);
  const text = (): string => readFileSync(join(path, "all/tiers.yaml"), "utf8");
  assert.equal(text(), [TIERS[0], `${TIERS[1]}spec:\n  order: 7\n`, TIERS[2]].join("---\n"));
  await writer.delete(resourceIdOf(tier("b", 1)), stored.revision, signal);
  assert.equal(text(), [TIERS[0], TIERS[2]].join("---\n"));
  await writer.delete(resourceIdOf(tier("a", 1)), undefined, signal);
  await writer.delete(resourceIdOf(tier("c", 1)), undefined, signal);
  assert.deepEqual(readdirSync(join(path, "all")), []);
});

test("update() keeps status, uid and creation time that the new one does not say, and never a server's revision", async () => {
  const path = directory({
    "a.json": JSON.stringify({
      ...tier("a", 1),
      metadata: { name: "a", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
      status: { conditions: [] },
    }),
  });
  const writer = writerOf(path);
  const { revision } = (await writer.get(resourceIdOf(tier("a", 1)), signal)) as StoredResource;
  const next = { ...tier("a", 2), metadata: { name: "a", resourceVersion: "77", generation: 3 } };
  await writer.update(next, revision, signal);
  assert.deepEqual(JSON.parse(readFileSync(join(path, "a.json"), "utf8")), {
    apiVersion: V3,
    kind: "Tier",
    metadata: { name: "a", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    status: { conditions: [] },
    spec: { order: 2 },
  });
});

test("update() sees what an editor did since the revision was read", async () => {
  const path = directory({ "a.yaml": TIERS[0] ?? "" });
  const writer = writerOf(path);
  const { revision } = (await writer.get(resourceIdOf(tier("a", 1)), signal)) as StoredResource;
  writeFileSync(join(path, "a.yaml"), `${TIERS[0]}spec: {order: 99}\n`);
  await assert.rejects(writer.update(tier("a", 2), revision, signal), { code: "DATASTORE_CONFLICT" });
  assert.equal(readFileSync(join(path, "a.yaml"), "utf8"), `${TIERS[0]}spec: {order: 99}\n`);
  assert.equal((await applyResource(writer, tier("a", 2), signal)).action, "configured");
});

test("get() and list() show what a store has without anybody writing it; an update writes it", async () => {
  const path = directory();
  const writer = writerOf(path);
  const names = [];
  for await (const page of writer.list({ apiVersion: V3, kind: "Tier" }, signal))
    names.push(...page.map(({ resource }) => resource.metadata.name));
  assert.deepEqual(names, ["default", "kube-admin", "kube-baseline"]);
  assert.deepEqual((await applyResource(writer, tier("default", 1_000_000), signal)).action, "unchanged");
  const { action, stored } = await applyResource(writer, tier("default", 5), signal);
  assert.deepEqual([action, stored.source?.file], ["configured", "tiers/default.yaml"]);
});

test("list() gives one namespace or all, in order of namespace and name", async () => {
  const path = directory();
  const writer = writerOf(path);
  await Promise.all([policy("b", 1), policy("a", 1, "z"), policy("a", 1)].map((one) => writer.create(one, signal)));
  const list = async (namespace?: string): Promise<string[]> => {
    const request = { apiVersion: V3, kind: "NetworkPolicy", ...(namespace !== undefined && { namespace }) };
    const names: string[] = [];
    for await (const page of writer.list(request, signal))
      names.push(...page.map(({ resource: { metadata } }) => `${metadata.namespace}/${metadata.name}`));
    return names;
  };
  assert.deepEqual([await list(), await list("z")], [["shop/a", "shop/b", "z/a"], ["z/a"]]);
});

test("get() says that what is there cannot be read, and delete() removes it", async () => {
  const bad = `apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {a: 1}}\n`;
  const path = directory({ "a.yaml": `${TIERS[0]}---\n${bad}` });
  const writer = writerOf(path);
  const id = { apiVersion: "v1", kind: "Namespace", namespace: "", name: "x" };
  await assert.rejects(writer.get(id, signal), { code: "DATASTORE_MALFORMED", message: /a\.yaml:8.*metadata\.labels/ });
  await writer.delete(id, undefined, signal);
  assert.equal(readFileSync(join(path, "a.yaml"), "utf8"), TIERS[0]);
});

test("a write follows a link, keeps the mode, and takes no other permission", async () => {
  const path = directory({ "real/.tiers": TIERS[0] ?? "" });
  chmodSync(join(path, "real/.tiers"), 0o640);
  symlinkSync("real/.tiers", join(path, "tiers.yaml"));
  await applyResource(writerOf(path), tier("a", 3), signal);
  assert.ok(lstatSync(join(path, "tiers.yaml")).isSymbolicLink());
  assert.match(readFileSync(join(path, "real/.tiers"), "utf8"), /order: 3/);
  assert.equal(statSync(join(path, "tiers.yaml")).mode & 0o777, 0o640);
});

test("many writes at once into one file all stand in it", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `t${i}`);
  const text = names.map((name) => `apiVersion: ${V3}\nkind: Tier\nmetadata: {name: ${name}}\n`).join("---\n");
  const path = directory({ "tiers.yaml": text });
  const writer = writerOf(path);
  await Promise.all(names.map((name, i) => applyResource(writer, tier(name, i), signal)));
  const { resources } = await loadManifests(path);
  assert.deepEqual(
    resources.map(({ resource }) => (resource.spec as { order: number }).order),
    names.map((_, i) => i),
  );
});

test("an aborted write that was not begun is not done", async () => {
  const path = directory();
  const abort = new AbortController();
  const write = writerOf(path).create(tier("a", 1), abort.signal);
  abort.abort(new Error("enough"));
  await assert.rejects(write, /enough/);
  assert.deepEqual(readdirSync(path), []);
});

test("a write into a directory that is not there, or full, is refused", async () => {
  const writer = writerOf(join(root, "nowhere"));
  await assert.rejects(writer.create(tier("a", 1), signal), { code: "DATASTORE_NOT_FOUND" });
  const config = { type: "file", directory: directory({ "a.yaml": TIERS[0] ?? "" }) } as const;
  const full = new FileWriter({ ...config, maxFiles: 1 }, { clock });
  await assert.rejects(full.create(tier("b", 1), signal), { code: "DATASTORE_INVALID", message: /1 files/ });
  const small = new FileWriter({ ...config, maxFileBytes: 100 }, { clock });
  const long = { ...tier("a", 1), metadata: { name: "a", labels: { x: "y".repeat(63) } } };
  await assert.rejects(applyResource(small, long, signal), { code: "DATASTORE_INVALID", message: /100 bytes/ });
});

const errnos = [
  ["EROFS", "DATASTORE_UNAUTHORIZED"],
  ["EACCES", "DATASTORE_UNAUTHORIZED"],
  ["ENOENT", "DATASTORE_NOT_FOUND"],
  ["ENOSPC", "DATASTORE_FAILED"],
] as const;
for (const [errno, code] of errnos) {
  test(`asWriteError() makes ${code} of ${errno}`, () => {
    const error = asWriteError("tiers/a.yaml", Object.assign(new Error("no"), { code: errno }));
    assert.deepEqual([error.code, error.message], [code, 'Cannot write "tiers/a.yaml": no']);
  });
}

const PROCESS = `
  import { systemClock } from "@bulrush/base";
  import { FileWriter } from ${JSON.stringify(join(import.meta.dirname, "file-writer.ts"))};
  import { applyResource } from ${JSON.stringify(join(import.meta.dirname, "../driver/apply.ts"))};
  const [directory, from, count] = process.argv.slice(1);
  const { signal } = new AbortController();
  const writer = new FileWriter({ type: "file", directory }, { clock: systemClock({ keepAlive: true }) });
  for (let i = 0; i < Number(count); i++) {
    const metadata = { name: "t" + (Number(from) + (i % 10)) };
    await applyResource(writer, { apiVersion: "${V3}", kind: "Tier", metadata, spec: { order: i } }, signal);
  }
`;

function processArguments(path: string, from: number, count: number): string[] {
  return ["--conditions=bulrush-source", "--input-type=module", "-e", PROCESS, path, String(from), String(count)];
}

function runProcess(path: string, from: number, count: number): Promise<unknown> {
  return promisify(execFile)(process.execPath, processArguments(path, from, count), { cwd: import.meta.dirname });
}

test("several processes write one file without losing a write", { timeout: 300_000 }, async () => {
  const names = Array.from({ length: 30 }, (_, i) => `t${i}`);
  const text = names.map((name) => `apiVersion: ${V3}\nkind: Tier\nmetadata: {name: ${name}}\n`).join("---\n");
  const path = directory({ "tiers.yaml": text });
  await Promise.all([0, 10, 20].map((from) => runProcess(path, from, 10)));
  const { resources } = await loadManifests(path);
  assert.deepEqual(
    resources.map(({ resource }) => (resource.spec as { order: number }).order),
    names.map((_, i) => i % 10),
  );
  assert.deepEqual(readdirSync(path), ["tiers.yaml"]);
});

test("a killed writer leaves whole files, and the next one goes on", { timeout: 300_000 }, async () => {
  const path = directory({ "tiers.yaml": TIERS.join("---\n") });
  const child = spawn(process.execPath, processArguments(path, 0, 1_000_000), { cwd: import.meta.dirname });
  const ended = once(child, "exit");
  const contents = (): string =>
    readdirSync(path)
      .map((name) => `${name} ${statSync(join(path, name), { throwIfNoEntry: false })?.mtimeMs ?? 0}`)
      .join();
  const before = contents();
  // In the midst of its writes, wherever that is.
  while (contents() === before && child.exitCode === null) await new Promise((resolve) => setImmediate(resolve));
  child.kill("SIGKILL");
  await ended;
  const { resources, problems } = await loadManifests(path);
  assert.deepEqual([problems, resources.length >= 3], [[], true]);
  const writer = writerOf(path);
  assert.equal((await applyResource(writer, tier("after", 1), signal)).action, "created");
  await writer.close();
  assert.ok(!readdirSync(path).includes(LOCK_NAME));
});
