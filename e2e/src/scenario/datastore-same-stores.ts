import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, messageOf, sleep, systemClock } from "@bulrush/base";
import {
  applyResource,
  type CalicoGroupVersion,
  datastoreCodeOf,
  type DatastoreConfig,
  type DatastoreDriver,
  type DatastoreWriter,
  ensureInitialized,
  openDatastore,
  openDatastoreWriter,
  resourceIdOf,
} from "@bulrush/datastore";
import { CALICO_CRD_V1, CALICO_V3, type Resource } from "@bulrush/model";
import { EtcdServer } from "../kube/etcd-server.ts";
import type { KubeAdmin } from "../kube/kube-admin.ts";
import { KubeServer } from "../kube/kube-server.ts";
import { etcdCopyOf } from "../lab/etcd-store.ts";
import { asWritten, putObject, removeObject } from "../lab/kubernetes-store.ts";
import type { Mode } from "./datastore-same-modes.ts";
import type { Change } from "./datastore-same-script.ts";

const CLOCK: Clock = systemClock({ keepAlive: true });
const NEVER = new AbortController().signal;
const CRDS = join(import.meta.dirname, "..", "..", "..", "deploy", "crds");
const STEP_MS = 60_000;
/** A server that has just started refuses for some seconds what it does not have together yet. */
const RECOVERY_MS = 90_000;
/** Kinds that a Kubernetes datastore makes of others. */
const MADE_IN_KUBERNETES: ReadonlySet<string> = new Set(["Profile", "WorkloadEndpoint"]);

/** How each datastore is initialised. */
export const CLUSTER = {
  calicoVersion: "v3.32.0",
  clusterType: "lab",
  clusterGUID: "0123456789abcdef0123456789abcdef",
} as const;

/** Kinds that controllers and kubelets take part in, whose work the lab does. */
const CLUSTER_KINDS: ReadonlySet<string> = new Set(["Namespace", "Node", "Pod"]);

/** A datastore that the script is played into. */
export interface SameStore {
  readonly name: string;
  readonly mode: Mode;
  readonly config: DatastoreConfig;
  /** The one whose syncers are there from the beginning to the end. */
  readonly driver: DatastoreDriver;
  /** Changes of different resources, at the same time. */
  play(changes: readonly Change[]): Promise<void>;
}

/** All of them, and what ends them. */
export interface SameStores {
  readonly stores: readonly SameStore[];
  /** The directory, which a reader can be given once more. */
  readonly file: SameStore;
  /** The servers go away for a moment, and forget what they can of the past. */
  readonly interrupt: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a directory, an etcd and an API server with Calico's kinds in both of its groups:
 *
 *     script ─┬─> directory of manifests
 *             ├─> etcd: Calico's kinds, and what a controller copies of Kubernetes'
 *             └─> kube-apiserver: Kubernetes' kinds, and Calico's in crd.projectcalico.org/v1
 *                                                        and in projectcalico.org/v3
 */
export async function startStores(): Promise<SameStores> {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-same-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  const [etcd, kube] = await Promise.all([EtcdServer.start(), KubeServer.start()]);
  for (const group of ["crd.projectcalico.org", "projectcalico.org", "policy.networking.k8s.io"])
    await kube.admin.installCrds(join(CRDS, group));
  const ofGroup = (apiGroup: CalicoGroupVersion): DatastoreConfig => ({
    type: "kubernetes",
    kubeconfig: [kube.kubeconfig],
    apiGroup,
    qps: 200,
  });
  const closers: (() => Promise<void>)[] = [];
  let recoversUntilMs = 0;
  const isRecovering = (): boolean => CLOCK.monotonicMs() < recoversUntilMs;
  const open = async (
    name: string,
    mode: Mode,
    config: DatastoreConfig,
    change: (writer: DatastoreWriter, change: Change) => Promise<void>,
  ): Promise<SameStore> => {
    const writer = await openDatastoreWriter(config, { clock: CLOCK });
    await ensureInitialized(writer, {
      version: CLUSTER.calicoVersion,
      clusterType: CLUSTER.clusterType,
      clock: CLOCK,
      signal: AbortSignal.timeout(STEP_MS),
      newGuid: () => CLUSTER.clusterGUID,
    });
    const driver = await openDatastore(config, { clock: CLOCK });
    closers.push(
      () => driver.close(),
      () => writer.close(),
    );
    const play = async (changes: readonly Change[]): Promise<void> => {
      await Promise.all(changes.map((one) => untilTaken(() => change(writer, one), isRecovering)));
    };
    return { name, mode, config, driver, play };
  };
  const file = await open("a directory", "file", { type: "file", directory }, writeAsIs);
  const stores = [
    file,
    await open("etcd", "etcdv3", { type: "etcdv3", endpoints: [etcd.endpoint] }, writeCopy),
    await open(CALICO_CRD_V1, "kubernetes", ofGroup(CALICO_CRD_V1), writeCalico),
    await open(CALICO_V3, "kubernetes", ofGroup(CALICO_V3), (writer, change) =>
      isCalico(change) ? writeCalico(writer, change) : writeNative(writer, kube.admin, change),
    ),
  ];
  return {
    stores,
    file,
    interrupt: async () => {
      await Promise.all([etcd.daemon.restart(), kube.apiserver.kill()]);
      await Promise.all([etcd.compact(), kube.etcd.compact()]);
      await kube.apiserver.restart();
      recoversUntilMs = CLOCK.monotonicMs() + RECOVERY_MS;
    },
    stop: async () => {
      for (const close of closers) await close();
      await Promise.all([etcd.stop(), kube.stop()]);
    },
  };
}

/** Again and again while the servers recover; what a lost answer had deleted already is gone. */
async function untilTaken(work: () => Promise<void>, isRecovering: () => boolean): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt > 1 && datastoreCodeOf(error) === "DATASTORE_NOT_FOUND" && messageOf(error).endsWith("is not there"))
        return;
      if (!isRecovering()) throw error;
      await sleep(CLOCK, 200, NEVER);
    }
  }
}

function isCalico({ now, before }: Change): boolean {
  return (now ?? before)?.apiVersion === CALICO_V3;
}

async function write(writer: DatastoreWriter, now: Resource | undefined, before: Resource | undefined): Promise<void> {
  const signal = AbortSignal.timeout(STEP_MS);
  if (now !== undefined) await applyResource(writer, now, signal);
  else if (before !== undefined) await writer.delete(resourceIdOf(before), undefined, signal);
}

function writeAsIs(writer: DatastoreWriter, { now, before }: Change): Promise<void> {
  return write(writer, now, before);
}

/** An entry of etcd has its own name: a pod that moves to another host has another one. */
async function writeCopy(writer: DatastoreWriter, { now, before }: Change): Promise<void> {
  const [copy, old] = [now, before].map((resource) => (resource === undefined ? undefined : etcdCopyOf(resource, [])));
  const isOther = copy !== undefined && old !== undefined && copy.metadata.name !== old.metadata.name;
  if (isOther) await write(writer, undefined, old);
  await write(writer, copy, old);
}

async function writeCalico(writer: DatastoreWriter, change: Change): Promise<void> {
  const { now, before } = change;
  const kind = (now ?? before)?.kind ?? "";
  if (isCalico(change) && !MADE_IN_KUBERNETES.has(kind)) await write(writer, now, before);
}

async function writeNative(writer: DatastoreWriter, admin: KubeAdmin, { now, before }: Change): Promise<void> {
  // Replaced as a whole: a default that was filled in for the old one would stay where only fields are set.
  if (!CLUSTER_KINDS.has((now ?? before)?.kind ?? "")) return write(writer, now, before);
  // A status is patched, so what the old one had and the new one has not would stay.
  const isNew = before === undefined || JSON.stringify(now?.["status"]) !== JSON.stringify(before["status"]);
  if (before !== undefined && (now === undefined || isNew)) await removeObject(admin, asWritten(before));
  if (now !== undefined) await putObject(admin, asWritten(now));
}
