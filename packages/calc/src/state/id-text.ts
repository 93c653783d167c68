// Texts here are joined, not added up: they are keys for long, and a sum keeps all its pieces.

import type { PolicyID, WorkloadEndpointID } from "@bulrush/proto";

/** `kind/namespace/name`, or `kind/name` for a kind without namespace: unique, and what people read. */
export function policyIdText(id: { readonly kind: string; readonly namespace: string; readonly name: string }): string {
  return (id.namespace === "" ? [id.kind, id.name] : [id.kind, id.namespace, id.name]).join("/");
}

/** `orchestrator/workload/endpoint`, after `host/` where the id has a host name. */
export function workloadIdText(id: WorkloadEndpointID): string {
  const { hostname, orchestrator, workload, endpoint } = id;
  const local = [orchestrator, workload, endpoint];
  return (hostname === undefined ? local : [hostname, ...local]).join("/");
}

/** True for the kinds that are only listed, for flow logs, and never judge a packet. */
export function isStaged(id: PolicyID): boolean {
  return id.kind.startsWith("Staged");
}
