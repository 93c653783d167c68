import { nearestName } from "@bulrush/base";
import { formatAddress, parseAddress } from "@bulrush/ip";
import type { PodResource, Update } from "@bulrush/model";
import type { DataplaneState } from "../state/dataplane-state.ts";
import type { FlowEnd } from "./flow.ts";

/** Where a flow can start or end, by the names that people write. */
export interface KnownEnds {
  /** The end of this name, or why it cannot be used. `field`: where it stands, for the message. */
  find(text: string, field: string): FlowEnd | { readonly problem: string };
}

const END_FORMS = "namespace/pod nor an address";

/**
 * The ends that a graph knows: `namespace/pod`, an address, `node:NAME` for a host itself, `hostendpoint:NODE/NAME`. With
 * `podResources` there is a good word for pods that are there but are no workloads.
 */
export function knownEnds(
  state: DataplaneState,
  updates: readonly Update[],
  podResources: readonly PodResource[] = [],
): KnownEnds {
  const workloads = new Set([...state.workloadEndpoints.values()].map(({ id }) => id.workload));
  const hosts = new Set(
    updates.flatMap(({ key }) => {
      if (key.type === "HostEndpoint") return [key.hostname];
      return key.type === "Resource" && key.kind === "Node" ? [key.name] : [];
    }),
  );
  const pods = new Map<string, PodResource>();
  for (const pod of podResources) pods.set(`${pod.metadata.namespace ?? "default"}/${pod.metadata.name}`, pod);
  const unknown = (what: string, name: string, names: Iterable<string>): { readonly problem: string } => {
    const near = nearestName(name, [...names]);
    return { problem: `Unknown ${what} "${name}"${near === undefined ? "" : `; did you mean "${near}"?`}` };
  };
  return {
    find(text, field) {
      const address = parseAddress(text);
      if (address !== undefined) return { address: formatAddress(address) };
      const [, prefix, name = ""] = /^(node|hostendpoint):(.*)$/.exec(text) ?? [];
      if (prefix === "node") return hosts.has(name) ? { host: name } : unknown("node", name, hosts);
      if (prefix === "hostendpoint")
        return state.hostEndpoints.has(name)
          ? { hostEndpoint: name }
          : unknown("host endpoint", name, state.hostEndpoints.keys());
      if (!text.includes("/")) return { problem: `"${text}" (${field}) is neither ${END_FORMS}` };
      if (workloads.has(text)) return { workload: text };
      const pod = pods.get(text);
      if (pod !== undefined) return { problem: `Pod "${text}" ${whyNoEndpoint(pod)}` };
      return unknown("pod", text, [...workloads, ...pods.keys()]);
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
