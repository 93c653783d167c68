import { CALICO_V3, type ClusterInformationSpec, isObject, type Resource } from "@bulrush/model";
import type { ResourceId } from "../driver/writer.ts";

/** The one object of its kind that counts. */
export const CLUSTER_INFORMATION_ID: ResourceId = {
  apiVersion: CALICO_V3,
  kind: "ClusterInformation",
  namespace: "",
  name: "default",
};

/** What whoever starts on a datastore has to say about the cluster. */
export interface ClusterFacts {
  /** Calico version of the one who starts; "": no word about it. */
  readonly version: string;
  /** Tokens joined by commas ("k8s,bgp"): what kind of cluster it is. */
  readonly clusterType: string;
}

/** The spec of a ClusterInformation; what is no object counts as empty. */
export function clusterInformationSpec(resource: Resource | undefined): ClusterInformationSpec {
  const spec: unknown = resource?.spec;
  return isObject(spec) ? (spec as ClusterInformationSpec) : {};
}

/**
 * The ClusterInformation that the facts make of the one that is there, or undefined if nothing is to be changed: a
 * version that is another, a GUID and a ready flag where there is none (an explicit `false` stays), and the tokens of
 * the type that are missing, after the ones that are there. Pure; `newGuid` gives 32 hex digits.
 */
export function nextClusterInformation(
  present: Resource | undefined,
  { version, clusterType }: ClusterFacts,
  newGuid: () => string,
): Resource | undefined {
  const spec = clusterInformationSpec(present);
  const type = withTokens(spec.clusterType ?? "", clusterType);
  const next: ClusterInformationSpec = {
    ...spec,
    ...(version !== "" && { calicoVersion: version }),
    ...(type !== "" && { clusterType: type }),
    ...((spec.clusterGUID ?? "") === "" && { clusterGUID: newGuid() }),
    ...(typeof spec.datastoreReady !== "boolean" && { datastoreReady: true }),
  };
  const isSame = (Object.keys(next) as (keyof ClusterInformationSpec)[]).every((field) => next[field] === spec[field]);
  if (present !== undefined && isSame) return undefined;
  const { apiVersion, kind, name } = CLUSTER_INFORMATION_ID;
  return { apiVersion, kind, metadata: present?.metadata ?? { name }, spec: next };
}

/** A trailing comma goes; the order stays. */
function withTokens(type: string, added: string): string {
  const tokens = type.replace(/,+$/, "").split(",");
  for (const token of added.split(",")) if (!tokens.includes(token)) tokens.push(token);
  return tokens.filter((token) => token !== "").join(",");
}
