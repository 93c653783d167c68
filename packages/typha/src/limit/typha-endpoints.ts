import type { EndpointSliceResource } from "@bulrush/model";

/** One server behind the Service. */
export interface TyphaEndpoint {
  /** The same for all addresses of one pod. */
  readonly id: string;
  /** `host:port`, IPv6 in brackets; IPv4 first, then by text. At least one. */
  readonly addresses: readonly string[];
}

/** kubernetes.io: the label of the slices of a Service. */
const SERVICE_LABEL = "kubernetes.io/service-name";

interface Target {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
}

/**
 * The ready servers of a Service, by what its EndpointSlices say: one for each pod, however many addresses and slices
 * it stands in. An endpoint that says nothing of its readiness counts as ready (discovery.k8s.io/v1:
 * EndpointConditions). Slices of other Services, and those without the port, count for nothing. In order of id.
 */
export function typhaEndpoints(
  slices: Iterable<EndpointSliceResource>,
  { serviceName, portName }: { readonly serviceName: string; readonly portName: string },
): readonly TyphaEndpoint[] {
  const found = new Map<string, Set<string>>();
  for (const { metadata, endpoints = [], ports = [] } of slices) {
    if (metadata.labels?.[SERVICE_LABEL] !== serviceName) continue;
    const port = ports.find(({ name, protocol = "TCP" }) => name === portName && protocol === "TCP")?.port;
    if (port === undefined) continue;
    for (const endpoint of endpoints) {
      const { addresses = [], conditions = {} } = endpoint;
      const [address] = addresses;
      if (address === undefined || conditions.ready === false || conditions.terminating === true) continue;
      const id = identityOf(endpoint, address);
      let all = found.get(id);
      if (all === undefined) found.set(id, (all = new Set()));
      for (const one of addresses) all.add(one.includes(":") ? `[${one}]:${port}` : `${one}:${port}`);
    }
  }
  return [...found]
    .map(([id, all]) => ({ id, addresses: [...all].toSorted(byFamily) }))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Servers are on their hosts' networks, one a node, where no pod is named. */
function identityOf(endpoint: { readonly targetRef?: Target; readonly nodeName?: string }, address: string): string {
  const { targetRef, nodeName } = endpoint;
  if (targetRef?.name !== undefined)
    return `${targetRef.kind ?? ""}/${targetRef.namespace ?? ""}/${targetRef.name}/${targetRef.uid ?? ""}`;
  return nodeName === undefined ? `address/${address}` : `node/${nodeName}`;
}

function byFamily(a: string, b: string): number {
  const [isSixA, isSixB] = [a.startsWith("["), b.startsWith("[")];
  if (isSixA !== isSixB) return isSixA ? 1 : -1;
  return a < b ? -1 : 1;
}
