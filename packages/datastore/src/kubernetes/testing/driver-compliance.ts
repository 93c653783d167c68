import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DatastoreDriver, Item, ItemKey, WatchEvent, WatchStream } from "../../driver/driver.ts";
import type { DatastoreKind } from "../../driver/kind.ts";
import { datastoreCodeOf } from "../../errors.ts";
import type { KubernetesDatastoreConfig } from "../kubernetes-config.ts";
import type { StoredObject } from "./fake-objects.ts";

/** An API server, real or not, on which the driver is tried. */
export interface ComplianceServer {
  /** A driver with the rights of a reader: get, list and watch of what it needs, nothing else. */
  open(options?: Partial<KubernetesDatastoreConfig>): Promise<DatastoreDriver>;
  /** Creates an object, or replaces it; its status too. */
  put(object: StoredObject): Promise<void>;
  remove(object: Pick<StoredObject, "apiVersion" | "kind" | "metadata">): Promise<void>;
  /** Services are forgotten up to now: older revisions of them get 410. */
  forgetServices(): Promise<void>;
  stop(): Promise<void>;
}

/** What the suite asks of a server before it begins, beside Kubernetes' own kinds and Calico's CRDs. */
export interface ComplianceSetup {
  /** A Calico CRD that is not there. */
  readonly missing: DatastoreKind;
  /** A kind that the reader may neither list nor watch. */
  readonly forbidden: DatastoreKind;
}

/** What every server of the suite is set up with. */
export const COMPLIANCE_SETUP: ComplianceSetup = { missing: "CalicoNodeStatus", forbidden: "IPReservation" };

const NAMESPACE = "compliance";

function object(
  apiVersion: string,
  kind: string,
  name: string,
  fields: Readonly<Record<string, unknown>> = {},
  metadata: Readonly<Record<string, unknown>> = {},
): StoredObject {
  const isNamespaced = kind !== "Namespace" && kind !== "Tier" && kind !== "GlobalNetworkPolicy";
  return {
    apiVersion,
    kind,
    metadata: { name, ...(isNamespaced && { namespace: NAMESPACE }), ...metadata },
    ...fields,
  };
}

function service(name: string, labels: Readonly<Record<string, string>> = {}): StoredObject {
  const spec = { clusterIP: "None", ports: [{ port: 80, protocol: "TCP" }] };
  return object("v1", "Service", name, { spec }, { labels });
}

function pod(name: string, spec: object, annotations: object = {}): StoredObject {
  const containers = [{ name: "c", image: "i", ports: [{ name: "http", containerPort: 80, protocol: "TCP" }] }];
  return object("v1", "Pod", name, { spec: { containers, ...spec } }, { annotations });
}

/** The name of the kind's item that an object becomes, as this suite names its objects. */
const nameOf = (item: ItemKey): string => item.name;

/** Reads a whole list. */
async function listAll(
  driver: DatastoreDriver,
  kind: DatastoreKind,
  request: { readonly name?: string; readonly namespace?: string; readonly revision?: string } = {},
): Promise<{ readonly items: Item[]; readonly revision: string; readonly missing: string | undefined }> {
  const { revision = "0", ...rest } = request;
  const items: Item[] = [];
  let reached = "";
  let missing: string | undefined;
  for await (const page of driver.list({ kind, revision, signal: AbortSignal.timeout(20_000), ...rest })) {
    items.push(...page.items);
    reached = page.revision;
    missing = page.missing;
  }
  return { items, revision: reached, missing };
}

function watchFrom(driver: DatastoreDriver, kind: DatastoreKind, revision: string): Promise<WatchStream> {
  return driver.watch({ kind, revision, signal: AbortSignal.timeout(20_000) });
}

type Change = Exclude<WatchEvent, { readonly type: "bookmark" }>;

/** The next `count` events that are no bookmarks. */
async function changes(stream: WatchStream, count: number): Promise<Change[]> {
  const out: Change[] = [];
  while (out.length < count) {
    const events = await stream.next();
    assert.ok(events !== undefined, "The watch ended");
    for (const event of events) if (event.type !== "bookmark") out.push(event);
  }
  return out;
}

function shown(event: Change): string {
  return event.type === "error" ? `error ${datastoreCodeOf(event.error)}` : `${event.type} ${event.item?.name ?? "?"}`;
}

function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "no error",
    (error: unknown) => datastoreCodeOf(error),
  );
}

/** What the driver must do on any API server. */
export function driverCompliance(
  label: string,
  start: () => Promise<ComplianceServer>,
  options: { readonly skip?: string | false } = {},
): void {
  void describe(`KubernetesDriver on ${label}`, options, () => {
    let server: ComplianceServer;
    const drivers: DatastoreDriver[] = [];
    const open = async (config?: Partial<KubernetesDatastoreConfig>): Promise<DatastoreDriver> => {
      const driver = await server.open(config);
      drivers.push(driver);
      return driver;
    };

    before(async () => {
      server = await start();
      await server.put(object("v1", "Namespace", NAMESPACE, {}, { labels: { team: "a" } }));
    });

    after(async () => {
      await Promise.all(drivers.map((driver) => driver.close()));
      await server.stop();
    });

    void test("list() gives what is stored, and watch() goes on from it in order", async () => {
      const driver = await open();
      await server.put(service("order-a"));
      const { items, revision } = await listAll(driver, "KubernetesService", { namespace: NAMESPACE });
      const listed = items.find((item) => item.name === "order-a");
      assert.equal(listed?.value?.kind, "Service");
      assert.equal(listed?.revision, listed?.value?.metadata.resourceVersion);
      const stream = await watchFrom(driver, "KubernetesService", revision);
      await server.put(service("order-b"));
      await server.put(service("order-b", { changed: "yes" }));
      await server.remove(service("order-a"));
      const events = await changes(stream, 3);
      assert.deepEqual(events.map(shown), ["added order-b", "modified order-b", "deleted order-a"]);
      const [added, modified] = events;
      assert.ok(added?.type === "added" && modified?.type === "modified");
      assert.notEqual(added.item.revision, modified.item.revision);
      stream.close();
      assert.equal(await stream.next(), undefined);
    });

    void test("watch() repeats what came after the revision that it goes on from", async () => {
      const driver = await open();
      const { revision } = await listAll(driver, "KubernetesService");
      await server.put(service("resume-a"));
      await server.put(service("resume-b"));
      const first = await watchFrom(driver, "KubernetesService", revision);
      const [added] = await changes(first, 1);
      first.close();
      assert.ok(added?.type === "added");
      const second = await watchFrom(driver, "KubernetesService", added.revision ?? added.item.revision);
      assert.deepEqual((await changes(second, 1)).map(shown), ["added resume-b"]);
      second.close();
    });

    void test("list() and watch() of one name tell of that one only", async () => {
      const driver = await open();
      await server.put(service("named-a"));
      await server.put(service("named-b"));
      const { items, revision } = await listAll(driver, "KubernetesService", { name: "named-b" });
      assert.deepEqual(items.map(nameOf), ["named-b"]);
      const signal = AbortSignal.timeout(20_000);
      const stream = await driver.watch({ kind: "KubernetesService", name: "named-b", revision, signal });
      await server.remove(service("named-a"));
      await server.remove(service("named-b"));
      assert.deepEqual((await changes(stream, 1)).map(shown), ["deleted named-b"]);
      stream.close();
    });

    void test("list() of more than a page is complete, streamed or not", async () => {
      const names = Array.from({ length: 620 }, (_, i) => `many-${String(i).padStart(3, "0")}`);
      const account = (name: string): StoredObject => object("v1", "ServiceAccount", name);
      for (let i = 0; i < names.length; i += 20)
        await Promise.all(names.slice(i, i + 20).map((name) => server.put(account(name))));
      const wanted = names.map((name) => `ksa.${NAMESPACE}.${name}`);
      for (const listMode of ["auto", "paged"] as const) {
        const driver = await open({ listMode });
        // The second list asks for the newest state, and so for pages of it.
        for (let round = 0; round < 2; round++) {
          const { items } = await listAll(driver, "Profile");
          const found = items.map(nameOf).filter((name) => name.includes("many-"));
          assert.deepEqual(found.sort(), wanted, `${listMode}, list ${round + 1}`);
        }
      }
    });

    void test("watch() and list() say when a revision is forgotten, and a new list helps", async () => {
      const driver = await open();
      const { revision } = await listAll(driver, "KubernetesService");
      await server.put(service("expired-a"));
      await server.put(service("expired-b"));
      await server.forgetServices();
      let code = "no error";
      try {
        const stream = await watchFrom(driver, "KubernetesService", revision);
        const [event] = await changes(stream, 1);
        if (event?.type === "error") code = datastoreCodeOf(event.error);
        stream.close();
      } catch (error) {
        code = datastoreCodeOf(error);
      }
      assert.equal(code, "DATASTORE_EXPIRED");
      const { items } = await listAll(driver, "KubernetesService");
      assert.ok(items.some((item) => item.name === "expired-a"));
    });

    void test("list() says when the server has not come as far as it is asked for", async () => {
      const driver = await open({ listMode: "paged" });
      const code = await codeOf(listAll(driver, "KubernetesService", { revision: "4000000000" }));
      assert.equal(code, "DATASTORE_REVISION_TOO_LARGE");
    });

    void test("list() of a CRD that is not there is empty and says so; probe() says that it is not found", async () => {
      const driver = await open();
      const { items, revision, missing } = await listAll(driver, COMPLIANCE_SETUP.missing);
      assert.deepEqual([items, revision], [[], ""]);
      assert.match(missing ?? "", /^The server has no caliconodestatuses of crd\.projectcalico\.org\/v1$/);
      const probed = await codeOf(driver.probe(COMPLIANCE_SETUP.missing, AbortSignal.timeout(20_000)));
      assert.equal(probed, "DATASTORE_NOT_FOUND");
    });

    void test("list() of a native kind that is not there fails with DATASTORE_NOT_FOUND", async () => {
      const driver = await open();
      assert.equal(await codeOf(listAll(driver, "LiveMigration")), "DATASTORE_NOT_FOUND");
    });

    void test("list(), watch() and probe() of a forbidden kind are refused; the others go on", async () => {
      const driver = await open();
      const { forbidden } = COMPLIANCE_SETUP;
      const signal = AbortSignal.timeout(20_000);
      assert.equal(await codeOf(listAll(driver, forbidden)), "DATASTORE_UNAUTHORIZED");
      assert.equal(await codeOf(watchFrom(driver, forbidden, "1")), "DATASTORE_UNAUTHORIZED");
      assert.equal(await codeOf(driver.probe(forbidden, signal)), "DATASTORE_UNAUTHORIZED");
      await listAll(driver, "Tier");
      await driver.probe("Profile", signal);
    });

    void test("a pod is there once it is on a node with a network of its own; a malformed one is named, the rest goes on", async () => {
      const driver = await open();
      const { revision } = await listAll(driver, "WorkloadEndpoint");
      const stream = await watchFrom(driver, "WorkloadEndpoint", revision);
      await server.put(pod("unscheduled", {}));
      await server.put(pod("on-host", { nodeName: "node-1", hostNetwork: true }));
      await server.put(pod("bad", { nodeName: "node-1" }, { "cni.projectcalico.org/podIPs": "gumbo" }));
      await server.put(pod("good", { nodeName: "node-1" }, { "cni.projectcalico.org/podIP": "10.65.0.2/32" }));
      const [bad, good] = await changes(stream, 2);
      stream.close();
      assert.ok(bad?.type === "added" && good?.type === "added");
      assert.equal(bad.item.value, undefined);
      const [issue] = bad.item.issues ?? [];
      assert.equal(issue?.field, "metadata.annotations.cni.projectcalico.org/podIPs");
      assert.equal(bad.item.subject?.name, "bad");
      assert.equal(good.item.name, "node--1-k8s-good-eth0");
      const { ipNetworks } = (good.item.value?.spec ?? {}) as { readonly ipNetworks?: unknown };
      assert.deepEqual(ipNetworks, ["10.65.0.2/32"]);
      const listed = (await listAll(driver, "WorkloadEndpoint", { namespace: NAMESPACE })).items;
      assert.deepEqual(listed.map(nameOf).sort(), ["node--1-k8s-bad-eth0", "node--1-k8s-good-eth0"]);
      const one = await listAll(driver, "WorkloadEndpoint", { namespace: NAMESPACE, name: "node--1-k8s-good-eth0" });
      assert.deepEqual(one.items.map(nameOf), ["node--1-k8s-good-eth0"]);
    });

    void test("profiles come from namespaces and service accounts, and neither loses a change to the other", async () => {
      const driver = await open();
      await server.put(object("v1", "ServiceAccount", "both-gone"));
      const { items, revision } = await listAll(driver, "Profile");
      const names = items.map(nameOf);
      assert.ok(names.includes(`kns.${NAMESPACE}`) && names.includes(`ksa.${NAMESPACE}.both-gone`));
      assert.equal(names.filter((name) => name === "projectcalico-default-allow").length, 1);
      assert.match(revision, /^\d+\/\d+$/);
      const first = await watchFrom(driver, "Profile", revision);
      await server.put(object("v1", "Namespace", NAMESPACE, {}, { labels: { team: "b" } }));
      const [event] = await changes(first, 1);
      first.close();
      assert.ok(event?.type === "modified");
      assert.match(event.revision ?? "", /^\d+\/\d+$/);
      // While nobody watches: the half that told of the namespace must not swallow this.
      await server.remove(object("v1", "ServiceAccount", "both-gone"));
      await server.put(object("v1", "Namespace", NAMESPACE, {}, { labels: { team: "c" } }));
      const second = await watchFrom(driver, "Profile", event.revision ?? "");
      const after = (await changes(second, 2)).map(shown);
      second.close();
      assert.deepEqual(after.sort(), [`deleted ksa.${NAMESPACE}.both-gone`, `modified kns.${NAMESPACE}`]);
    });

    void test("a policy is read as its user wrote it, under the name that it has in the store", async () => {
      const driver = await open();
      const stored = object(
        "crd.projectcalico.org/v1",
        "NetworkPolicy",
        "default.web",
        { spec: { tier: "default", selector: "app == 'web'", ingress: [{ action: "Allow" }] } },
        {
          annotations: {
            "projectcalico.org/metadata": JSON.stringify({
              name: "web",
              labels: { own: "yes" },
              creationTimestamp: null,
            }),
          },
        },
      );
      await server.put(stored);
      const { items } = await listAll(driver, "NetworkPolicy", { namespace: NAMESPACE });
      assert.deepEqual(items.map(nameOf), ["default.web"]);
      const { metadata, spec, apiVersion } = items[0]?.value ?? { metadata: { name: "" } };
      assert.equal(apiVersion, "projectcalico.org/v3");
      assert.deepEqual([metadata.name, metadata.labels], ["web", { own: "yes" }]);
      assert.deepEqual((spec as { readonly types: unknown }).types, ["Ingress"]);
      await server.remove(stored);
    });
  });
}
