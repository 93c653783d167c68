import { messageOf } from "@bulrush/base";
import { kubeBinaries } from "../kube/binaries.ts";
import { EtcdStore } from "../lab/etcd-store.ts";
import { KubernetesStore } from "../lab/kubernetes-store.ts";
import { directoryStore, type LabStore } from "../lab/store.ts";
import type { DemoDatastore } from "./arguments.ts";

/** What is missing on this machine for a datastore, in one line; undefined when all is there. */
export function whyNoStore(datastore: DemoDatastore): string | undefined {
  if (datastore === "file") return undefined;
  try {
    kubeBinaries();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Starts what the datastore needs, inside the lab. The caller stops it. */
export async function openStore(datastore: DemoDatastore, directory: string): Promise<LabStore> {
  if (datastore === "kubernetes") return KubernetesStore.start();
  if (datastore === "etcdv3") return EtcdStore.start();
  return directoryStore(directory);
}
