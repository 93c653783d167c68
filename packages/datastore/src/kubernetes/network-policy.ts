import { canonicalCidr } from "@bulrush/ip";
import {
  CALICO_V3,
  type EntityRule,
  isObject,
  type KubernetesNetworkPolicySpec,
  type KubernetesPolicyPeer,
  type KubernetesPolicyPort,
  kubernetesPolicyTypes,
  type NetworkPolicyResource,
  type NetworkPolicySpec,
  type PolicyType,
  type Resource,
  type ResourceMetadata,
  type RuleSpec,
  type StagedAction,
} from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import {
  type Check,
  cidr,
  formatPath,
  integer,
  type Issue,
  issuesOf,
  joined,
  list,
  object,
  oneOf,
  wrong,
} from "../process/check.ts";
import { labelSelector, namespaceSelectorText, podSelectorText } from "./label-selector.ts";
import { type KubernetesPort, mergePorts } from "./merge-ports.ts";

/** A resource in its v3 shape, and what could not be read. An error means that the resource is a closed form. */
export interface Converted<R extends Resource = Resource> {
  readonly resource: R;
  readonly issues: readonly ItemIssue[];
}

const portNumber = integer(1, 65535);
const portName = /^(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*$/;

const portOrName: Check = (value) => {
  if (typeof value !== "string") return portNumber(value);
  if (/^\d{1,5}$/.test(value)) return portNumber(Number(value));
  return value.length <= 15 && portName.test(value)
    ? undefined
    : wrong(`Expected a port number or name, found ${JSON.stringify(value)}`);
};

const portFields = object({ protocol: oneOf("TCP", "UDP", "SCTP"), port: portOrName, endPort: portNumber });

const policyPort: Check = (value) => {
  const issues = portFields(value);
  if (!isObject(value)) return issues;
  const { port, endPort } = value;
  if (typeof endPort !== "number" || (typeof port === "number" && port <= endPort)) return issues;
  return joined(issues, wrong("Needs a port number that is not above it", "endPort"));
};

const peerFields = object({
  podSelector: labelSelector,
  namespaceSelector: labelSelector,
  ipBlock: object({ cidr, except: list(cidr) }),
});

const policyPeer: Check = (value) => {
  let issues = peerFields(value);
  if (!isObject(value)) return issues;
  const ipBlock = value["ipBlock"] ?? undefined;
  const hasSelectors = (value["podSelector"] ?? value["namespaceSelector"] ?? undefined) !== undefined;
  if (hasSelectors === (ipBlock !== undefined))
    issues = joined(issues, wrong("A peer is either an ipBlock or selectors"));
  if (isObject(ipBlock) && (ipBlock["cidr"] ?? undefined) === undefined)
    issues = joined(issues, wrong("Missing", "ipBlock", "cidr"));
  return issues;
};

const ingressRule = object({ from: list(policyPeer), ports: list(policyPort) });
const egressRule = object({ to: list(policyPeer), ports: list(policyPort) });

const specFields: Readonly<Record<string, Check>> = {
  podSelector: labelSelector,
  policyTypes: list(oneOf("Ingress", "Egress")),
  ingress: list(ingressRule),
  egress: list(egressRule),
};

const CHECKS: Readonly<Record<"KubernetesNetworkPolicy" | "StagedKubernetesNetworkPolicy", Check>> = {
  KubernetesNetworkPolicy: object(specFields),
  StagedKubernetesNetworkPolicy: object({ ...specFields, stagedAction: oneOf("Set", "Delete", "Learn", "Ignore", "") }),
};

/**
 * A networking.k8s.io/v1 NetworkPolicy as a v3 NetworkPolicy in the tier `default`, order 1,000. Its rules only allow,
 * so a rule that cannot be read is dropped; where the pods that it is for cannot be read, it is for all pods of its
 * namespace and allows nothing.
 */
export function convertKubernetesPolicy(
  policy: Resource,
  kind: keyof typeof CHECKS = "KubernetesNetworkPolicy",
): Converted<NetworkPolicyResource> {
  const found = issuesOf(CHECKS[kind], policy.spec ?? {});
  const isWide = found.some(({ path: [field, index] }) => !isDirection(field) || typeof index !== "number");
  const spec: KubernetesNetworkPolicySpec = isObject(policy.spec) ? policy.spec : {};
  const rules = <R>(direction: "ingress" | "egress", convert: (rule: R) => RuleSpec[]): RuleSpec[] =>
    isWide
      ? []
      : ((spec[direction] ?? []) as readonly R[]).flatMap((rule, i) =>
          found.some(({ path }) => path[0] === direction && path[1] === i) ? [] : convert(rule),
        );
  const staged = (spec as { stagedAction?: StagedAction }).stagedAction;
  const out: NetworkPolicySpec & { stagedAction?: StagedAction } = {
    tier: "default",
    order: 1000,
    // In a namespace everything is a pod but network sets, which no policy is for.
    selector: isWide ? "" : podSelectorText(spec.podSelector),
    types: typesOf(spec, found),
    ingress: rules("ingress", convertIngress),
    egress: rules("egress", convertEgress),
    ...(staged && { stagedAction: staged }),
  };
  return {
    resource: { apiVersion: CALICO_V3, kind: "NetworkPolicy", metadata: metadataOf(policy), spec: out },
    issues: found.map(({ path, message }) => ({ severity: "error", field: formatPath(["spec", ...path]), message })),
  };
}

function isDirection(field: unknown): field is "ingress" | "egress" {
  return field === "ingress" || field === "egress";
}

function typesOf(spec: KubernetesNetworkPolicySpec, found: readonly Issue[]): readonly PolicyType[] {
  const isUnsure = found.some(
    ({ path: [field, index] }) =>
      field === undefined || field === "policyTypes" || (isDirection(field) && typeof index !== "number"),
  );
  if (isUnsure) return ["Ingress", "Egress"];
  const types = kubernetesPolicyTypes({ ...spec }).policyTypes ?? spec.policyTypes ?? [];
  return (["Ingress", "Egress"] as const).filter((type) => types.includes(type));
}

function metadataOf({ metadata }: Resource): ResourceMetadata {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}

type Peers = readonly KubernetesPolicyPeer[] | null | undefined;
type Ports = readonly KubernetesPolicyPort[] | null | undefined;

function convertIngress(rule: { readonly from?: Peers; readonly ports?: Ports }): RuleSpec[] {
  return combine(rule.from, rule.ports, (peer, ports) => ({
    source: peer,
    destination: ports.length > 0 ? { ports } : {},
  }));
}

function convertEgress(rule: { readonly to?: Peers; readonly ports?: Ports }): RuleSpec[] {
  return combine(rule.to, rule.ports, (peer, ports) => ({
    destination: ports.length > 0 ? { ...peer, ports } : peer,
  }));
}

/** One rule for each protocol and peer: a v3 rule has one protocol, and its peer fields must all hold. */
function combine(
  peers: Peers,
  ports: Ports,
  sides: (peer: EntityRule, ports: NonNullable<EntityRule["ports"]>) => RuleSpec,
): RuleSpec[] {
  const entities = (peers ?? []).map(convertPeer);
  if (entities.length === 0) entities.push({});
  return groupPorts(ports ?? []).flatMap(({ protocol, ports: numbers }) =>
    entities.map(
      (peer): RuleSpec => ({
        action: "Allow",
        ...(protocol !== undefined && { protocol }),
        ...sides(peer, numbers),
      }),
    ),
  );
}

interface ProtocolPorts {
  readonly protocol?: string;
  readonly ports: NonNullable<EntityRule["ports"]>;
}

/** By protocol in order of name; an entry without a number means all ports of its protocol. */
function groupPorts(ports: readonly KubernetesPolicyPort[]): ProtocolPorts[] {
  if (ports.length === 0) return [{ ports: [] }];
  const byProtocol = new Map<string, KubernetesPort[] | "all">();
  for (const { protocol, port, endPort } of ports) {
    const name = protocol || "TCP";
    const known = byProtocol.get(name);
    if (port === undefined || port === null) byProtocol.set(name, "all");
    else if (known !== "all") byProtocol.set(name, [...(known ?? []), portOf(port, endPort)]);
  }
  return [...byProtocol]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([protocol, found]) => ({ protocol, ports: found === "all" ? [] : mergePorts(found) }));
}

function portOf(port: number | string, endPort: number | null | undefined): KubernetesPort {
  const low = typeof port === "string" && /^\d+$/.test(port) ? Number(port) : port;
  return typeof low === "string" ? low : [low, endPort ?? low];
}

function convertPeer(peer: KubernetesPolicyPeer): EntityRule {
  if (peer.ipBlock) {
    const except = peer.ipBlock.except ?? [];
    return {
      nets: masked([peer.ipBlock.cidr ?? ""]),
      ...(except.length > 0 && { notNets: masked(except) }),
    };
  }
  const namespaceSelector = namespaceSelectorText(peer.namespaceSelector);
  return {
    selector: podSelectorText(peer.podSelector),
    ...(namespaceSelector !== "" && { namespaceSelector }),
  };
}

function masked(nets: readonly string[]): string[] {
  return nets.map(canonicalCidr).filter((net) => net !== undefined);
}
