import { clusterInformationSpec } from "../schema/configuration.ts";
import {
  clusterNetworkPolicySpec,
  kubernetesNetworkPolicySpec,
  stagedKubernetesNetworkPolicySpec,
} from "../schema/kubernetes-policy.ts";
import { hostEndpointSpec, ipPoolSpec, networkSetSpec } from "../schema/network.ts";
import {
  globalNetworkPolicySpec,
  networkPolicySpec,
  profileSpec,
  stagedGlobalNetworkPolicySpec,
  stagedNetworkPolicySpec,
  tierSpec,
} from "../schema/policy.ts";
import { fieldNames } from "../schema/shape.ts";
import { CALICO_V3, type KindFacts } from "../v3/kind.ts";
import type { Fields } from "./field.ts";
import type { IssueList } from "./issue.ts";
import { dnsLabelProblem, dnsSubdomainProblem, policyNameProblem, serviceNameProblem } from "./name.ts";
import { checkBGPConfiguration } from "./resource/bgp-configuration.ts";
import { checkBGPPeer, checkNodeStatus } from "./resource/bgp-peer.ts";
import { checkClusterNetworkPolicy } from "./resource/cluster-network-policy.ts";
import { checkFelixConfiguration } from "./resource/felix-configuration.ts";
import { checkHostEndpoint } from "./resource/host-endpoint.ts";
import { checkIPPool } from "./resource/ip-pool.ts";
import { checkEndpointSlice, checkKubernetesNode, checkPod, checkService } from "./resource/kubernetes-core.ts";
import { checkKubernetesPolicy, checkStagedKubernetesPolicy } from "./resource/kubernetes-policy.ts";
import { checkNode } from "./resource/node.ts";
import { checkGlobalNetworkPolicy, checkNetworkPolicy, checkStagedAction } from "./resource/policy.ts";
import { checkClusterInformation, checkNetworkSet, checkProfile, checkTier } from "./resource/policy-objects.ts";
import { checkWorkloadEndpoint } from "./resource/workload-endpoint.ts";

/** The parts of a resource; a part that is absent or of the wrong shape is empty. */
interface ResourceParts {
  readonly resource: Fields;
  readonly metadata: Fields;
  readonly spec: Fields;
  readonly status: Fields;
}

/** How one kind is checked beside its labels and annotations. */
export interface ResourceRules {
  readonly nameProblem: (name: unknown) => string | undefined;
  /** The fields of the spec, where a field that is not among them is an issue. */
  readonly specFields?: ReadonlySet<string>;
  /** The check of the content. */
  readonly check?: (issues: IssueList, parts: ResourceParts) => void;
}

const globalPolicyName = (name: unknown): string | undefined => policyNameProblem(name, false);
const namespacedPolicyName = (name: unknown): string | undefined => policyNameProblem(name, true);

const CALICO: Readonly<Record<string, ResourceRules>> = {
  NetworkPolicy: {
    nameProblem: namespacedPolicyName,
    specFields: fieldNames(networkPolicySpec),
    check: (issues, { spec }) => checkNetworkPolicy(issues, spec),
  },
  GlobalNetworkPolicy: {
    nameProblem: globalPolicyName,
    specFields: fieldNames(globalNetworkPolicySpec),
    check: (issues, { spec }) => checkGlobalNetworkPolicy(issues, spec),
  },
  StagedNetworkPolicy: {
    nameProblem: namespacedPolicyName,
    specFields: fieldNames(stagedNetworkPolicySpec),
    check: (issues, { spec }) => {
      checkStagedAction(issues, spec);
      checkNetworkPolicy(issues, spec);
    },
  },
  StagedGlobalNetworkPolicy: {
    nameProblem: globalPolicyName,
    specFields: fieldNames(stagedGlobalNetworkPolicySpec),
    check: (issues, { spec }) => {
      checkStagedAction(issues, spec);
      checkGlobalNetworkPolicy(issues, spec);
    },
  },
  StagedKubernetesNetworkPolicy: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(stagedKubernetesNetworkPolicySpec),
    check: (issues, { spec }) => {
      checkStagedAction(issues, spec);
      checkStagedKubernetesPolicy(issues, spec);
    },
  },
  Tier: {
    nameProblem: dnsLabelProblem,
    specFields: fieldNames(tierSpec),
    check: (issues, { spec, metadata }) => checkTier(issues, spec, metadata),
  },
  NetworkSet: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(networkSetSpec),
    check: (issues, { spec, metadata }) => checkNetworkSet(issues, spec, metadata),
  },
  GlobalNetworkSet: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(networkSetSpec),
    check: (issues, { spec, metadata }) => checkNetworkSet(issues, spec, metadata),
  },
  Profile: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(profileSpec),
    check: (issues, { spec }) => checkProfile(issues, spec),
  },
  IPPool: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(ipPoolSpec),
    check: (issues, { spec }) => checkIPPool(issues, spec),
  },
  HostEndpoint: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(hostEndpointSpec),
    check: (issues, { spec }) => checkHostEndpoint(issues, spec),
  },
  ClusterInformation: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(clusterInformationSpec),
    check: (issues, { spec }) => checkClusterInformation(issues, spec),
  },
  FelixConfiguration: {
    nameProblem: dnsSubdomainProblem,
    check: (issues, { spec, metadata }) => checkFelixConfiguration(issues, spec, metadata),
  },
  Node: { nameProblem: dnsSubdomainProblem, check: (issues, { spec, status }) => checkNode(issues, spec, status) },
  BGPConfiguration: {
    nameProblem: dnsSubdomainProblem,
    check: (issues, { spec }) => checkBGPConfiguration(issues, spec),
  },
  BGPPeer: { nameProblem: dnsSubdomainProblem, check: (issues, { spec }) => checkBGPPeer(issues, spec) },
  WorkloadEndpoint: {
    nameProblem: dnsSubdomainProblem,
    check: (issues, { spec }) => checkWorkloadEndpoint(issues, spec),
  },
  CalicoNodeStatus: { nameProblem: dnsSubdomainProblem, check: (issues, { spec }) => checkNodeStatus(issues, spec) },
};

const KUBERNETES: Readonly<Record<string, ResourceRules>> = {
  NetworkPolicy: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(kubernetesNetworkPolicySpec),
    check: (issues, { spec }) => checkKubernetesPolicy(issues, spec),
  },
  ClusterNetworkPolicy: {
    nameProblem: dnsSubdomainProblem,
    specFields: fieldNames(clusterNetworkPolicySpec),
    check: (issues, { spec }) => checkClusterNetworkPolicy(issues, spec),
  },
  Namespace: { nameProblem: dnsLabelProblem },
  Node: {
    nameProblem: dnsSubdomainProblem,
    check: (issues, { spec, status }) => checkKubernetesNode(issues, spec, status),
  },
  Pod: { nameProblem: dnsSubdomainProblem, check: (issues, { spec, status }) => checkPod(issues, spec, status) },
  Service: { nameProblem: serviceNameProblem, check: (issues, { spec, status }) => checkService(issues, spec, status) },
  EndpointSlice: {
    nameProblem: dnsSubdomainProblem,
    check: (issues, { resource }) => checkEndpointSlice(issues, resource),
  },
};

/** Kinds that pass through unread: only their metadata is checked. */
const METADATA_ONLY: ResourceRules = { nameProblem: dnsSubdomainProblem };

/** The rules of a kind. */
export function rulesOf(facts: KindFacts): ResourceRules {
  return (facts.apiVersion === CALICO_V3 ? CALICO : KUBERNETES)[facts.kind] ?? METADATA_ONLY;
}
