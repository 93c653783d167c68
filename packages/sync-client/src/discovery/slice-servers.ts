import type { EndpointSliceResource } from "@bulrush/model";
import type { ServerAddress } from "../server-address.ts";

/** kubernetes.io: the label of the slices of a Service. */
const SERVICE_LABEL = "kubernetes.io/service-name";

/**
 * The ready endpoints of a Service, each once. An endpoint that says nothing of its readiness counts as ready
 * (discovery.k8s.io/v1: EndpointConditions). A slice of another Service, or without the port, counts for nothing.
 */
export function sliceServers(
  slices: Iterable<EndpointSliceResource>,
  { serviceName, portName }: { readonly serviceName: string; readonly portName: string },
): readonly ServerAddress[] {
  const found = new Map<string, ServerAddress>();
  for (const { metadata, endpoints = [], ports = [] } of slices) {
    if (metadata.labels?.[SERVICE_LABEL] !== serviceName) continue;
    const port = ports.find(({ name, protocol = "TCP" }) => name === portName && protocol === "TCP")?.port;
    if (port === undefined) continue;
    for (const { addresses = [], conditions = {}, nodeName } of endpoints) {
      if (conditions.ready === false) continue;
      for (const host of addresses)
        found.set(`${host} ${port}`, { host, port, ...(nodeName !== undefined && { nodeName }) });
    }
  }
  return [...found.values()];
}
