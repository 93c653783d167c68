import type { SyncerType } from "@bulrush/model";
import type { DatastoreDriver } from "../driver/driver.ts";
import type { DatastoreKind } from "../driver/kind.ts";
import type { UpdateProcessor } from "../process/processor.ts";
import { rawProcessor } from "../process/raw-processor.ts";
import { type ProcessingOptions, processorOf } from "../process/table.ts";

/** One stream of a syncer. */
export interface SyncerKind {
  readonly kind: DatastoreKind;
  readonly processor: UpdateProcessor;
  /** Only the item of this name. */
  readonly name?: string;
}

const FELIX: readonly DatastoreKind[] = [
  "ClusterInformation",
  "FelixConfiguration",
  "GlobalNetworkPolicy",
  "StagedGlobalNetworkPolicy",
  "GlobalNetworkSet",
  "IPPool",
  "Node",
  "Profile",
  "WorkloadEndpoint",
  "NetworkPolicy",
  "StagedNetworkPolicy",
  "StagedKubernetesNetworkPolicy",
  "NetworkSet",
  "Tier",
  "HostEndpoint",
  "BGPConfiguration",
  "BGPPeer",
  "LiveMigration",
];

/** In etcd these are there in Calico's own kinds: a controller copies them. */
const FELIX_KUBERNETES: readonly DatastoreKind[] = [
  "KubernetesNetworkPolicy",
  "KubernetesClusterNetworkPolicy",
  "KubernetesEndpointSlice",
  "KubernetesService",
];

/** The streams of a syncer, each with a processor of its own. */
export function kindsOf(
  type: SyncerType,
  driver: DatastoreDriver["type"],
  options: ProcessingOptions,
): readonly SyncerKind[] {
  const processed = (kind: DatastoreKind): SyncerKind => ({ kind, processor: processorOf(kind, options) });
  const rawNode: SyncerKind = { kind: "Node", processor: rawProcessor("Node") };
  switch (type) {
    case "felix": {
      const kinds = [...FELIX, ...(driver === "etcdv3" ? [] : FELIX_KUBERNETES)];
      return [...kinds, ...(options.usePodCIDR ? [] : ["IPAMBlock" as const])].map(processed);
    }
    case "bgp": {
      const kinds = (["IPPool", "BGPConfiguration", "BGPPeer", "BGPFilter"] as const).map(processed);
      return [...kinds, rawNode, ...(options.usePodCIDR ? [] : [processed("BlockAffinity")])];
    }
    case "tunnel-ip-allocation":
      return [processed("IPPool"), { ...rawNode, ...(options.nodeName !== "" && { name: options.nodeName }) }];
    case "node-status":
      return [processed("CalicoNodeStatus")];
  }
}
