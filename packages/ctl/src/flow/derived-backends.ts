import {
  type EndpointSliceResource,
  formatKey,
  isObject,
  type Key,
  type PodResource,
  type Resource,
  type ServiceResource,
  type Update,
} from "@bulrush/model";

const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

/** Endpoint slices that a cluster would make, and of which services. */
export interface DerivedBackends {
  readonly updates: readonly Update[];
  /** `namespace/name`. */
  readonly services: ReadonlySet<string>;
}

/**
 * The backends of services whose manifests have no EndpointSlice, since a cluster makes those by itself: the pods with
 * the labels that the service selects. For finding where a flow to a service goes; policy never sees them.
 */
export function derivedBackends(resources: readonly Resource[]): DerivedBackends {
  const pods = resources.filter(({ apiVersion, kind }) => apiVersion === "v1" && kind === "Pod") as PodResource[];
  const known = new Set(
    resources.flatMap(({ kind, metadata }) =>
      kind === "EndpointSlice" ? [`${namespaceOf(metadata)}/${metadata.labels?.[SERVICE_NAME_LABEL] ?? ""}`] : [],
    ),
  );
  const updates: Update[] = [];
  const services = new Set<string>();
  for (const service of resources.filter(({ kind }) => kind === "Service") as ServiceResource[]) {
    const name = `${namespaceOf(service.metadata)}/${service.metadata.name}`;
    const selector = Object.entries(service.spec?.selector ?? {});
    if (known.has(name) || selector.length === 0) continue;
    const own = pods.filter(
      ({ metadata }) =>
        namespaceOf(metadata) === namespaceOf(service.metadata) &&
        selector.every(([label, value]) => metadata.labels?.[label] === value),
    );
    const slices = own.map((pod) => sliceOf(service, pod)).filter((slice) => slice !== undefined);
    if (slices.length === 0) continue;
    services.add(name);
    updates.push(...slices.map(updateOf));
  }
  return { updates, services };
}

/** One for each pod: a port by name may be another number on the next one. */
function sliceOf({ metadata, spec }: ServiceResource, pod: PodResource): EndpointSliceResource | undefined {
  const { phase, podIP, podIPs } = pod.status ?? {};
  const several = listOf(podIPs).flatMap(({ ip }) => ip ?? []);
  const addresses = several.length > 0 || podIP === undefined ? several : [podIP];
  if (addresses.length === 0 || phase === "Succeeded" || phase === "Failed") return undefined;
  const ports = listOf(spec?.ports).flatMap(({ name = "", port, protocol = "TCP", targetPort }) => {
    const number = typeof targetPort === "string" ? portNamed(pod, targetPort, protocol) : (targetPort ?? port);
    return number === undefined ? [] : [{ name, protocol, port: number }];
  });
  const namespace = namespaceOf(metadata);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `${metadata.name}-${pod.metadata.name}`,
      namespace,
      labels: { [SERVICE_NAME_LABEL]: metadata.name },
    },
    endpoints: [{ addresses }],
    ports,
  };
}

function portNamed({ spec }: PodResource, wanted: string, protocol: string): number | undefined {
  const ports = listOf(spec?.containers).flatMap((container) => listOf(container.ports));
  return ports.find((port) => port.name === wanted && (port.protocol ?? "TCP") === protocol)?.containerPort;
}

/** What is no list, or no object in one, is not there: manifests may hold anything. */
function listOf<T>(value: readonly T[] | undefined): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]).filter(isObject) : [];
}

function updateOf(slice: EndpointSliceResource): Update {
  const { name, namespace = "" } = slice.metadata;
  const key: Key = { type: "Resource", kind: "KubernetesEndpointSlice", namespace, name };
  return { key, path: formatKey(key), value: slice, revision: "", type: "new" };
}

function namespaceOf({ namespace = "default" }: Resource["metadata"]): string {
  return namespace;
}
