import {
  CALICO_V3,
  type ClusterPolicyPeer,
  type ClusterPolicyProtocol,
  type ClusterPolicyRule,
  type ClusterPolicySubject,
  type EntityRule,
  type GlobalNetworkPolicyResource,
  isObject,
  type Resource,
  type RuleSpec,
} from "@bulrush/model";
import { canonicalCidr } from "@bulrush/ip";
import type { ItemIssue } from "../driver/item-issue.ts";
import {
  type CheckIssue,
  clusterPolicyPriority,
  clusterPolicyRule,
  clusterPolicySubject,
  formatPath,
  issuesOf,
  type Path,
} from "@bulrush/model/check";
import { errorAt } from "../process/issue.ts";
import { namespaceSelectorText, podSelectorText } from "./label-selector.ts";
import { type KubernetesPort, mergePorts } from "./merge-ports.ts";

const TIERS: Readonly<Record<string, string>> = { Admin: "kube-admin", Baseline: "kube-baseline" };
const ACTIONS = { Accept: "Allow", Deny: "Deny", Pass: "Pass" } as const;

/** `resource` undefined: the policy says nothing (an unknown tier, no subject), which is as if it were not there. */
export interface ConvertedClusterPolicy {
  readonly resource: GlobalNetworkPolicyResource | undefined;
  readonly issues: readonly ItemIssue[];
}

const RULES = { ingress: clusterPolicyRule("ingress", true), egress: clusterPolicyRule("egress", true) } as const;

type Direction = keyof typeof RULES;

const SPEC_FIELDS: ReadonlySet<string> = new Set(["tier", "priority", "subject", "ingress", "egress"]);

/**
 * A policy.networking.k8s.io ClusterNetworkPolicy as a v3 GlobalNetworkPolicy. A rule that cannot be read closes: an
 * Accept or Log is dropped; a Deny, a Pass or one without a readable action denies everything, or what its ports say
 * where only a peer is of a kind that we do not know. A field of the policy that we do not know denies both directions.
 */
export function convertClusterNetworkPolicy(policy: Resource): ConvertedClusterPolicy {
  const spec = isObject(policy.spec) ? policy.spec : {};
  const issues: ItemIssue[] = [];
  const tier = typeof spec["tier"] === "string" && Object.hasOwn(TIERS, spec["tier"]) ? TIERS[spec["tier"]] : undefined;
  if (tier === undefined) {
    const message = `Expected Admin or Baseline, found ${JSON.stringify(spec["tier"])}; the policy is not in use`;
    return { resource: undefined, issues: [errorAt("spec.tier", message)] };
  }
  const subjectIssues = issuesOf(clusterPolicySubject, spec["subject"] ?? {}, ["spec", "subject"]);
  const named: ClusterPolicySubject = isObject(spec["subject"]) ? spec["subject"] : {};
  if (!named.namespaces && !named.pods)
    return { resource: undefined, issues: [errorAt("spec.subject", "Names nobody; the policy is not in use")] };
  const priorityIssues = issuesOf(clusterPolicyPriority, spec["priority"], ["spec", "priority"]);
  const misplaced = [...subjectIssues, ...priorityIssues];
  issues.push(...misplaced.map((issue) => errorAt(formatPath(issue.path), issue.message)));
  // What a field that we do not know would stop is not known either.
  const unknown = Object.keys(spec).filter((name) => !SPEC_FIELDS.has(name) && (spec[name] ?? undefined) !== undefined);
  issues.push(...unknown.map((name) => errorAt(`spec.${name}`, "Unknown field")));
  const rules = (direction: Direction): RuleSpec[] => {
    const found = rulesOf(spec[direction], direction, issues);
    if (misplaced.length === 0 && unknown.length === 0) return found;
    const denials = found.flatMap((rule) => (rule.action === "Allow" ? [] : [{ ...rule, action: "Deny" as const }]));
    return unknown.length === 0 ? denials : [...denials, { action: "Deny" }];
  };
  const ingress = rules("ingress");
  const egress = rules("egress");
  const { metadata } = policy;
  return {
    issues,
    resource: {
      apiVersion: CALICO_V3,
      kind: "GlobalNetworkPolicy",
      metadata: {
        name: metadata.name,
        ...(metadata.uid !== undefined && { uid: metadata.uid }),
        ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
      },
      spec: {
        tier,
        order: priorityIssues.length === 0 ? (spec["priority"] as number) : 0,
        ...(subjectIssues.length > 0
          ? { namespaceSelector: "all()", selector: podSelectorText(undefined) }
          : subjectSelectors(named)),
        types: [...(ingress.length > 0 ? ["Ingress" as const] : []), ...(egress.length > 0 ? ["Egress" as const] : [])],
        ingress,
        egress,
      },
    },
  };
}

function subjectSelectors({ namespaces, pods }: ClusterPolicySubject): { namespaceSelector: string; selector: string } {
  return {
    namespaceSelector: namespaceSelectorText(pods ? (pods.namespaceSelector ?? {}) : namespaces),
    selector: podSelectorText(pods?.podSelector),
  };
}

function rulesOf(value: unknown, direction: Direction, issues: ItemIssue[]): RuleSpec[] {
  if (value === undefined || value === null) return [];
  const at: Path = ["spec", direction];
  if (!Array.isArray(value)) {
    issues.push(errorAt(formatPath(at), "Expected a list"));
    return [{ action: "Deny" }];
  }
  return (value as unknown[]).flatMap((rule, i) => {
    const path = [...at, i];
    const found = issuesOf(RULES[direction], rule, path);
    issues.push(...found.map((issue) => errorAt(formatPath(issue.path), issue.message)));
    return found.length === 0 ? convertRule(rule as ClusterPolicyRule, direction) : closeRule(rule, direction, found);
  });
}

/** What lets through, or decides nothing: such a rule may be missing. */
const HARMLESS_ACTIONS: ReadonlySet<unknown> = new Set(["Accept", "Allow", "Log"]);

function closeRule(rule: unknown, direction: Direction, found: readonly CheckIssue[]): RuleSpec[] {
  const fields: ClusterPolicyRule = isObject(rule) ? rule : {};
  if (HARMLESS_ACTIONS.has(fields.action)) return [];
  const peers = direction === "ingress" ? "from" : "to";
  const isOnly = (...names: readonly string[]): boolean =>
    found.every(({ path }) => typeof path[3] === "string" && names.includes(path[3]));
  if (isOnly("action")) return convertRule({ ...fields, action: "Deny" }, direction);
  if (isOnly("action", peers)) return combine("Deny", {}, direction, [{}], fields.protocols ?? []);
  return [{ action: "Deny" }];
}

function convertRule(rule: ClusterPolicyRule, direction: Direction): RuleSpec[] {
  const peers = ((direction === "ingress" ? rule.from : rule.to) ?? []).map(convertPeer);
  const metadata = rule.name ? { metadata: { annotations: { name: rule.name } } } : {};
  return combine(ACTIONS[rule.action ?? "Deny"], metadata, direction, peers, rule.protocols ?? []);
}

/** A namespaces peer means the pods in them: network sets, which carry namespace labels too, do not count. */
function convertPeer({ namespaces, pods, networks }: ClusterPolicyPeer): EntityRule {
  if (networks) return { nets: networks.map(canonicalCidr).filter((net) => net !== undefined) };
  return {
    selector: podSelectorText(pods?.podSelector),
    namespaceSelector: namespaceSelectorText(pods ? (pods.namespaceSelector ?? {}) : (namespaces ?? {})),
  };
}

function combine(
  action: NonNullable<RuleSpec["action"]>,
  metadata: Pick<RuleSpec, "metadata">,
  direction: Direction,
  peers: readonly EntityRule[],
  protocols: readonly ClusterPolicyProtocol[],
): RuleSpec[] {
  return groupPorts(protocols).flatMap(({ protocol, ports }) =>
    peers.map((peer): RuleSpec => {
      const match = ports.length > 0 ? { ports } : {};
      return {
        action,
        ...(protocol !== undefined && { protocol }),
        ...(direction === "egress"
          ? { destination: { ...peer, ...match } }
          : { source: peer, ...(ports.length > 0 && { destination: match }) }),
        ...metadata,
      };
    }),
  );
}

interface ProtocolPorts {
  readonly protocol?: string;
  readonly ports: NonNullable<EntityRule["ports"]>;
}

/** Named ports first: they are of any protocol. Then by protocol; one without a port means all its ports. */
function groupPorts(protocols: readonly ClusterPolicyProtocol[]): ProtocolPorts[] {
  if (protocols.length === 0) return [{ ports: [] }];
  const byProtocol = new Map<string, KubernetesPort[] | "all">();
  for (const entry of protocols) {
    const [name = "", fields] = Object.entries(entry).find(([, value]) => value !== undefined && value !== null) ?? [];
    const known = byProtocol.get(name);
    if (typeof fields === "string") byProtocol.set("", [...((byProtocol.get("") as KubernetesPort[]) ?? []), fields]);
    else if (!fields?.destinationPort) byProtocol.set(name, "all");
    else if (known !== "all") {
      const { number, range } = fields.destinationPort;
      const port: KubernetesPort = number ? [number, number] : [range?.start ?? 0, range?.end ?? 0];
      byProtocol.set(name, [...(known ?? []), port]);
    }
  }
  return [...byProtocol]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, found]) => ({
      ...(name !== "" && { protocol: name.toUpperCase() }),
      ports: found === "all" ? [] : mergePorts(found),
    }));
}
