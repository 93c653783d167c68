export { CONNTRACK_TIMERS, FELIX_FIELDS, type FelixField, type FelixForm } from "./schema/felix-fields.ts";
export { felixWithoutEffect } from "./schema/felix-without-effect.ts";
export { closedPolicyForm, closedTierForm } from "./validation/closed-form.ts";
export type { Issue } from "./validation/issue.ts";
export { validateResource } from "./validation/validate-resource.ts";
export { MAX_RESOURCE_NESTING, type PlainDataIssue, plainDataIssue } from "./validation/plain-data.ts";
export { validateV1 } from "./validation/validate-v1.ts";
export {
  createValidationFilter,
  type FilterOutcome,
  type ReportInvalid,
  type ValidationFilterOptions,
} from "./validation/validation-filter.ts";
export { formatValue, plainValue, valueFromPlain } from "./v1/json.ts";
export { parseDscp } from "./v1/dscp.ts";
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
export { formatKey, parseKey, POLICY_KINDS, RESOURCE_PLURALS } from "./v1/path.ts";
export { namespaceTerm } from "./v1/namespace-term.ts";
export { isWireguardKey, parseAsNumber } from "./v1/node-facts.ts";
export { hasPorts, PROTOCOL_NUMBERS, protocolNumber } from "./v1/protocol.ts";
export { type ReadKV, readKV } from "./v1/read-kv.ts";
export type { HTTPMatch, Port, Protocol, Rule } from "./v1/rule.ts";
export { sameValue } from "./v1/same-value.ts";
export { SYNCER_TYPES, type SyncerType } from "./v1/syncer-type.ts";
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
export {
  NAME_LABEL,
  NAMESPACE_LABEL,
  NAMESPACE_LABEL_PREFIX,
  NAMESPACE_PROFILE_PREFIX,
  ORCHESTRATOR_LABEL,
  SERVICE_ACCOUNT_LABEL,
  SERVICE_ACCOUNT_LABEL_PREFIX,
  SERVICE_ACCOUNT_PROFILE_PREFIX,
} from "./v1/well-known.ts";
export type {
  BGPConfigurationResource,
  BGPConfigurationSpec,
  BGPPeerResource,
  BGPPeerSpec,
  ClusterInformationResource,
  ClusterInformationSpec,
  FelixConfigurationResource,
  FelixConfigurationSpec,
  IPPoolResource,
  IPPoolSpec,
  ProtoPort,
} from "./v3/configuration.ts";
export { applyDefaults, isCalicoVersion } from "./v3/defaults.ts";
export type {
  EndpointPortSpec,
  HostEndpointResource,
  HostEndpointSpec,
  NatSpec,
  WorkloadEndpointResource,
  WorkloadEndpointSpec,
} from "./v3/endpoint.ts";
export { isObject, type JsonObject } from "./v3/json-object.ts";
export { CALICO_CRD_V1, CALICO_V3, isLikelyOurs, type KindFacts, kindFacts, KINDS } from "./v3/kind.ts";
export type {
  Container,
  ContainerPort,
  EndpointSliceEndpoint,
  EndpointSliceResource,
  KubernetesNodeResource,
  KubernetesNodeSpec,
  KubernetesNodeStatus,
  NamespaceResource,
  PodResource,
  PodSpec,
  PodStatus,
  ServiceAccountResource,
  ServicePort,
  ServiceResource,
  ServiceSpec,
} from "./v3/kubernetes-core.ts";
export type {
  ClusterNetworkPolicyResource,
  ClusterNetworkPolicySpec,
  ClusterPolicyPeer,
  ClusterPolicyPodPeer,
  ClusterPolicyPortMatch,
  ClusterPolicyProtocol,
  ClusterPolicyRule,
  ClusterPolicySubject,
  KubernetesEgressRule,
  KubernetesIngressRule,
  KubernetesNetworkPolicyResource,
  KubernetesNetworkPolicySpec,
  KubernetesPolicyPeer,
  KubernetesPolicyPort,
  LabelSelector,
  LabelSelectorRequirement,
} from "./v3/kubernetes-policy.ts";
export type { NodeAddressSpec, NodeBgpSpec, NodeResource, NodeSpec, NodeStatus } from "./v3/node.ts";
export type { ResourceOf, StringMap } from "./v3/object.ts";
export type {
  GlobalNetworkPolicyResource,
  GlobalNetworkPolicySpec,
  GlobalNetworkSetResource,
  NetworkPolicyResource,
  NetworkPolicySpec,
  NetworkSetResource,
  NetworkSetSpec,
  PolicyType,
  ProfileResource,
  ProfileSpec,
  StagedAction,
  StagedFields,
  StagedGlobalNetworkPolicyResource,
  StagedKubernetesNetworkPolicyResource,
  StagedNetworkPolicyResource,
  TierResource,
  TierSpec,
} from "./v3/policy.ts";
export { BUILT_IN_TIERS, calicoPolicyTypes, kubernetesPolicyTypes } from "./v3/policy-defaults.ts";
export type {
  EntityRule,
  HttpPathMatch,
  HttpRuleMatch,
  IcmpFields,
  PortSpec,
  RuleSpec,
  ServiceAccountMatch,
  ServiceMatch,
} from "./v3/rule.ts";
