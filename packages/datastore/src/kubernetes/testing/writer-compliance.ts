import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Resource } from "@bulrush/model";
import { applyResource } from "../../driver/apply.ts";
import type { DatastoreWriter, ResourceId, StoredResource } from "../../driver/writer.ts";
import { datastoreCodeOf } from "../../errors.ts";
import type { StoredObject } from "./fake-objects.ts";

/** An API server, real or not, on which the writer is tried. */
export interface WriterServer {
  openWriter(): Promise<DatastoreWriter>;
  /** An object as it is stored, read past the writer. */
  read(object: Pick<StoredObject, "apiVersion" | "kind" | "metadata">): Promise<StoredObject>;
  create(object: StoredObject): Promise<void>;
  stop(): Promise<void>;
}

const V3 = "projectcalico.org/v3";
const CRD = "crd.projectcalico.org/v1";
const NAMESPACE = "writes";

function policy(name: string, fields: { readonly metadata?: object; readonly spec?: object } = {}): Resource {
  return {
    apiVersion: V3,
    kind: "NetworkPolicy",
    metadata: { name, namespace: NAMESPACE, ...fields.metadata },
    spec: { selector: "all()", ingress: [{ action: "Allow" }], ...fields.spec },
  };
}

function idOf(kind: string, name: string, namespace = NAMESPACE, apiVersion = V3): ResourceId {
  return { apiVersion, kind, namespace, name };
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => datastoreCodeOf(error),
  );
}

/** Registers what the writer must do on any API server with Calico's older CRDs. */
export function writerCompliance(
  label: string,
  start: () => Promise<WriterServer>,
  options: { readonly skip?: string | false } = {},
): void {
  void describe(`KubernetesWriter on ${label}`, options, () => {
    const { signal } = new AbortController();
    let server: WriterServer;
    let writer: DatastoreWriter;

    before(async () => {
      server = await start();
      writer = await server.openWriter();
      await server.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } });
    });

    after(async () => {
      await writer.close();
      await server.stop();
    });

    const mustGet = async (id: ResourceId): Promise<StoredResource> => {
      const stored = await writer.get(id, signal);
      assert.ok(stored !== undefined, `${id.kind} ${id.name} is there`);
      return stored;
    };

    void test("create() stores it as Calico's client does, and get() gives it back as its user wrote it", async () => {
      const metadata = { labels: { team: "a" }, annotations: { note: "x" } };
      const made = await writer.create(policy("web", { metadata }), signal);
      const stored = await server.read({
        apiVersion: CRD,
        kind: "NetworkPolicy",
        metadata: { name: "web", namespace: NAMESPACE },
      });
      const annotations = stored.metadata["annotations"] as Readonly<Record<string, string>>;
      assert.deepEqual(JSON.parse(annotations["projectcalico.org/metadata"] ?? ""), {
        name: "web",
        labels: { team: "a", "projectcalico.org/tier": "default" },
        annotations: { note: "x" },
      });
      assert.deepEqual(stored.metadata["labels"], { "projectcalico.org/tier": "default" });
      const got = await mustGet(idOf("NetworkPolicy", "web"));
      assert.deepEqual(got, made);
      assert.equal(got.resource.apiVersion, V3);
      assert.equal(got.revision, got.resource.metadata.resourceVersion);
      assert.deepEqual(got.resource.metadata.labels, { team: "a", "projectcalico.org/tier": "default" });
      assert.notEqual(got.resource.metadata.uid, stored.metadata["uid"]);
      const { tier, types } = got.resource.spec as { readonly tier: unknown; readonly types: unknown };
      assert.deepEqual([tier, types], ["default", ["Ingress"]]);
      assert.equal(await codeOf(writer.create(policy("web"), signal)), "DATASTORE_ALREADY_EXISTS");
    });

    void test("update() replaces all but uid and creation, at the newest revision only", async () => {
      const made = await writer.create(policy("changed", { metadata: { labels: { a: "b" } } }), signal);
      const next = policy("changed", { spec: { selector: "a == 'b'" } });
      const updated = await writer.update(next, made.revision, signal);
      assert.equal(updated.resource.metadata.uid, made.resource.metadata.uid);
      assert.equal(updated.resource.metadata.creationTimestamp, made.resource.metadata.creationTimestamp);
      assert.deepEqual(updated.resource.metadata.labels, { "projectcalico.org/tier": "default" });
      assert.equal((updated.resource.spec as { readonly selector: unknown }).selector, "a == 'b'");
      assert.equal(await codeOf(writer.update(next, made.revision, signal)), "DATASTORE_CONFLICT");
      const other = { ...next, metadata: { ...next.metadata, uid: "00000000-0000-4000-8000-ffffffffffff" } };
      assert.equal(await codeOf(writer.update(other, updated.revision, signal)), "DATASTORE_CONFLICT");
      assert.equal(await codeOf(writer.update(policy("never"), "1", signal)), "DATASTORE_NOT_FOUND");
    });

    void test("delete() removes it, at the newest revision if one is named", async () => {
      const made = await writer.create(policy("gone"), signal);
      const updated = await writer.update(policy("gone", { spec: { order: 5 } }), made.revision, signal);
      const id = idOf("NetworkPolicy", "gone");
      assert.equal(await codeOf(writer.delete(id, made.revision, signal)), "DATASTORE_CONFLICT");
      await writer.delete(id, updated.revision, signal);
      assert.equal(await writer.get(id, signal), undefined);
      assert.equal(await codeOf(writer.delete(id, undefined, signal)), "DATASTORE_NOT_FOUND");
    });

    void test("a policy that an older client has stored with a prefix keeps its place", async () => {
      const text = JSON.stringify({ name: "old", creationTimestamp: null });
      await server.create({
        apiVersion: CRD,
        kind: "NetworkPolicy",
        metadata: { name: "default.old", namespace: NAMESPACE, annotations: { "projectcalico.org/metadata": text } },
        spec: { selector: "all()" },
      });
      const got = await mustGet(idOf("NetworkPolicy", "old"));
      assert.equal(got.resource.metadata.name, "old");
      assert.equal(await codeOf(writer.create(policy("old"), signal)), "DATASTORE_ALREADY_EXISTS");
      const applied = await applyResource(writer, policy("old", { spec: { order: 7 } }), signal);
      assert.equal(applied.action, "configured");
      const place = { apiVersion: CRD, kind: "NetworkPolicy", metadata: { name: "default.old", namespace: NAMESPACE } };
      assert.equal(((await server.read(place))["spec"] as { readonly order: unknown }).order, 7);
      assert.equal(await writer.get(idOf("NetworkPolicy", "default.old"), signal), undefined);
      await writer.delete(idOf("NetworkPolicy", "old"), undefined, signal);
    });

    void test("applyResource() twice changes nothing the second time", async () => {
      const pool: Resource = { apiVersion: V3, kind: "IPPool", metadata: { name: "p" }, spec: { cidr: "10.0.0.0/16" } };
      assert.equal((await applyResource(writer, pool, signal)).action, "created");
      assert.equal((await applyResource(writer, pool, signal)).action, "unchanged");
      assert.equal((await applyResource(writer, policy("twice"), signal)).action, "created");
      assert.equal((await applyResource(writer, policy("twice"), signal)).action, "unchanged");
    });

    void test("list() gives all of a kind, or of a namespace", async () => {
      const names = Array.from({ length: 3 }, (_, i) => `listed-${i}`);
      for (const name of names) await writer.create(policy(name), signal);
      const found: string[] = [];
      for await (const page of writer.list({ apiVersion: V3, kind: "NetworkPolicy", namespace: NAMESPACE }, signal))
        found.push(...page.map(({ resource }) => resource.metadata.name));
      assert.deepEqual(
        found.filter((name) => name.startsWith("listed-")),
        names,
      );
      assert.deepEqual(found, [...found].sort());
    });

    void test("a status is written beside the rest, and stays when the rest is written", async () => {
      const status: Resource = {
        apiVersion: V3,
        kind: "CalicoNodeStatus",
        metadata: { name: "s" },
        spec: { node: "n", classes: ["Agent"], updatePeriodSeconds: 10 },
        status: { lastUpdated: "2026-01-01T00:00:00Z" },
      };
      const made = await writer.create(status, signal);
      assert.deepEqual(made.resource.status, status.status);
      const { status: _, ...rest } = status;
      const updated = await writer.update(
        { ...rest, spec: { node: "n", classes: ["BGP"], updatePeriodSeconds: 10 } },
        made.revision,
        signal,
      );
      assert.deepEqual(updated.resource.status, status.status);
      assert.deepEqual((updated.resource.spec as { readonly classes: unknown }).classes, ["BGP"]);
    });

    void test("a v3 Node is written into the annotations of the Kubernetes one", async () => {
      await server.create({ apiVersion: "v1", kind: "Node", metadata: { name: "node-1", labels: { zone: "z" } } });
      const id = idOf("Node", "node-1", "");
      const { resource, revision } = await mustGet(id);
      assert.equal(resource.apiVersion, V3);
      const spec = { bgp: { ipv4Address: "10.0.0.1/24", asNumber: 64512 }, ipv4VXLANTunnelAddr: "192.168.1.1" };
      const labels = { ...resource.metadata.labels, rack: "r1" };
      const changed = { ...resource, metadata: { ...resource.metadata, labels }, spec };
      const written = await writer.update(changed, revision, signal);
      const read = written.resource.spec as { readonly bgp: unknown; readonly ipv4VXLANTunnelAddr: unknown };
      assert.deepEqual(read.bgp, { ipv4Address: "10.0.0.1/24", asNumber: "64512" });
      assert.equal(read.ipv4VXLANTunnelAddr, "192.168.1.1");
      assert.deepEqual(written.resource.metadata.labels, { zone: "z", rack: "r1" });
      const cleared = await writer.update({ ...written.resource, spec: {} }, written.revision, signal);
      assert.equal((cleared.resource.spec as { readonly bgp?: unknown }).bgp, undefined);
      assert.equal(await codeOf(writer.update(changed, revision, signal)), "DATASTORE_CONFLICT");
      assert.equal(await codeOf(writer.create(changed, signal)), "DATASTORE_NOT_SUPPORTED");
      assert.equal(await codeOf(writer.delete(id, undefined, signal)), "DATASTORE_NOT_SUPPORTED");
    });

    void test("Kubernetes' own kinds are written as they are", async () => {
      const kubernetes: Resource = {
        apiVersion: "networking.k8s.io/v1",
        kind: "NetworkPolicy",
        metadata: { name: "native", namespace: NAMESPACE },
        spec: { podSelector: {}, policyTypes: ["Ingress"] },
      };
      assert.equal((await applyResource(writer, kubernetes, signal)).action, "created");
      const got = await mustGet(idOf("NetworkPolicy", "native", NAMESPACE, "networking.k8s.io/v1"));
      assert.deepEqual(got.resource.spec, kubernetes.spec);
      await writer.delete(idOf("NetworkPolicy", "native", NAMESPACE, "networking.k8s.io/v1"), got.revision, signal);
    });

    void test("what only a conversion makes, and what the server does not have, is refused", async () => {
      assert.equal(await codeOf(writer.get(idOf("WorkloadEndpoint", "w"), signal)), "DATASTORE_NOT_SUPPORTED");
      assert.equal(await codeOf(writer.get(idOf("Profile", "p", ""), signal)), "DATASTORE_NOT_SUPPORTED");
      assert.equal(await codeOf(writer.get(idOf("BGPFilter", "f", ""), signal)), "DATASTORE_NOT_FOUND");
      assert.equal(await writer.legacyVersion?.(signal), undefined);
    });
  });
}
