import type { EndpointSliceResource, ServiceResource, Update } from "@bulrush/model";
import { inputError } from "../errors.ts";
import type { FlowText } from "./parse-flow.ts";

const SERVICE_NAME_LABEL = "kubernetes.io/service-name";

/**
 * The flows that a connection to a service may become: one to each address of its endpoint slices, on the port that the
 * service's port stands for. Policy for pods sees those.
 *
 * @throws CtlError CTL_INPUT when there is no such service, port or backend.
 */
export function backendFlows(updates: readonly Update[], service: string, flow: FlowText): readonly FlowText[] {
  const values = (kind: string): unknown[] =>
    updates.flatMap(({ key, value }) => (key.type === "Resource" && key.kind === kind && value ? [value] : []));
  const found = (values("KubernetesService") as ServiceResource[]).find(({ metadata }) => nameOf(metadata) === service);
  if (found === undefined) throw inputError(`Unknown service "${service}"`);
  const protocol = String(flow.protocol).toUpperCase();
  const ports = found.spec?.ports ?? [];
  const port = ports.find((one) => String(one.port) === String(flow.port) && (one.protocol ?? "TCP") === protocol);
  if (port === undefined) {
    const known = ports.map((one) => `${one.protocol ?? "TCP"} ${one.port}`).join(", ");
    throw inputError(
      `Service "${service}" has no port ${protocol} ${flow.port === undefined ? "(none given)" : JSON.stringify(flow.port)}; it has ${known || "none"}`,
    );
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
  if (flows.size === 0) throw inputError(`No EndpointSlice gives service "${service}" a backend on this port`);
  return [...flows.values()];
}

function nameOf(metadata: ServiceResource["metadata"]): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
