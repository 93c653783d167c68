export {
  type DatastoreConfig,
  datastoreConfigFromEnvironment,
  type FileDatastoreConfig,
} from "./config.ts";
export { type Converted, type ConvertOptions, convertResources } from "./convert-resources.ts";
export { type Applied, applyResource, resourceIdOf, saysTheSame } from "./driver/apply.ts";
export type {
  DatastoreDriver,
  Item,
  ItemKey,
  ItemSubject,
  ListPage,
  ListRequest,
  WatchEvent,
  WatchRequest,
  WatchStream,
} from "./driver/driver.ts";
export type { ItemIssue } from "./driver/item-issue.ts";
export { withWriteDefaults } from "./driver/write-defaults.ts";
export type {
  DatastoreWriter,
  ResourceId,
  ResourceType,
  StoredListRequest,
  StoredResource,
} from "./driver/writer.ts";
export { DATASTORE_KINDS, type DatastoreKind } from "./driver/kind.ts";
export { DATASTORE_ERROR_CODES, datastoreCodeOf, DatastoreError, type DatastoreErrorCode } from "./errors.ts";
export {
  CLUSTER_INFORMATION_ID,
  type ClusterFacts,
  clusterInformationSpec,
} from "./initialise/cluster-information.ts";
export { ensureInitialized, type InitialiseOptions } from "./initialise/ensure-initialized.ts";
export { findLegacyData, type LegacyData, legacyDataError } from "./initialise/legacy-data.ts";
export type { EtcdDatastoreConfig } from "./etcd/etcd-config.ts";
export { type EtcdSettings, withEtcdSettings } from "./etcd/etcd-settings.ts";
export type { DatastoreLogger } from "./logger.ts";
export type { CalicoGroupVersion, KubernetesDatastoreConfig } from "./kubernetes/kubernetes-config.ts";
export { type LoadedManifests, loadManifests, type LoadOptions } from "./manifest/load.ts";
export type { ManifestResource } from "./manifest/resource.ts";
export { readYamlDocument, type YamlDocument } from "./manifest/yaml-document.ts";
export { type ConversionOptions, type ConvertedItem, toItem } from "./manifest/to-item.ts";
export type { DatastoreContext } from "./driver/context.ts";
export { openDatastore } from "./open.ts";
export { openDatastoreWriter } from "./open-writer.ts";
export { openStatusStore, type StatusStore } from "./status-store.ts";
export { formatProblem, type Problem, type ProblemSeverity, type SourcePosition } from "./problem.ts";
export { felixParametersOf } from "./process/config/parameters-of.ts";
export { withCanonicalWords } from "./process/policy/canonical-words.ts";
export {
  createSyncer,
  felixSyncer,
  type KindReport,
  type StopOptions,
  type Syncer,
  type SyncerOptions,
} from "./syncer/syncer.ts";
export {
  reconcileTunnelAddresses,
  type TunnelAddressOptions,
  type TunnelAddressResult,
} from "./tunnel/reconcile-node.ts";
export { takeOverAddress } from "./tunnel/take-over-address.ts";
export { publishWireguardKey } from "./tunnel/wireguard-key.ts";
