import type { Container, KubernetesNodeSpec, KubernetesNodeStatus, PodSpec, PodStatus } from "@bulrush/model";
import { ALL, allBut, NOTHING, only, type Shape } from "../../json/shape.ts";

/** Who set which field: often half of an object, and of use to no conversion. */
const METADATA: Shape = allBut({ managedFields: NOTHING });

const CONTAINER: Shape = only<Container>({ name: NOTHING, ports: ALL });

/** Of the 7 KB of a pod 1.3 KB are of use. */
const POD: Shape = allBut({
  metadata: allBut({ managedFields: NOTHING, ownerReferences: NOTHING }),
  spec: only<PodSpec>({
    nodeName: ALL,
    hostNetwork: ALL,
    serviceAccountName: ALL,
    containers: CONTAINER,
    initContainers: CONTAINER,
  }),
  status: only<PodStatus>({ phase: ALL, podIP: ALL, podIPs: ALL }),
});

/** A node says which images it has, and every few minutes how it is. */
const NODE: Shape = allBut({
  metadata: METADATA,
  spec: only<KubernetesNodeSpec>({ podCIDR: ALL, podCIDRs: ALL }),
  status: only<KubernetesNodeStatus>({ addresses: ALL }),
});

/**
 * What a conversion reads of an object of the API server: the rest need not be parsed. Fields beside metadata, spec and
 * status are always among it, so that whatever comes in place of an object can be read too (the Status of an error).
 */
export function neededFields({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): Shape {
  if (apiVersion === "v1" && kind === "Pod") return POD;
  if (apiVersion === "v1" && kind === "Node") return NODE;
  return allBut({ metadata: METADATA });
}

/** Of a list of such objects. */
export function listOf(object: Shape): Shape {
  return allBut({ items: object });
}

/** Of an event of a watch. */
export function eventOf(object: Shape): Shape {
  return allBut({ object });
}
