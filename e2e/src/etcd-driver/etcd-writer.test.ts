import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { applyResource, type DatastoreWriter, resourceIdOf, type StoredResource } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import { skipWithoutKube } from "../kube/binaries.ts";
import { EtcdServer } from "../kube/etcd-server.ts";
import { calico, codeOf, openWriter, set, soon } from "./world.ts";

const ROOT = "/calico/resources/v3/projectcalico.org";

describe("EtcdWriter on a real etcd", { skip: skipWithoutKube() }, () => {
  let etcd: EtcdServer;
  let writer: DatastoreWriter;
  before(async () => {
    etcd = await EtcdServer.start();
    writer = await openWriter({ endpoints: [etcd.endpoint] });
  });
  after(async () => {
    await writer.close();
    await etcd.stop();
  });

  const id = (kind: string, name: string, namespace = "") => resourceIdOf(calico(kind, name, namespace));
  const mustGet = async (kind: string, name: string, namespace = ""): Promise<StoredResource> => {
    const stored = await writer.get(id(kind, name, namespace), soon());
    assert.ok(stored !== undefined, `${kind} ${name} is there`);
    return stored;
  };

  test("create() stores what was not there, as Calico's own client would", async () => {
    const policy = calico("NetworkPolicy", "p", "ns", { egress: [{ action: "Allow" }] }, { own: "x" });
    const { resource, revision } = await writer.create(policy, soon());
    assert.equal(revision, String(await etcd.revision()));
    assert.equal(resource.metadata.resourceVersion, revision);
    const stored = JSON.parse(await etcd.ctl("get", `${ROOT}/networkpolicies/ns/p`, "--print-value-only")) as {
      readonly metadata: Record<string, unknown>;
    };
    const { uid, creationTimestamp, ...metadata } = stored.metadata;
    assert.match(String(uid), /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    assert.match(String(creationTimestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepEqual(
      { ...stored, metadata },
      {
        apiVersion: "projectcalico.org/v3",
        kind: "NetworkPolicy",
        metadata: {
          name: "p",
          namespace: "ns",
          labels: { own: "x", "projectcalico.org/tier": "default" },
          annotations: { "projectcalico.org/metadata": '{"name":"p"}' },
        },
        spec: { tier: "default", egress: [{ action: "Allow" }], types: ["Egress"] },
      },
    );
    assert.deepEqual(await mustGet("NetworkPolicy", "p", "ns"), { resource, revision });
    assert.equal(await codeOf(writer.create(policy, soon())), "DATASTORE_ALREADY_EXISTS");
  });

  test("update() replaces what is at its revision, and nothing else", async () => {
    const first = await writer.create(set("u"), soon());
    const second = await writer.update(set("u", "11.0.0.0/8"), first.revision, soon());
    assert.deepEqual(second.resource.spec, { nets: ["11.0.0.0/8"] });
    assert.equal(second.resource.metadata.uid, first.resource.metadata.uid);
    assert.equal(second.resource.metadata.creationTimestamp, first.resource.metadata.creationTimestamp);
    assert.equal(await codeOf(writer.update(set("u"), first.revision, soon())), "DATASTORE_CONFLICT");
    assert.equal(await codeOf(writer.update(set("nobody"), first.revision, soon())), "DATASTORE_NOT_FOUND");
    assert.deepEqual(await mustGet("GlobalNetworkSet", "u"), second);
  });

  test("of two updates at once one wins", async () => {
    const { revision } = await writer.create(set("race"), soon());
    const codes = await Promise.all(
      ["12.0.0.0/8", "13.0.0.0/8", "14.0.0.0/8"].map((net) =>
        codeOf(writer.update(set("race", net), revision, soon())),
      ),
    );
    assert.deepEqual([...codes].sort(), ["DATASTORE_CONFLICT", "DATASTORE_CONFLICT", "done"]);
  });

  test("update() of a resource without status keeps the one that is stored", async () => {
    const node = { ...calico("CalicoNodeStatus", "s", "", { node: "n" }), status: { lastUpdated: "x" } };
    const { revision } = await writer.create(node, soon());
    const { resource } = await writer.update(calico("CalicoNodeStatus", "s", "", { node: "m" }), revision, soon());
    assert.deepEqual([resource.spec, resource.status], [{ node: "m" }, { lastUpdated: "x" }]);
  });

  test("delete() removes it, with a revision only that one", async () => {
    const { revision } = await writer.create(set("d"), soon());
    const newer = await writer.update(set("d", "11.0.0.0/8"), revision, soon());
    const one = id("GlobalNetworkSet", "d");
    assert.equal(await codeOf(writer.delete(one, revision, soon())), "DATASTORE_CONFLICT");
    assert.equal(await codeOf(writer.delete(one, "gumbo", soon())), "DATASTORE_CONFLICT");
    assert.equal(await codeOf(writer.delete(one, newer.revision, soon())), "done");
    assert.equal(await codeOf(writer.delete(one, undefined, soon())), "DATASTORE_NOT_FOUND");
    assert.equal(await writer.get(one, soon()), undefined);
    await writer.create(set("d"), soon());
    assert.equal(await codeOf(writer.delete(one, undefined, soon())), "done");
  });

  test("list() gives all of a kind, or of a namespace, in order of namespace and name", async () => {
    for (const [namespace, name] of [
      ["a-b", "x"],
      ["a", "y"],
      ["b", "x"],
      ["a", "x"],
    ] as const)
      await writer.create(calico("NetworkSet", name, namespace), soon());
    const listed = async (namespace?: string): Promise<string[]> => {
      const names: string[] = [];
      const type = { apiVersion: "projectcalico.org/v3", kind: "NetworkSet" };
      const request = { ...type, ...(namespace !== undefined && { namespace }) };
      for await (const page of writer.list(request, soon()))
        names.push(...page.map(({ resource }) => `${resource.metadata.namespace}/${resource.metadata.name}`));
      return names;
    };
    assert.deepEqual(await listed(), ["a/x", "a/y", "a-b/x", "b/x"]);
    assert.deepEqual(await listed("a"), ["a/x", "a/y"]);
  });

  test("a policy that is stored under a name with prefix is found, changed and deleted by its own", async () => {
    const key = `${ROOT}/globalnetworkpolicies/default.old`;
    const old = calico("GlobalNetworkPolicy", "default.old", "", { tier: "default" });
    await etcd.ctl("put", key, JSON.stringify(old));
    const { resource, revision } = await mustGet("GlobalNetworkPolicy", "old");
    assert.equal(resource.metadata.name, "old");
    assert.equal(await writer.get(id("GlobalNetworkPolicy", "default.old"), soon()), undefined);
    const own = calico("GlobalNetworkPolicy", "old", "", { tier: "default", order: 1 });
    assert.equal(await codeOf(writer.create(own, soon())), "DATASTORE_ALREADY_EXISTS");
    await writer.update(own, revision, soon());
    assert.equal(await etcd.ctl("get", "--prefix", "--keys-only", `${ROOT}/globalnetworkpolicies/`), `${key}\n\n`);
    assert.equal((await mustGet("GlobalNetworkPolicy", "old")).resource.metadata.name, "old");
    await writer.delete(id("GlobalNetworkPolicy", "old"), undefined, soon());
    assert.equal(await etcd.ctl("get", key), "");
  });

  test("what is stored and cannot be read is named, and can be deleted", async () => {
    await etcd.ctl("put", `${ROOT}/tiers/broken`, "{");
    assert.equal(await codeOf(writer.get(id("Tier", "broken"), soon())), "DATASTORE_MALFORMED");
    const told: string[] = [];
    const request = { ...id("Tier", ""), onUnreadable: (what: string) => void told.push(what) };
    for await (const page of writer.list(request, soon())) assert.deepEqual(page, []);
    assert.equal(told.length, 1);
    assert.match(told[0] ?? "", /\/tiers\/broken: Is no JSON: /);
    await writer.delete(id("Tier", "broken"), undefined, soon());
    assert.equal(await writer.get(id("Tier", "broken"), soon()), undefined);
  });

  test("IPAM's kinds lie under IPAM's keys", async () => {
    const block = { cidr: "10.0.0.0/30", affinity: "host:n-1", allocations: [null], unallocated: [0], attributes: [] };
    const rows: readonly (readonly [string, string, object, string])[] = [
      ["IPAMBlock", "10-0-0-0-30", block, "/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-30"],
      [
        "BlockAffinity",
        "n-1-10-0-0-0-30",
        { node: "n-1", cidr: "10.0.0.0/30", type: "host", state: "confirmed" },
        "/calico/ipam/v2/host/n-1/ipv4/block/10.0.0.0-30",
      ],
      ["IPAMHandle", "h", { handleID: "h", block: { "10.0.0.0/30": 1 } }, "/calico/ipam/v2/handle/h"],
      ["IPAMConfig", "default", { strictAffinity: true, autoAllocateBlocks: true }, "/calico/ipam/v2/config"],
    ];
    for (const [kind, name, spec, key] of rows) {
      const { revision } = await writer.create(calico(kind, name, "", spec), soon());
      assert.equal(await etcd.ctl("get", "--keys-only", key), `${key}\n\n`);
      assert.deepEqual((await mustGet(kind, name)).resource.spec, spec);
      await writer.update(calico(kind, name, "", spec), revision, soon());
      await writer.delete(id(kind, name), undefined, soon());
      assert.equal(await etcd.ctl("get", key), "");
    }
  });

  test("kinds that etcd has not are refused, and names that are no keys", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "ns" } };
    assert.equal(await codeOf(writer.create(pod, soon())), "DATASTORE_NOT_SUPPORTED");
    assert.equal(await codeOf(writer.get(resourceIdOf(pod), soon())), "DATASTORE_NOT_SUPPORTED");
    assert.equal(await codeOf(writer.create(calico("Tier", "a/b"), soon())), "DATASTORE_INVALID");
    assert.equal(await codeOf(writer.create(set("x".repeat(2 << 20)), soon())), "DATASTORE_INVALID");
  });

  test("applyResource() creates, changes and leaves alone", async () => {
    const apply = async (net: string): Promise<string> =>
      (await applyResource(writer, set("applied", net), soon())).action;
    assert.equal(await apply("10.0.0.0/8"), "created");
    assert.equal(await apply("10.0.0.0/8"), "unchanged");
    assert.equal(await apply("11.0.0.0/8"), "configured");
  });

  test("an entry with a time to live goes away", async () => {
    // Only this writer has it.
    type WithTtl = (
      resource: Resource,
      signal: AbortSignal,
      options: { readonly ttlSeconds: number },
    ) => Promise<unknown>;
    const create: WithTtl = writer.create.bind(writer);
    await create(set("brief"), soon(), { ttlSeconds: 1 });
    assert.ok((await mustGet("GlobalNetworkSet", "brief")).revision !== "");
    // Leases end late.
    const limit = soon();
    while ((await writer.get(id("GlobalNetworkSet", "brief"), limit)) !== undefined) await sleep(100);
  });

  test("legacyVersion() tells what a Calico before version 3 said", async () => {
    assert.equal(await writer.legacyVersion?.(soon()), undefined);
    await etcd.ctl("put", "/calico/v1/config/CalicoVersion", "v2.6.12");
    assert.equal(await writer.legacyVersion?.(soon()), "v2.6.12");
  });
});
