import { CALICO_V3, kindFacts } from "@bulrush/model";
import type { ResourceType } from "../../driver/writer.ts";
import { DatastoreError } from "../../errors.ts";
import type { CalicoGroupVersion } from "../kubernetes-config.ts";

/** Where the resources of a type are stored, and how. */
export interface WriteTarget {
  /** Group, version and kind of the stored objects. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** In Calico's older group, with the user's metadata in an annotation. */
  readonly isCrd: boolean;
  /** The status is written beside the rest. */
  readonly hasStatus: boolean;
}

/** What only a conversion makes: it can be watched, and has no place of its own to be written to. */
const DERIVED: ReadonlySet<string> = new Set(["WorkloadEndpoint", "Profile", "LiveMigration"]);

/** Kinds with a status subresource, by group and version as their authors write them. */
const WITH_STATUS: ReadonlySet<string> = new Set([
  ...["CalicoNodeStatus", "IPPool", "KubeControllersConfiguration", "Tier"].map((kind) => `${CALICO_V3} ${kind}`),
  "v1 Node",
  "v1 Pod",
  "v1 Service",
  "policy.networking.k8s.io/v1alpha2 ClusterNetworkPolicy",
]);

/** The v3 Node is a view on the Kubernetes one. */
export function isCalicoNode({ apiVersion, kind }: ResourceType): boolean {
  return apiVersion === CALICO_V3 && kind === "Node";
}

/** @throws DatastoreError DATASTORE_NOT_SUPPORTED for a type that has no place in the API server. */
export function writeTargetOf(type: ResourceType, group: CalicoGroupVersion): WriteTarget {
  const { apiVersion, kind } = type;
  const facts = kindFacts(apiVersion, kind);
  if (facts === undefined || (apiVersion === CALICO_V3 && DERIVED.has(kind))) throw notSupported(type);
  const { namespaced } = facts;
  if (isCalicoNode(type))
    return { apiVersion: "v1", kind, plural: "nodes", namespaced, isCrd: false, hasStatus: false };
  const hasStatus = WITH_STATUS.has(`${facts.apiVersion} ${kind}`);
  if (facts.apiVersion !== CALICO_V3)
    return { apiVersion, kind, plural: facts.plural, namespaced, isCrd: false, hasStatus };
  const isCrd = group !== CALICO_V3;
  const stored = storedKind(kind, isCrd);
  return {
    apiVersion: group,
    kind: stored,
    plural: kindFacts(CALICO_V3, stored)?.plural ?? facts.plural,
    namespaced,
    isCrd,
    hasStatus,
  };
}

/** The one kind that the groups name differently. */
function storedKind(kind: string, isCrd: boolean): string {
  if (kind !== "IPAMConfig" && kind !== "IPAMConfiguration") return kind;
  return isCrd ? "IPAMConfig" : "IPAMConfiguration";
}

export function notSupported({ apiVersion, kind }: ResourceType, what = "written or read by name"): DatastoreError {
  const message = `A ${kind} of ${apiVersion} cannot be ${what} in a Kubernetes datastore`;
  return new DatastoreError(message, { code: "DATASTORE_NOT_SUPPORTED", data: { apiVersion, kind } });
}
