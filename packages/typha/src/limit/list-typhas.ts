import type { DatastoreWriter } from "@bulrush/datastore";
import type { EndpointSliceResource } from "@bulrush/model";
import { type TyphaEndpoint, typhaEndpoints } from "./typha-endpoints.ts";

/** The Service that clients find the servers by. */
export interface TyphaService {
  readonly namespace: string;
  readonly serviceName: string;
  readonly portName: string;
}

/**
 * The ready servers of the Service, read anew from the Kubernetes API.
 *
 * @throws DatastoreError as the reader does; no Service is no error, but no servers.
 */
export async function listTyphas(
  reader: Pick<DatastoreWriter, "list">,
  { namespace, ...wanted }: TyphaService,
  signal: AbortSignal,
): Promise<readonly TyphaEndpoint[]> {
  const slices: EndpointSliceResource[] = [];
  const request = { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", namespace };
  for await (const page of reader.list(request, signal))
    for (const { resource } of page) slices.push(resource as EndpointSliceResource);
  return typhaEndpoints(slices, wanted);
}
