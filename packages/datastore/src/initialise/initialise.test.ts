import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { CALICO_V3, type Resource } from "@bulrush/model";
import { datastoreCodeOf, DatastoreError, type DatastoreErrorCode } from "../errors.ts";
import { memoryWriter } from "../testing/memory-writer.ts";
import { clusterInformationSpec, nextClusterInformation } from "./cluster-information.ts";
import { ensureInitialized } from "./ensure-initialized.ts";
import { findLegacyData, legacyDataError } from "./legacy-data.ts";

const GUID = "0123456789abcdef0123456789abcdef";

function information(spec: object): Resource {
  return { apiVersion: CALICO_V3, kind: "ClusterInformation", metadata: { name: "default" }, spec };
}

const FULL = { clusterGUID: "g", calicoVersion: "v3.30.0", clusterType: "k8s,typha", datastoreReady: true };

const merges: readonly [
  title: string,
  spec: object | undefined,
  version: string,
  type: string,
  next: object | undefined,
][] = [
  [
    "makes one of nothing",
    undefined,
    "v3.31.0",
    "typha",
    { calicoVersion: "v3.31.0", clusterType: "typha", clusterGUID: GUID, datastoreReady: true },
  ],
  ["says nothing of a version that it does not know", undefined, "", "", { clusterGUID: GUID, datastoreReady: true }],
  ["changes nothing that is as it should be", FULL, "", "typha", undefined],
  ["changes nothing for the same version", FULL, "v3.30.0", "typha,k8s", undefined],
  ["takes another version", FULL, "v3.29.0", "", { ...FULL, calicoVersion: "v3.29.0" }],
  ["adds tokens after the ones there", FULL, "", "a,typha,b", { ...FULL, clusterType: "k8s,typha,a,b" }],
  ["drops a trailing comma", { ...FULL, clusterType: "k8s,bgp," }, "", "kdd", { ...FULL, clusterType: "k8s,bgp,kdd" }],
  ["keeps an explicit false", { ...FULL, datastoreReady: false }, "", "typha", undefined],
  [
    "sets the flag where there is none, and a GUID where it is empty",
    { ...FULL, datastoreReady: undefined, clusterGUID: "" },
    "",
    "",
    { ...FULL, clusterGUID: GUID },
  ],
  ["keeps what it does not know", { ...FULL, variant: "X" }, "v4", "", { ...FULL, variant: "X", calicoVersion: "v4" }],
];
for (const [title, spec, version, clusterType, next] of merges) {
  test(`nextClusterInformation() ${title}`, () => {
    const present = spec === undefined ? undefined : information(spec);
    assert.deepEqual(nextClusterInformation(present, { version, clusterType }, () => GUID)?.spec, next);
  });
}

function options(clock = new ManualClock()) {
  const { signal } = new AbortController();
  return { version: "", clusterType: "typha", clock, signal, newGuid: () => GUID };
}

test("ensureInitialized() creates ClusterInformation and the three tiers, once", async () => {
  const writer = memoryWriter({ type: "kubernetes" });
  await ensureInitialized(writer, options());
  assert.deepEqual(writer.calls, [
    "create ClusterInformation default",
    "create Tier kube-admin",
    "create Tier default",
    "create Tier kube-baseline",
  ]);
  assert.deepEqual(clusterInformationSpec(writer.find("ClusterInformation", "default")), {
    clusterType: "typha,kdd",
    clusterGUID: GUID,
    datastoreReady: true,
  });
  assert.deepEqual(writer.find("Tier", "kube-admin")?.spec, { order: 1000, defaultAction: "Pass" });
  assert.deepEqual(writer.find("Tier", "default")?.spec, { order: 1_000_000, defaultAction: "Deny" });
  assert.deepEqual(writer.find("Tier", "kube-baseline")?.spec, { order: 10_000_000, defaultAction: "Pass" });
  writer.calls.length = 0;
  await ensureInitialized(writer, options());
  assert.deepEqual(writer.calls, []);
});

test("ensureInitialized() says kdd of Kubernetes only", async () => {
  const writer = memoryWriter({ type: "etcdv3" });
  await ensureInitialized(writer, options());
  assert.equal(clusterInformationSpec(writer.find("ClusterInformation", "default")).clusterType, "typha");
});

const failures: readonly [
  title: string,
  fails: Readonly<Record<string, DatastoreErrorCode>>,
  code: DatastoreErrorCode | undefined,
  calls: number,
][] = [
  [
    "goes on after an error and throws the first",
    { "create ClusterInformation default": "DATASTORE_UNAUTHORIZED", "create Tier default": "DATASTORE_TIMEOUT" },
    "DATASTORE_UNAUTHORIZED",
    4,
  ],
  ["is content when it may not create a tier", { "create Tier default": "DATASTORE_UNAUTHORIZED" }, undefined, 4],
  ["is content when somebody else made a tier", { "create Tier default": "DATASTORE_ALREADY_EXISTS" }, undefined, 4],
  ["throws what is wrong with a tier", { "create Tier default": "DATASTORE_TIMEOUT" }, "DATASTORE_TIMEOUT", 4],
];
for (const [title, fails, code, calls] of failures) {
  test(`ensureInitialized() ${title}`, async () => {
    const writer = memoryWriter({ type: "kubernetes", fails });
    const thrown = await ensureInitialized(writer, options()).then(
      () => undefined,
      (error: unknown) => datastoreCodeOf(error),
    );
    assert.deepEqual([thrown, writer.calls.length], [code, calls]);
  });
}

test("ensureInitialized() tries again a second after a lost race, on what is there then", async () => {
  const clock = new ManualClock();
  const writer = memoryWriter({
    type: "kubernetes",
    fails: { "create ClusterInformation default": "DATASTORE_ALREADY_EXISTS" },
    onFailure: (self) => self.put(information({ clusterGUID: "theirs", datastoreReady: false })),
  });
  const done = ensureInitialized(writer, options(clock));
  await clock.advance(999);
  assert.deepEqual(writer.calls, ["create ClusterInformation default"]);
  await clock.advance(1);
  await done;
  assert.deepEqual(writer.calls.slice(0, 2), [
    "create ClusterInformation default",
    "update ClusterInformation default",
  ]);
  assert.deepEqual(clusterInformationSpec(writer.find("ClusterInformation", "default")), {
    clusterGUID: "theirs",
    datastoreReady: false,
    clusterType: "typha,kdd",
  });
});

test("ensureInitialized() ends with its signal", async () => {
  const abort = new AbortController();
  const fails = { "create ClusterInformation default": "DATASTORE_CONFLICT" } as const;
  const writer = memoryWriter({ type: "kubernetes", fails });
  const done = ensureInitialized(writer, { ...options(), signal: abort.signal });
  abort.abort(new Error("too long"));
  await assert.rejects(done, /too long/);
});

const versions: readonly [
  title: string,
  spec: object | undefined,
  v1: string | undefined,
  found: string | RegExp | undefined,
][] = [
  ["takes v3 for what it is", { calicoVersion: "v3.0.1" }, "v2.6.0", undefined],
  ["takes later versions too", { calicoVersion: "v10" }, undefined, undefined],
  ["takes an empty datastore for a new one", undefined, undefined, undefined],
  ["tells 2.x by ClusterInformation", { calicoVersion: "2.6.5" }, undefined, "2.6.5 ClusterInformation default"],
  ["tells older ones too", { calicoVersion: "v1.9" }, undefined, "v1.9 ClusterInformation default"],
  ["refuses what is no version", { calicoVersion: "master" }, undefined, /says "master", which is no version/],
  ["looks at v1 data when there is no ClusterInformation", undefined, "v2.6.1", "v2.6.1 v1 GlobalConfig CalicoVersion"],
  ["looks at v1 data when no version is said", { calicoVersion: "" }, "2.5", "2.5 v1 GlobalConfig CalicoVersion"],
  ["refuses v1 data that says v3", undefined, "v3.1.0", /v1 data is older/],
  ["counts what it may not read as not there", undefined, "DATASTORE_UNAUTHORIZED", undefined],
  ["passes on that nobody answers", undefined, "DATASTORE_CONNECTION_REFUSED", /nobody/],
];
for (const [title, spec, v1, found] of versions) {
  test(`findLegacyData() ${title}`, async () => {
    const legacyVersion = (): Promise<string | undefined> =>
      v1?.startsWith("DATASTORE_") === true
        ? Promise.reject(new DatastoreError("nobody", { code: v1 as DatastoreErrorCode }))
        : Promise.resolve(v1);
    const writer = { ...memoryWriter({ type: "kubernetes" }), legacyVersion };
    if (spec !== undefined) writer.put(information(spec));
    const finding = findLegacyData(writer, new AbortController().signal);
    if (found instanceof RegExp) await assert.rejects(finding, found);
    else {
      const data = await finding;
      assert.equal(data === undefined ? undefined : `${data.version} ${data.where}`, found);
      assert.deepEqual(writer.calls, []);
    }
  });
}

test("legacyDataError() names version, place and the way out", () => {
  const error = legacyDataError({ version: "2.6.5", where: "ClusterInformation default" });
  assert.equal(error.code, "DATASTORE_LEGACY_DATA");
  assert.match(error.message, /Calico 2\.6\.5 \(ClusterInformation default\).*bulrushctl migrate --from-v1/);
});
