import type { ServiceResource } from "@bulrush/model";
import type { ServiceUpdate } from "@bulrush/proto";

interface LoadBalancerStatus {
  readonly loadBalancer?: { readonly ingress?: readonly { readonly ip?: string }[] };
}

export function serviceMessage(namespace: string, name: string, service: ServiceResource): ServiceUpdate {
  const spec = service.spec ?? {};
  const clusterIPs = spec.clusterIPs ?? (spec.clusterIP ? [spec.clusterIP] : []);
  const status = service.status as LoadBalancerStatus | undefined;
  const ingress: string[] = [];
  for (const { ip } of status?.loadBalancer?.ingress ?? []) if (ip) ingress.push(ip);
  return {
    msg: "ServiceUpdate",
    name,
    namespace,
    type: spec.type ?? "ClusterIP",
    cluster_ips: clusterIPs,
    loadbalancer_ip: spec.loadBalancerIP ?? "",
    external_ips: spec.externalIPs ?? [],
    ports: (spec.ports ?? []).map((port) => ({
      protocol: port.protocol ?? "TCP",
      port: port.port ?? 0,
      node_port: port.nodePort ?? 0,
    })),
    loadbalancer_ingress_ips: ingress,
  };
}
