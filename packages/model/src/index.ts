export { formatValue, plainValue, valueFromPlain } from "./v1/json.ts";
export type {
  BlockAffinityKey,
  BlockKey,
  GlobalConfigKey,
  HostConfigKey,
  HostEndpointKey,
  IPPoolKey,
  Key,
  KeyType,
  NetworkSetKey,
  PolicyKey,
  PolicyKind,
  ProfileLabelsKey,
  ProfileRulesKey,
  ReadyFlagKey,
  ResourceKey,
  ResourceKind,
  TierKey,
  WireguardKey,
  WorkloadEndpointKey,
} from "./v1/key.ts";
export { formatKey, legacyTierOf, parseKey, POLICY_KINDS, RESOURCE_PLURALS } from "./v1/path.ts";
export type { HTTPMatch, Port, Protocol, Rule } from "./v1/rule.ts";
export { sameValue } from "./v1/same-value.ts";
export type { SyncerCallbacks, SyncStatus, Update, UpdateType } from "./v1/update.ts";
export type {
  Block,
  BlockAffinity,
  BlockAttribute,
  EndpointPort,
  HostEndpoint,
  IPPool,
  LabelMap,
  NatMapping,
  NetworkSet,
  Policy,
  ProfileLabels,
  ProfileRules,
  QoSControls,
  Resource,
  ResourceMetadata,
  Tier,
  Value,
  ValueOf,
  Wireguard,
  WorkloadEndpoint,
} from "./v1/value.ts";
