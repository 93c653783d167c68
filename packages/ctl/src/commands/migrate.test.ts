import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { systemClock } from "@bulrush/base";
import { DatastoreError, type DatastoreWriter, loadManifests, openDatastoreWriter } from "@bulrush/datastore";
import { migrate, type MigrationOptions, type MigrationReport } from "../migrate/migration.ts";
import { type CliResult, runCli } from "../testing/run-cli.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-migrate-"));
after(() => rmSync(root, { recursive: true }));
const V3 = "projectcalico.org/v3";

function directory(text = ""): string {
  const path = mkdtempSync(join(root, "d"));
  if (text !== "") writeFileSync(join(path, "all.yaml"), text);
  return path;
}

function tier(name: string, order = 7): string {
  return `apiVersion: ${V3}\nkind: Tier\nmetadata: {name: ${name}}\nspec: {order: ${order}}\n`;
}

const POLICY = `apiVersion: ${V3}
kind: NetworkPolicy
metadata: {name: t.web, namespace: shop, labels: {a: b}, resourceVersion: "3", uid: u}
spec: {tier: t, selector: all(), types: [Ingress]}
`;
const SET = `apiVersion: ${V3}\nkind: GlobalNetworkSet\nmetadata: {name: s}\nspec: {nets: [10.0.0.0/8]}\n`;
const ALL = [tier("t"), POLICY, SET].join("---\n");

function run(from: string, to: string, ...more: string[]): Promise<CliResult> {
  return runCli(["migrate", "--from", `file:${from}`, "--to", `file:${to}`, ...more]);
}

/** "Tier t 7" of everything but what is there without a file. */
async function contents(path: string): Promise<string[]> {
  const { resources, problems } = await loadManifests(path);
  assert.deepEqual(problems, []);
  return resources
    .filter(({ resource }) => resource.kind !== "ClusterInformation")
    .map(({ resource: { kind, metadata, spec } }) =>
      [kind, metadata.name, (spec as { order?: number }).order ?? ""].join(" ").trim(),
    )
    .sort();
}

async function isReady(path: string): Promise<boolean | undefined> {
  const { resources } = await loadManifests(path);
  const information = resources.find(({ resource }) => resource.kind === "ClusterInformation")?.resource;
  return (information?.spec as { datastoreReady?: boolean } | undefined)?.datastoreReady;
}

test("migrate refuses a directory with a file that cannot be read: its policies would be lost", async () => {
  const [from, to] = [directory(ALL), directory()];
  writeFileSync(join(from, "twice.yaml"), `${SET}spec: {}\n`);
  const { code, out, err } = await run(from, to);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /nothing was written/);
  assert.match(err, /^ {2}twice\.yaml:5: Cannot read this document: /m);
  assert.deepEqual(await contents(to), []);
  rmSync(join(from, "twice.yaml"));
  assert.equal((await run(from, to)).code, 0);
});

test("migrate copies everything, opens the target, and leaves the source locked", async () => {
  const [from, to] = [directory(ALL), directory()];
  const { code, out, err } = await run(from, to);
  assert.deepEqual([code, out], [0, "3 resources copied, 3 were there already\n"]);
  assert.match(err, /are locked\n/);
  assert.match(err, /^tiers: 4 of 4 done, 1 written$/m);
  assert.match(err, /stays locked/);
  assert.deepEqual(await contents(to), ["GlobalNetworkSet s", "NetworkPolicy t.web", "Tier t 7"]);
  assert.deepEqual([await isReady(from), await isReady(to)], [false, true]);
  const policy = readFileSync(join(to, "networkpolicies/shop.t.web.yaml"), "utf8");
  assert.match(policy, /a: b/);
  assert.doesNotMatch(policy, /resourceVersion|uid/);
});

test("migrate --unlock-source opens both, and -o json has the report", async () => {
  const [from, to] = [directory(ALL), directory()];
  const { code, out } = await run(from, to, "--unlock-source", "-o", "json");
  assert.equal(code, 0);
  const report = JSON.parse(out) as MigrationReport;
  assert.deepEqual(report.copied, { tiers: 1, globalnetworksets: 1, networkpolicies: 1 });
  assert.deepEqual([report.skipped, report.different], [[], []]);
  assert.deepEqual([await isReady(from), await isReady(to)], [true, true]);
});

test("migrate keeps what ClusterInformation says", async () => {
  const information = `apiVersion: ${V3}\nkind: ClusterInformation\nmetadata: {name: default}\nspec: {clusterGUID: g, calicoVersion: v3.30.0, datastoreReady: true}\n`;
  const [from, to] = [directory(information), directory()];
  assert.equal((await run(from, to)).code, 0);
  const text = readFileSync(join(to, "clusterinformations/default.yaml"), "utf8");
  assert.match(text, /clusterGUID: g\n/);
  assert.match(text, /calicoVersion: v3\.30\.0\n/);
  assert.doesNotMatch(text, /bulrush\.io/);
});

test("migrate refuses a target that holds something, unless --merge: then the source's word counts", async () => {
  const [from, to] = [directory(ALL), directory([tier("t", 1), tier("theirs")].join("---\n"))];
  const refused = await run(from, to);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /^error: file:\S+ is not empty: it has 2 tiers; --merge/);
  assert.deepEqual([await isReady(from), await isReady(to)], [undefined, undefined]);
  assert.equal((await run(from, to, "--merge")).code, 0);
  assert.deepEqual(await contents(to), ["GlobalNetworkSet s", "NetworkPolicy t.web", "Tier t 7", "Tier theirs 7"]);
});

test("migrate writes nothing when the source holds what is not valid", async () => {
  const [from, to] = [directory(ALL.replace("all()", "a = b")), directory()];
  const { code, err } = await run(from, to);
  assert.equal(code, 1);
  assert.match(err, /nothing was written:\n {2}NetworkPolicy shop\/t\.web: spec\.selector: /);
  assert.deepEqual([await isReady(from), await isReady(to)], [undefined, undefined]);
});

/** The first run fails at the second set, of which the target has a version that cannot be read. */
const FIRST_SET = SET.replace("{name: s}", "{name: r}");

async function failed(): Promise<{ readonly from: string; readonly to: string }> {
  const bad = SET.replace("{name: s}", "{name: s, labels: {a: 1}}");
  const [from, to] = [directory(`${ALL}---\n${FIRST_SET}`), directory(bad)];
  const { code, err } = await run(from, to, "--merge");
  assert.equal(code, 1);
  assert.match(
    err,
    /1 globalnetworksets could not be written; both datastores stay locked.*\n {2}GlobalNetworkSet s: /,
  );
  assert.deepEqual([await isReady(from), await isReady(to)], [false, false]);
  return { from, to };
}

test("migrate goes on after a failure, with the same pair only", async () => {
  const { from, to } = await failed();
  const other = await run(directory(ALL), to);
  assert.equal(other.code, 1);
  assert.match(other.err, /The target is part of another migration since \d{4}-.*, with file:/);
  writeFileSync(join(to, "all.yaml"), SET);
  const { code, out, err } = await run(from, to);
  assert.deepEqual([code, out], [0, "1 resources copied, 6 were there already\n"]);
  assert.match(err, /^Going on: /);
  assert.deepEqual(await contents(to), ["GlobalNetworkSet r", "GlobalNetworkSet s", "NetworkPolicy t.web", "Tier t 7"]);
  assert.deepEqual([await isReady(from), await isReady(to)], [false, true]);
});

test("migrate --abort opens the source after a failure, and only then", async () => {
  const { from, to } = await failed();
  const { code, out } = await run(from, to, "--abort");
  assert.equal(code, 0);
  assert.match(out, /is open for use again; what was copied stays in/);
  assert.deepEqual([await isReady(from), await isReady(to)], [true, false]);
  const again = await run(from, to, "--abort");
  assert.deepEqual(
    [again.code, again.err],
    [1, "error: The source says nothing of a migration: there is nothing to give up\n"],
  );
});

const lines: readonly [title: string, argv: string[], code: number, err: RegExp][] = [
  ["without a target", ["--from", "file:/x"], 2, /--to STORE is needed/],
  ["of a datastore into itself", ["--from", "file:/x", "--to", "file:/x"], 2, /are the same datastore/],
  ["of an unknown type", ["--from", "redis", "--to", "file:/x"], 1, /DATASTORE_TYPE is "redis"/],
  [
    "with settings that are not there",
    ["--from", "file:/x", "--to", "etcdv3", "--to-env", "/nowhere"],
    1,
    /"\/nowhere"/,
  ],
  ["from a directory that is not there", ["--from", "file:/nowhere", "--to", "file:/x"], 1, /Nothing at "\/nowhere"/],
];
for (const [title, argv, code, err] of lines) {
  test(`migrate ${title}`, async () => {
    const result = await runCli(["migrate", ...argv]);
    assert.equal(result.code, code, result.err);
    assert.match(result.err, err);
  });
}

test("migrate --from-v1 says plainly that it does not convert, and what does", async () => {
  const { code, out, err } = await runCli(["migrate", "--from-v1"], "", { BULRUSH_DATASTORE_DIR: directory() });
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^The file datastore holds no v1 data/);
  assert.match(err, /does not convert v1 data/);
  assert.match(err, /calicoctl convert/);
});

/** A directory that takes no Kubernetes kinds, as etcd does. */
async function withoutKubernetes(path: string): Promise<DatastoreWriter> {
  const inner = await openDatastoreWriter(
    { type: "file", directory: path },
    { clock: systemClock({ keepAlive: true }) },
  );
  const check = (apiVersion: string): void => {
    if (apiVersion !== V3) throw new DatastoreError("not this kind", { code: "DATASTORE_NOT_SUPPORTED" });
  };
  return {
    type: "etcdv3",
    get: async (id, signal) => {
      check(id.apiVersion);
      return inner.get(id, signal);
    },
    async *list(request, signal) {
      check(request.apiVersion);
      yield* inner.list(request, signal);
    },
    create: (resource, signal) => inner.create(resource, signal),
    update: (resource, revision, signal) => inner.update(resource, revision, signal),
    delete: (id, revision, signal) => inner.delete(id, revision, signal),
    close: () => inner.close(),
  };
}

test("migrate does not lose policies that the target cannot store, unless told to", async () => {
  const native = (apiVersion: string, kind: string): string =>
    `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: k}\nspec: {}\n`;
  const from = directory(
    [SET, native("networking.k8s.io/v1", "NetworkPolicy"), native("v1", "Namespace")].join("---\n"),
  );
  const options = async (skipUnsupported: boolean): Promise<MigrationOptions> => ({
    source: await openDatastoreWriter({ type: "file", directory: from }, { clock: systemClock({ keepAlive: true }) }),
    target: await withoutKubernetes(directory()),
    sourceName: "a",
    targetName: "b",
    signal: new AbortController().signal,
    merge: false,
    skipUnsupported,
    unlockSource: false,
    newId: () => "id",
    nowMs: 0,
    say: () => Promise.resolve(),
  });
  await assert.rejects(migrate(await options(false)), {
    code: "CTL_INPUT",
    message: /Policies would be lost: 1 networkpolicies\.networking\.k8s\.io .*; nothing was written/,
  });
  assert.equal(await isReady(from), undefined);
  const { copied, skipped } = await migrate(await options(true));
  assert.deepEqual(copied, { globalnetworksets: 1 });
  assert.deepEqual(
    skipped.map(({ kind, count }) => [kind, count]),
    [
      ["namespaces", 1 + 1],
      ["networkpolicies.networking.k8s.io", 1],
    ],
  );
});
