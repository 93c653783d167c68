import type { EndpointSliceResource, Resource, ResourceKind } from "@bulrush/model";
import type { KV } from "../harness.ts";
import type { Dice } from "./dice.ts";
import { HOSTS, PROFILES, randomLabels, randomWorkload, V4, V6 } from "./random-endpoint.ts";
import { NAMESPACES, PORT_NUMBERS, SERVICES } from "./random-rule.ts";
import { LABEL_NAMES, LABEL_VALUES, randomSelector } from "./random-selector.ts";

const CALICO = "projectcalico.org/v3";

function resource(kind: ResourceKind, namespace: string, value: Resource): KV {
  return { key: { type: "Resource", kind, namespace, name: value.metadata.name }, value };
}

/** A v3 profile: where endpoints and network sets get labels from. */
export function randomProfile(d: Dice): KV {
  const names = [...LABEL_NAMES, "pcns.env", "pcsa.role", "pcns.istio.io/dataplane-mode"];
  const labelsToApply = Object.fromEntries(
    d.some(names, 4).map((name) => [name, name.endsWith("mode") ? "ambient" : d.pick(LABEL_VALUES)]),
  );
  const spec = d.chance(0.9) ? { labelsToApply } : {};
  return resource("Profile", "", { apiVersion: CALICO, kind: "Profile", metadata: { name: d.pick(PROFILES) }, spec });
}

/** Labels of a profile in the old form: of no effect beside the v3 profile. */
export function randomProfileLabels(d: Dice): KV {
  return { key: { type: "ProfileLabels", name: d.pick(PROFILES) }, value: randomLabels(d) };
}

const ADDRESS_TYPES = [
  ["IPv4", V4],
  ["IPv4", V4],
  ["IPv6", V6],
  ["FQDN", ["name.example"]],
] as const;

export function randomSlice(d: Dice): KV {
  const namespace = d.pick(NAMESPACES);
  const [addressType, addresses] = d.pick(ADDRESS_TYPES);
  const slice: EndpointSliceResource = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `slice-${d.below(2)}`,
      namespace,
      labels: d.chance(0.95) ? { "kubernetes.io/service-name": d.pick(SERVICES) } : {},
    },
    addressType,
    endpoints: d.many(2, () => ({
      addresses: d.some(addresses, 2),
      conditions: { ready: d.chance(0.5) },
    })),
    ports: d.many(2, () => ({
      ...(d.chance(0.9) && { port: d.pick(PORT_NUMBERS) }),
      ...(d.chance(0.8) && { protocol: d.pick(["TCP", "UDP", "SCTP"]) }),
    })),
  };
  return resource("KubernetesEndpointSlice", namespace, slice);
}

export function randomService(d: Dice): KV {
  const namespace = d.pick(NAMESPACES);
  const clusterIPs = d.some(["10.96.0.1", "fd01::1"]);
  const value = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: d.pick(SERVICES), namespace },
    spec: {
      type: d.pick(["ClusterIP", "LoadBalancer"]),
      ...(clusterIPs.length > 0 && { clusterIP: clusterIPs[0], clusterIPs }),
      ...(d.chance(0.4) && { externalIPs: ["172.16.0.9"] }),
      ...(d.chance(0.4) && { loadBalancerIP: "172.16.0.10" }),
      ports: d.many(2, () => ({ protocol: d.pick(["TCP", "UDP"]), port: d.pick(PORT_NUMBERS), nodePort: 30_000 })),
    },
    status: { loadBalancer: { ingress: d.some([{ ip: "172.16.0.11" }]) } },
  };
  return resource("KubernetesService", namespace, value);
}

export function randomBgpPeer(d: Dice): KV {
  // There global() has no place.
  const nodeSelector = (): string => randomSelector(d, 1).replaceAll("global()", "all()");
  const spec = {
    ...d.pick([{ node: d.pick(HOSTS) }, { nodeSelector: nodeSelector() }]),
    ...(d.chance(0.9) && { localWorkloadSelector: d.pick(["", nodeSelector(), "all()"]) }),
    asNumber: 64_512,
  };
  const metadata = { name: d.pick(["peer-1", "peer-2"]) };
  return resource("BGPPeer", "", { apiVersion: CALICO, kind: "BGPPeer", metadata, spec });
}

export function randomMigration(d: Dice): KV {
  const identifier = (withEndpoint: boolean): object => {
    const { key } = randomWorkload(d);
    if (key.type !== "WorkloadEndpoint") throw new Error("not a workload");
    return {
      Hostname: d.pick([key.hostname, "other"]),
      OrchestratorID: key.orchestrator,
      WorkloadID: key.workload,
      ...(withEndpoint && { EndpointID: d.pick([key.endpoint, "eth1"]) }),
    };
  };
  const spec = {
    ...(d.chance(0.7) && {
      Source: d.pick([{ Workload: identifier(false) }, { WorkloadEndpoint: identifier(true) }]),
    }),
    ...(d.chance(0.7) && {
      Target: d.pick([
        { Selector: randomSelector(d, 1).replaceAll("global()", "all()") },
        { WorkloadEndpoint: identifier(true) },
      ]),
    }),
  };
  const metadata = { name: d.pick(["m1", "m2", "m3"]), namespace: "ns1", uid: d.pick(["u1", "u2", "u3"]) };
  return resource("LiveMigration", "ns1", { apiVersion: CALICO, kind: "LiveMigration", metadata, spec });
}

export function randomBgpConfig(d: Dice): KV {
  const cidrs = (): { cidr: string }[] => d.some(["10.96.0.0/12", "", "fd01::/64"]).map((cidr) => ({ cidr }));
  const spec = {
    ...(d.chance(0.6) && { serviceClusterIPs: cidrs() }),
    ...(d.chance(0.6) && { serviceExternalIPs: cidrs() }),
    ...(d.chance(0.6) && { serviceLoadBalancerIPs: cidrs() }),
    ...(d.chance(0.3) && { localWorkloadPeeringIPV4: "10.0.0.9" }),
    ...(d.chance(0.3) && { localWorkloadPeeringIPV6: "fd00::9" }),
  };
  const metadata = { name: d.pick(["default", "node.other-1"]) };
  return resource("BGPConfiguration", "", { apiVersion: CALICO, kind: "BGPConfiguration", metadata, spec });
}

export function randomFelixConfig(d: Dice): KV {
  const metadata = {
    name: d.pick(["config-1", "config-2"]),
    creationTimestamp: d.pick(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]),
  };
  const nodeSelector = d.chance(0.9) ? randomSelector(d, 1).replaceAll("global()", "all()") : "";
  const spec = { nodeSelector, ...(d.chance(0.5) && { mtu: d.pick(["d", "e"]) }) };
  return resource("FelixConfiguration", "", { apiVersion: CALICO, kind: "FelixConfiguration", metadata, spec });
}
