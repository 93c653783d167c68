import { messageOf } from "@bulrush/base";
import { CALICO_V3, kindFacts, type PodResource, type Resource } from "@bulrush/model";
import type { ItemSubject } from "../driver/driver.ts";
import type { ItemIssue } from "../driver/item-issue.ts";
import { DATASTORE_KINDS, type DatastoreKind } from "../driver/kind.ts";
import { convertClusterNetworkPolicy } from "../kubernetes/cluster-network-policy.ts";
import { convertKubernetesPolicy } from "../kubernetes/network-policy.ts";
import { convertKubernetesNode } from "../kubernetes/node.ts";
import { convertPod, isVisiblePod, podEndpointName } from "../kubernetes/pod.ts";
import { convertNamespace, convertServiceAccount } from "../kubernetes/profile.ts";
import { errorAt } from "../process/issue.ts";

/** What the conversion of Nodes and pods depends on. */
export interface ConversionOptions {
  /** IPAM blocks come from the pod CIDRs of nodes. */
  readonly usePodCIDR: boolean;
  /** FELIX_INTERFACEPREFIX. Default "cali". */
  readonly interfacePrefix?: string;
}

/** A stored thing before it has a revision. */
export interface ConvertedItem {
  readonly kind: DatastoreKind;
  readonly namespace: string;
  readonly name: string;
  /** Undefined: it cannot be converted at all, and `issues` say why. */
  readonly value: Resource | undefined;
  readonly issues: readonly ItemIssue[];
  readonly subject: ItemSubject;
}

const KINDS: ReadonlySet<string> = new Set(DATASTORE_KINDS);

/** Kinds whose list has another name than they. */
const RENAMED: Readonly<Record<string, DatastoreKind>> = { IPAMConfiguration: "IPAMConfig" };

/**
 * A resource (Calico's or Kubernetes', defaults applied) as the drivers list it. Undefined for one that has no place in
 * a list: a pod on the host's network or on no host. Never throws.
 */
export function toItem(resource: Resource, options: ConversionOptions): ConvertedItem | undefined {
  try {
    return convert(resource, options);
  } catch (error) {
    const kind = kindOf(resource);
    if (kind === undefined) return undefined;
    const { namespace = "", name } = resource.metadata;
    return {
      kind,
      namespace,
      name,
      value: undefined,
      subject: subjectOf(resource),
      issues: [errorAt("", `Cannot be converted: ${messageOf(error)}`)],
    };
  }
}

/** The list that a resource is in, where its own name is also the name in that list. */
function kindOf({ apiVersion, kind }: Resource): DatastoreKind | undefined {
  switch (apiVersion) {
    case CALICO_V3:
      return KINDS.has(kind) ? (kind as DatastoreKind) : RENAMED[kind];
    case "networking.k8s.io/v1":
      return "KubernetesNetworkPolicy";
    case "policy.networking.k8s.io/v1alpha2":
      return "KubernetesClusterNetworkPolicy";
    case "discovery.k8s.io/v1":
      return "KubernetesEndpointSlice";
    case "v1":
      return kind === "Service" ? "KubernetesService" : kind === "Node" ? "Node" : undefined;
    default:
      return undefined;
  }
}

function convert(resource: Resource, options: ConversionOptions): ConvertedItem | undefined {
  if (kindFacts(resource.apiVersion, resource.kind) === undefined) return undefined;
  const { namespace = "", name } = resource.metadata;
  const item = (
    kind: DatastoreKind,
    value: Resource | undefined,
    issues: readonly ItemIssue[] = [],
  ): ConvertedItem => ({
    kind,
    namespace,
    name: value?.metadata.name ?? name,
    value,
    issues,
    subject: subjectOf(resource),
  });
  if (resource.apiVersion === "v1") {
    switch (resource.kind) {
      case "Namespace":
        return { ...item("Profile", convertNamespace(resource)), namespace: "" };
      case "ServiceAccount":
        return { ...item("Profile", convertServiceAccount(resource)), namespace: "" };
      case "Node": {
        const node = convertKubernetesNode(resource as Parameters<typeof convertKubernetesNode>[0], options);
        return item("Node", node.resource, node.issues);
      }
      case "Pod":
        return podItem(resource as PodResource, options);
      default:
    }
  }
  const kind = kindOf(resource);
  if (kind === undefined) return undefined;
  if (kind === "KubernetesNetworkPolicy") {
    const policy = convertKubernetesPolicy(resource);
    return item(kind, policy.resource, policy.issues);
  }
  if (kind === "KubernetesClusterNetworkPolicy") {
    const policy = convertClusterNetworkPolicy(resource);
    return item(kind, policy.resource, policy.issues);
  }
  return item(kind, resource);
}

function podItem(pod: PodResource, options: ConversionOptions): ConvertedItem | undefined {
  if (!isVisiblePod(pod)) return undefined;
  const { namespace = "" } = pod.metadata;
  const { resource, issues } = convertPod(pod, options);
  return {
    kind: "WorkloadEndpoint",
    namespace,
    name: resource?.metadata.name ?? podEndpointName(pod),
    value: resource,
    issues,
    subject: subjectOf(pod),
  };
}

function subjectOf({ kind, metadata }: Resource): ItemSubject {
  return { kind, namespace: metadata.namespace ?? "", name: metadata.name };
}
