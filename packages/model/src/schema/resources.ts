import { CALICO_CRD_V1, CALICO_V3, kindFacts } from "../v3/kind.ts";
import { BUILT_IN_TIERS } from "../v3/policy-defaults.ts";
import { bgpConfigurationSpec, bgpFilterSpec, bgpPeerSpec, nodeStatusSpec, nodeStatusStatus } from "./bgp.ts";
import {
  clusterInformationSpec,
  felixConfigurationSpec,
  kubeControllersConfigurationSpec,
  kubeControllersConfigurationStatus,
} from "./configuration.ts";
import { blockAffinitySpecV1, blockAffinitySpecV3, ipamBlockSpec, ipamConfigSpec, ipamHandleSpec } from "./ipam.ts";
import { clusterNetworkPolicySpec, stagedKubernetesNetworkPolicySpec } from "./kubernetes-policy.ts";
import { COPIED_POLICY_NAME, LABEL, POLICY_NAME } from "./names.ts";
import { hostEndpointSpec, ipPoolSpec, ipReservationSpec, networkSetSpec } from "./network.ts";
import {
  globalNetworkPolicySpec,
  networkPolicySpec,
  stagedGlobalNetworkPolicySpec,
  stagedNetworkPolicySpec,
  tierSpec,
} from "./policy.ts";
import { object, type ObjectShape, type Rule } from "./shape.ts";

/** A column of a listing. */
interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  /** From the resource on. */
  readonly path: string;
}

/** A kind as an API server is told of it. */
export interface ResourceDefinition {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly about: string;
  readonly spec: ObjectShape;
  readonly isSpecRequired: boolean;
  /** With it the kind has a status subresource. */
  readonly status?: ObjectShape;
  /** What the name must be beside a DNS subdomain. */
  readonly name?: { readonly pattern: string; readonly maxLength?: number };
  /** About the whole resource. */
  readonly rules: readonly Rule[];
  readonly columns: readonly Column[];
}

type Version = typeof CALICO_CRD_V1 | typeof CALICO_V3;

interface Row extends Pick<ResourceDefinition, "shortNames" | "about" | "spec"> {
  readonly status?: ObjectShape;
  readonly name?: ResourceDefinition["name"];
  readonly rules?: readonly Rule[];
  /** `field` or `name=field`, from the spec on, with `:type` where it is not a string. */
  readonly columns?: readonly string[];
  /** Default: both. */
  readonly only?: Version;
}

/** Whatever a controller reports. */
const ANY_STATUS: ObjectShape = object({});

const FIXED_TIERS: readonly Rule[] = Object.entries(BUILT_IN_TIERS).map(([name, { order, defaultAction }]) => ({
  cel: `self.metadata.name != '${name}' || !has(self.spec) || ((!has(self.spec.order) || self.spec.order == ${order}.0) && (!has(self.spec.defaultAction) || self.spec.defaultAction == '${defaultAction}'))`,
  message: `tier ${name} has order ${order} and default action ${defaultAction}`,
}));

const PLACED_BY_NAME: Rule = {
  cel: "!has(self.spec) || !has(self.spec.nodeSelector) || self.spec.nodeSelector == '' || !(self.metadata.name == 'default' || self.metadata.name.startsWith('node.'))",
  message: "nodeSelector may not stand in a configuration that says by its name where it holds",
};

const POLICY_COLUMNS = ["Tier=tier", "Order=order:number", "Selector=selector"] as const;

/** The older group may store a policy of the default tier under a longer name; the metadata annotation has its own. */
function policyName(names: string): ResourceDefinition["name"] {
  return { pattern: `^(?:${names})$` };
}

const NAMESPACED_POLICY = policyName(`${COPIED_POLICY_NAME}|(?:default\\.)?${POLICY_NAME}`);
const GLOBAL_POLICY = policyName(`(?:default\\.)?${POLICY_NAME}`);

const CALICO: Readonly<Record<string, Row | readonly Row[]>> = {
  BGPConfiguration: {
    shortNames: ["bgpconfig"],
    about: "How nodes speak BGP.",
    spec: bgpConfigurationSpec,
    columns: ["AS=asNumber", "Mesh=nodeToNodeMeshEnabled:boolean"],
  },
  BGPFilter: { shortNames: ["bgpf"], about: "Which routes a BGP peer gives and takes.", spec: bgpFilterSpec },
  BGPPeer: {
    shortNames: ["bgpp"],
    about: "A BGP peer of some nodes.",
    spec: bgpPeerSpec,
    columns: ["Peer=peerIP", "AS=asNumber", "Node=node", "Nodes=nodeSelector"],
  },
  BlockAffinity: [
    {
      shortNames: ["baff"],
      about: "Which host a block of addresses belongs to.",
      spec: blockAffinitySpecV1,
      columns: ["CIDR=cidr", "Node=node", "State=state"],
      only: CALICO_CRD_V1,
    },
    {
      shortNames: ["baff"],
      about: "Which host a block of addresses belongs to.",
      spec: blockAffinitySpecV3,
      columns: ["CIDR=cidr", "Node=node", "State=state"],
      only: CALICO_V3,
    },
  ],
  CalicoNodeStatus: {
    shortNames: ["cns"],
    about: "Asks a node for its state, which it writes into the status.",
    spec: nodeStatusSpec,
    status: nodeStatusStatus,
    columns: ["Node=node", "Period=updatePeriodSeconds:integer"],
  },
  ClusterInformation: {
    shortNames: ["clusterinfo"],
    about: "Facts of the whole cluster, and whether agents may work.",
    spec: clusterInformationSpec,
    columns: ["Version=calicoVersion", "Type=clusterType", "Ready=datastoreReady:boolean"],
  },
  FelixConfiguration: {
    shortNames: ["felixconfig"],
    about: "Settings of the agents: default for all, node.<name> for one, others for the nodes that they select.",
    spec: felixConfigurationSpec,
    rules: [PLACED_BY_NAME],
    columns: ["Nodes=nodeSelector"],
  },
  GlobalNetworkPolicy: {
    shortNames: ["gnp"],
    about: "A policy for workloads of all namespaces and for hosts.",
    spec: globalNetworkPolicySpec,
    name: GLOBAL_POLICY,
    columns: POLICY_COLUMNS,
  },
  GlobalNetworkSet: {
    shortNames: ["gns"],
    about: "Networks that policies name by labels.",
    spec: networkSetSpec,
  },
  HostEndpoint: {
    shortNames: ["hep"],
    about: "An interface of a node that policies are for.",
    spec: hostEndpointSpec,
    columns: ["Node=node", "Interface=interfaceName", "Addresses=expectedIPs"],
  },
  IPAMBlock: {
    shortNames: ["ipamb"],
    about: "A block of addresses and who has them.",
    spec: ipamBlockSpec,
    columns: ["CIDR=cidr", "Affinity=affinity"],
  },
  IPAMConfig: {
    shortNames: ["ipamcfg"],
    about: "How addresses are assigned.",
    spec: ipamConfigSpec,
    only: CALICO_CRD_V1,
  },
  IPAMConfiguration: {
    shortNames: ["ipamcfg"],
    about: "How addresses are assigned.",
    spec: ipamConfigSpec,
    only: CALICO_V3,
  },
  IPAMHandle: {
    shortNames: ["ipamh"],
    about: "The addresses that were assigned under one name.",
    spec: ipamHandleSpec,
  },
  IPPool: {
    shortNames: ["pool"],
    about: "Addresses for workloads and tunnels.",
    spec: ipPoolSpec,
    status: ANY_STATUS,
    columns: ["CIDR=cidr", "IPIP=ipipMode", "VXLAN=vxlanMode", "NAT=natOutgoing:boolean", "Disabled=disabled:boolean"],
  },
  IPReservation: {
    shortNames: ["ipres"],
    about: "Addresses that are never assigned automatically.",
    spec: ipReservationSpec,
  },
  KubeControllersConfiguration: {
    shortNames: ["kcconfig"],
    about: "Settings of the controllers.",
    spec: kubeControllersConfigurationSpec,
    status: kubeControllersConfigurationStatus,
  },
  NetworkPolicy: {
    // The plain names belong to the policies of Kubernetes.
    shortNames: ["cnetpol"],
    about: "A policy for workloads of one namespace.",
    spec: networkPolicySpec,
    name: NAMESPACED_POLICY,
    columns: POLICY_COLUMNS,
  },
  NetworkSet: { shortNames: ["netset"], about: "Networks that policies name by labels.", spec: networkSetSpec },
  StagedGlobalNetworkPolicy: {
    shortNames: ["sgnp"],
    about: "A global policy that is tried out, not enforced.",
    spec: stagedGlobalNetworkPolicySpec,
    name: GLOBAL_POLICY,
    columns: ["Action=stagedAction", ...POLICY_COLUMNS],
  },
  StagedKubernetesNetworkPolicy: {
    shortNames: ["sknp"],
    about: "A policy of Kubernetes that is tried out, not enforced.",
    spec: stagedKubernetesNetworkPolicySpec,
    columns: ["Action=stagedAction"],
  },
  StagedNetworkPolicy: {
    shortNames: ["snp"],
    about: "A policy that is tried out, not enforced.",
    spec: stagedNetworkPolicySpec,
    name: NAMESPACED_POLICY,
    columns: ["Action=stagedAction", ...POLICY_COLUMNS],
  },
  Tier: {
    shortNames: [],
    about: "A group of policies that is looked at before or after others.",
    spec: tierSpec,
    status: ANY_STATUS,
    name: { pattern: `^${LABEL}$`, maxLength: 63 },
    rules: FIXED_TIERS,
    columns: ["Order=order:number", "Default=defaultAction"],
  },
};

const CLUSTER_POLICY: Row = {
  shortNames: ["cnp"],
  about: "A policy of the cluster's administrator for pods of all namespaces.",
  spec: clusterNetworkPolicySpec,
  status: ANY_STATUS,
  columns: ["Tier=tier", "Priority=priority:integer"],
};

function columnOf(text: string): Column {
  const [, name = "", path = "", type = "string"] = /^([^=]+)=([^:]+)(?::(.+))?$/.exec(text) ?? [];
  return { name, type: type as Column["type"], path: `.spec.${path}` };
}

function definitionOf(apiVersion: string, kind: string, row: Row): ResourceDefinition {
  const facts = kindFacts(apiVersion, kind);
  const { shortNames, about, spec, status, name, rules = [], columns = [] } = row;
  return {
    apiVersion,
    kind,
    plural: facts?.plural ?? "",
    namespaced: facts?.namespaced === true,
    shortNames,
    about,
    spec,
    isSpecRequired: (spec.required ?? []).length > 0,
    ...(status !== undefined && { status }),
    ...(name !== undefined && { name }),
    rules,
    columns: columns.map(columnOf),
  };
}

/** Every kind that is stored as a custom resource, in both groups, and ClusterNetworkPolicy. */
export const RESOURCE_DEFINITIONS: readonly ResourceDefinition[] = [
  ...([CALICO_CRD_V1, CALICO_V3] as const).flatMap((version) =>
    Object.entries(CALICO).flatMap(([kind, rows]) =>
      [rows]
        .flat()
        .flatMap((row) => (row.only === undefined || row.only === version ? definitionOf(version, kind, row) : [])),
    ),
  ),
  definitionOf("policy.networking.k8s.io/v1alpha2", "ClusterNetworkPolicy", CLUSTER_POLICY),
];
