import { nearestName } from "@bulrush/base";
import type { EndpointSliceResource, ServiceResource, Update } from "@bulrush/model";
import type { FlowText } from "./parse-flow.ts";

const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

/** What a flow stands for: itself, or the flows to the backends of `service`; or why there are none. */
type FlowTargets = { readonly service?: string; readonly flows: readonly FlowText[] } | { readonly problem: string };

/**
 * A flow to `service:NAMESPACE/NAME` stands for what a connection to the service may become: a flow to each address of
 * its endpoint slices, on the port that the service's port stands for. Policy for pods sees those.
 */
export function targetsOf(updates: readonly Update[], flow: FlowText): FlowTargets {
  const [, service] = /^service:(.*)$/.exec(typeof flow.to === "string" ? flow.to : "") ?? [];
  if (service === undefined) return { flows: [flow] };
  const flows = backendFlows(updates, service, flow);
  return typeof flows === "string" ? { problem: flows } : { service, flows };
}

function backendFlows(updates: readonly Update[], service: string, flow: FlowText): readonly FlowText[] | string {
  const values = (kind: string): unknown[] =>
    updates.flatMap(({ key, value }) => (key.type === "Resource" && key.kind === kind && value ? [value] : []));
  const found = (values("KubernetesService") as ServiceResource[]).find(({ metadata }) => nameOf(metadata) === service);
  if (found === undefined) {
    const near = nearestName(
      service,
      (values("KubernetesService") as ServiceResource[]).map(({ metadata }) => nameOf(metadata)),
    );
    return `Unknown service "${service}"${near === undefined ? "" : `; did you mean "${near}"?`}`;
  }
  const protocol = String(flow.protocol).toUpperCase();
  const ports = found.spec?.ports ?? [];
  const port = ports.find((one) => String(one.port) === String(flow.port) && (one.protocol ?? "TCP") === protocol);
  if (port === undefined) {
    const known = ports.map((one) => `${one.protocol ?? "TCP"} ${one.port}`).join(", ");
    const asked = flow.port === undefined ? "(none given)" : String(flow.port as string | number);
    return `Service "${service}" has no port ${protocol} ${asked}; it has ${known || "none"}`;
  }
  const flows = new Map<string, FlowText>();
  for (const slice of values("KubernetesEndpointSlice") as EndpointSliceResource[]) {
    if (`${slice.metadata.namespace ?? ""}/${slice.metadata.labels?.[SERVICE_NAME_LABEL] ?? ""}` !== service) continue;
    for (const target of slice.ports ?? []) {
      if ((target.name ?? "") !== (port.name ?? "") || (target.protocol ?? "TCP") !== protocol) continue;
      for (const { addresses } of slice.endpoints ?? [])
        for (const to of addresses ?? []) flows.set(`${to} ${target.port}`, { ...flow, to, port: target.port });
    }
  }
  if (flows.size === 0) return `No EndpointSlice gives service "${service}" a backend on this port`;
  return [...flows.values()];
}

function nameOf(metadata: ServiceResource["metadata"]): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
