import type { ResourceKind } from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";
import { clusterInformationProcessor, felixConfigurationProcessor } from "./config/config-processor.ts";
import { hostEndpointProcessor } from "./host-endpoint-processor.ts";
import { ipPoolProcessor } from "./ip-pool-processor.ts";
import { globalNetworkSetProcessor, networkSetProcessor } from "./network-set-processor.ts";
import { nodeProcessor } from "./node-processor.ts";
import { policyProcessor } from "./policy/policy-processor.ts";
import type { UpdateProcessor } from "./processor.ts";
import { profileProcessor } from "./profile-processor.ts";
import { blockAffinityProcessor, blockProcessor, rawProcessor } from "./raw-processor.ts";
import { tierProcessor } from "./tier-processor.ts";
import { workloadEndpointProcessor } from "./workload-endpoint-processor.ts";

/** What a syncer asks of its processors. */
export interface ProcessingOptions {
  readonly usePodCIDR: boolean;
  /** Only the block affinities of this node; "" for all. */
  readonly nodeName: string;
}

/** Kinds that travel as they are, under a key of their own. */
const RAW_KINDS: Readonly<Partial<Record<DatastoreKind, ResourceKind>>> = {
  BGPConfiguration: "BGPConfiguration",
  BGPPeer: "BGPPeer",
  BGPFilter: "BGPFilter",
  LiveMigration: "LiveMigration",
  KubernetesEndpointSlice: "KubernetesEndpointSlice",
  KubernetesService: "KubernetesService",
  CalicoNodeStatus: "CalicoNodeStatus",
};

/** A new processor of a kind. Each belongs to one watcher cache of one syncer: they remember. */
export function processorOf(kind: DatastoreKind, options: ProcessingOptions): UpdateProcessor {
  switch (kind) {
    case "NetworkPolicy":
    case "GlobalNetworkPolicy":
    case "StagedNetworkPolicy":
    case "StagedGlobalNetworkPolicy":
    case "StagedKubernetesNetworkPolicy":
    case "KubernetesNetworkPolicy":
    case "KubernetesClusterNetworkPolicy":
      return policyProcessor(kind);
    case "Tier":
      return tierProcessor();
    case "Profile":
      return profileProcessor();
    case "WorkloadEndpoint":
      return workloadEndpointProcessor();
    case "HostEndpoint":
      return hostEndpointProcessor();
    case "NetworkSet":
      return networkSetProcessor();
    case "GlobalNetworkSet":
      return globalNetworkSetProcessor();
    case "IPPool":
      return ipPoolProcessor();
    case "Node":
      return nodeProcessor(options);
    case "ClusterInformation":
      return clusterInformationProcessor();
    case "FelixConfiguration":
      return felixConfigurationProcessor();
    case "IPAMBlock":
      return blockProcessor();
    case "BlockAffinity":
      return blockAffinityProcessor(options.nodeName);
    default: {
      const raw = RAW_KINDS[kind];
      return raw === undefined ? { process: () => NOTHING, onSyncerStarting: () => undefined } : rawProcessor(raw);
    }
  }
}

const NOTHING = { outputs: [], issues: [], isClosedForm: false } as const;
