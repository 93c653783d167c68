import { nearestName } from "@bulrush/base";
import type { DataplaneState } from "@bulrush/calc";
import type { ManifestResource } from "@bulrush/datastore";
import type { PodResource } from "@bulrush/model";

/** Which names stand for a workload that a flow can start or end at. */
export interface KnownPods {
  /** Why the name cannot be used; undefined when it can. */
  problem(workload: string): string | undefined;
}

/** The workloads that the graph knows, with a good word for pods that stand in the manifests but are none. */
export function knownPods(state: DataplaneState, resources: readonly ManifestResource[]): KnownPods {
  const workloads = new Set([...state.workloadEndpoints.values()].map(({ id }) => id.workload));
  const pods = new Map<string, PodResource>();
  for (const { resource } of resources) {
    if (resource.kind !== "Pod") continue;
    pods.set(`${resource.metadata.namespace ?? "default"}/${resource.metadata.name}`, resource as PodResource);
  }
  return {
    problem(workload) {
      if (workloads.has(workload)) return undefined;
      const pod = pods.get(workload);
      if (pod !== undefined) return `Pod "${workload}" ${whyNoEndpoint(pod)}`;
      const near = nearestName(workload, [...workloads, ...pods.keys()]);
      return `Unknown pod "${workload}"${near === undefined ? "" : `; did you mean "${near}"?`}`;
    },
  };
}

function whyNoEndpoint(pod: PodResource): string {
  if (pod.spec?.hostNetwork === true) return "is on the host's network: policy for pods does not apply to it";
  const phase = pod.status?.phase;
  if (phase === "Succeeded" || phase === "Failed") return `has finished (${phase})`;
  if ((pod.spec?.nodeName ?? "") === "") return "is not scheduled to a node yet";
  if ((pod.status?.podIP ?? "") === "" && (pod.status?.podIPs ?? []).length === 0) return "has no address yet";
  return "is no workload that policy applies to";
}
