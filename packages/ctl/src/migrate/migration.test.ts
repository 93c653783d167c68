import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@bulrush/base";
import { applyResource, type DatastoreWriter, openDatastoreWriter } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import { migrate, type MigrationOptions } from "./migration.ts";

const V3 = "projectcalico.org/v3";
const { signal } = new AbortController();

function policy(name: string): Resource {
  const spec = { tier: "default", selector: "all()", types: ["Ingress"], ingress: [{ action: "Deny" }] };
  return { apiVersion: V3, kind: "GlobalNetworkPolicy", metadata: { name }, spec } as unknown as Resource;
}

function openDirectory(): Promise<DatastoreWriter> {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-migration-"));
  return openDatastoreWriter({ type: "file", directory }, { clock: systemClock({ keepAlive: true }) });
}

async function policyNames(writer: DatastoreWriter): Promise<string[]> {
  const names: string[] = [];
  for await (const page of writer.list({ apiVersion: V3, kind: "GlobalNetworkPolicy" }, signal))
    for (const { resource } of page) names.push(resource.metadata.name);
  return names;
}

/** The same writer, for which somebody else does `work` right before the datastore is locked. */
function withSomebodyBeforeTheLock(writer: DatastoreWriter, work: () => Promise<unknown>): DatastoreWriter {
  let isDone = false;
  const once = async ({ kind }: Resource): Promise<void> => {
    if (isDone || kind !== "ClusterInformation") return;
    isDone = true;
    await work();
  };
  return {
    type: writer.type,
    get: (id, stop) => writer.get(id, stop),
    list: (request, stop) => writer.list(request, stop),
    delete: (id, revision, stop) => writer.delete(id, revision, stop),
    close: () => writer.close(),
    create: async (resource, stop) => {
      await once(resource);
      return writer.create(resource, stop);
    },
    update: async (resource, revision, stop) => {
      await once(resource);
      return writer.update(resource, revision, stop);
    },
  };
}

function options(source: DatastoreWriter, target: DatastoreWriter): MigrationOptions {
  const choices = { merge: false, skipUnsupported: false, unlockSource: false };
  const say = (): Promise<void> => Promise.resolve();
  const fixed = { sourceName: "from", targetName: "to", newId: () => "id", nowMs: 0 };
  return { source, target, signal, ...choices, ...fixed, say };
}

test("what is written between the look at the source and its lock is copied too", async () => {
  const [source, target] = [await openDirectory(), await openDirectory()];
  await applyResource(source, policy("first"), signal);
  const raced = withSomebodyBeforeTheLock(source, async () => {
    await applyResource(source, policy("late"), signal);
  });
  const { copied } = await migrate(options(raced, target));
  assert.equal(copied["globalnetworkpolicies"], 2);
  assert.deepEqual(await policyNames(target), ["first", "late"]);
});

test("what is written there and is not valid stops the migration, and both stay locked", async () => {
  const [source, target] = [await openDirectory(), await openDirectory()];
  const bad = policy("late");
  const raced = withSomebodyBeforeTheLock(source, () =>
    source.create({ ...bad, spec: { ...(bad.spec as object), selector: "((" } } as Resource, signal),
  );
  await assert.rejects(migrate(options(raced, target)), /not valid; both datastores stay locked: run this again/);
  assert.deepEqual(await policyNames(target), []);
  for (const writer of [source, target]) {
    const id = { apiVersion: V3, kind: "ClusterInformation", namespace: "", name: "default" };
    const { spec } = (await writer.get(id, signal))?.resource ?? assert.fail();
    assert.equal((spec as { datastoreReady?: boolean }).datastoreReady, false);
  }
});
