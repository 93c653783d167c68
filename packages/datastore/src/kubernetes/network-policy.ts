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
  type CheckIssue,
  formatPath,
  issuesOf,
  kubernetesPolicySpec,
  stagedKubernetesPolicySpec,
} from "@bulrush/model/check";
import { namespaceSelectorText, podSelectorText } from "./label-selector.ts";
import { type KubernetesPort, mergePorts } from "./merge-ports.ts";

/** A resource in its v3 shape, and what could not be read. An error means that the resource is a closed form. */
export interface Converted<R extends Resource = Resource> {
  readonly resource: R;
  readonly issues: readonly ItemIssue[];
}

type Kind = "KubernetesNetworkPolicy" | "StagedKubernetesNetworkPolicy";

const CHECKS: Readonly<Record<Kind, Check>> = {
  KubernetesNetworkPolicy: kubernetesPolicySpec,
  StagedKubernetesNetworkPolicy: stagedKubernetesPolicySpec,
};

/**
 * A networking.k8s.io/v1 NetworkPolicy as a v3 NetworkPolicy in the tier `default`, order 1,000. Its rules only allow,
 * so a rule that cannot be read is dropped; where the pods that it is for cannot be read, it is for all pods of its
 * namespace and allows nothing.
 */
export function convertKubernetesPolicy(
  policy: Resource,
  kind: Kind = "KubernetesNetworkPolicy",
): Converted<NetworkPolicyResource> {
  const found = issuesOf(CHECKS[kind], policy.spec ?? {});
  const isWide = found.some(({ path: [field, index] }) => !isDirection(field) || typeof index !== "number");
  const spec: KubernetesNetworkPolicySpec = isObject(policy.spec) ? policy.spec : {};
  const isReadable = (direction: "ingress" | "egress", i: number): boolean =>
    !isWide && !found.some(({ path }) => path[0] === direction && path[1] === i);
  const ingress: RuleSpec[] = [];
  for (const [i, rule] of (isWide ? [] : (spec.ingress ?? [])).entries())
    if (isReadable("ingress", i)) addRules(ingress, rule.from, rule.ports, ingressRuleOf);
  const egress: RuleSpec[] = [];
  for (const [i, rule] of (isWide ? [] : (spec.egress ?? [])).entries())
    if (isReadable("egress", i)) addRules(egress, rule.to, rule.ports, egressRuleOf);
  const staged = (spec as { stagedAction?: StagedAction }).stagedAction;
  const out: Writable<NetworkPolicySpec & { stagedAction?: StagedAction }> = {
    tier: "default",
    order: 1000,
    // In a namespace everything is a pod but network sets, which no policy is for.
    selector: isWide ? "" : podSelectorText(spec.podSelector),
    types: typesOf(spec, found),
    ingress,
    egress,
  };
  if (staged) out.stagedAction = staged;
  return {
    resource: { apiVersion: CALICO_V3, kind: "NetworkPolicy", metadata: metadataOf(policy), spec: out },
    issues: found.map(({ path, message }) => ({ severity: "error", field: formatPath(["spec", ...path]), message })),
  };
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function isDirection(field: unknown): field is "ingress" | "egress" {
  return field === "ingress" || field === "egress";
}

function typesOf(spec: KubernetesNetworkPolicySpec, found: readonly CheckIssue[]): readonly PolicyType[] {
  // Only a bad pod selector or a bad rule leaves the directions as they are; a field that we do not know may mean any.
  const isUnsure = found.some(
    ({ path: [field, index] }) => field !== "podSelector" && !(isDirection(field) && typeof index === "number"),
  );
  if (isUnsure) return ["Ingress", "Egress"];
  const types = kubernetesPolicyTypes({ ...spec }).policyTypes ?? spec.policyTypes ?? [];
  return (["Ingress", "Egress"] as const).filter((type) => types.includes(type));
}

function metadataOf({ metadata }: Resource): ResourceMetadata {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  const out: Writable<ResourceMetadata> = { name };
  if (namespace !== undefined) out.namespace = namespace;
  if (uid !== undefined) out.uid = uid;
  if (resourceVersion !== undefined) out.resourceVersion = resourceVersion;
  if (creationTimestamp !== undefined) out.creationTimestamp = creationTimestamp;
  return out;
}

type Peers = readonly KubernetesPolicyPeer[] | null | undefined;
type Ports = readonly KubernetesPolicyPort[] | null | undefined;

/** The ports of one rule, all of one protocol; undefined for all ports of any. */
type RuleOf = (peer: EntityRule, ports: ProtocolPorts | undefined) => RuleSpec;

/** One rule for each protocol and peer: a v3 rule has one protocol, and its peer fields must all hold. */
function addRules(out: RuleSpec[], peers: Peers, ports: Ports, ruleOf: RuleOf): void {
  const entities = peers && peers.length > 0 ? peers.map(convertPeer) : [ANYBODY];
  for (const ofProtocol of ports && ports.length > 0 ? groupPorts(ports) : [undefined])
    for (const peer of entities) out.push(ruleOf(peer, ofProtocol));
}

const ANYBODY: EntityRule = {};

function ingressRuleOf(source: EntityRule, found: ProtocolPorts | undefined): RuleSpec {
  if (found === undefined) return { action: "Allow", source, destination: ANYBODY };
  const { protocol, ports } = found;
  return { action: "Allow", protocol, source, destination: ports.length > 0 ? { ports } : ANYBODY };
}

function egressRuleOf(peer: EntityRule, found: ProtocolPorts | undefined): RuleSpec {
  if (found === undefined) return { action: "Allow", destination: peer };
  const { protocol, ports } = found;
  return { action: "Allow", protocol, destination: ports.length > 0 ? { ...peer, ports } : peer };
}

interface ProtocolPorts {
  readonly protocol: string;
  /** Empty for all. */
  readonly ports: NonNullable<EntityRule["ports"]>;
}

/** By protocol in order of name; an entry without a number means all ports of its protocol. */
function groupPorts(ports: readonly KubernetesPolicyPort[]): ProtocolPorts[] {
  const byProtocol = new Map<string, KubernetesPort[] | "all">();
  for (const { protocol, port, endPort } of ports) {
    const name = protocol || "TCP";
    const known = byProtocol.get(name);
    if (known === "all") continue;
    if (port === undefined || port === null) byProtocol.set(name, "all");
    else if (known === undefined) byProtocol.set(name, [portOf(port, endPort)]);
    else known.push(portOf(port, endPort));
  }
  const out: ProtocolPorts[] = [];
  for (const [protocol, found] of byProtocol) out.push({ protocol, ports: found === "all" ? [] : mergePorts(found) });
  return out.length > 1 ? out.sort((a, b) => (a.protocol < b.protocol ? -1 : 1)) : out;
}

function portOf(port: number | string, endPort: number | null | undefined): KubernetesPort {
  return typeof port === "string" ? port : [port, endPort ?? port];
}

function convertPeer(peer: KubernetesPolicyPeer): EntityRule {
  if (peer.ipBlock) {
    const nets = masked([peer.ipBlock.cidr ?? ""]);
    const except = peer.ipBlock.except ?? [];
    return except.length > 0 ? { nets, notNets: masked(except) } : { nets };
  }
  const selector = podSelectorText(peer.podSelector);
  const namespaceSelector = namespaceSelectorText(peer.namespaceSelector);
  return namespaceSelector === "" ? { selector } : { selector, namespaceSelector };
}

function masked(nets: readonly string[]): string[] {
  return nets.map(canonicalCidr).filter((net) => net !== undefined);
}
