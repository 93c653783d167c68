import type { EndpointPort, HostEndpoint, NetworkSet, QoSControls, WorkloadEndpoint } from "@bulrush/model";
import { HOST, type KV } from "../harness.ts";
import type { Dice } from "./dice.ts";
import { NAMESPACES, NETS, PORT_NAMES, PORT_NUMBERS } from "./random-rule.ts";
import { LABEL_NAMES, LABEL_VALUES } from "./random-selector.ts";

export const HOSTS: readonly string[] = [HOST, "other-1", "other-2"];
export const PROFILES = ["prof-1", "prof-2", "kns.ns1", "ksa.ns1.sa1", "ksa.ns1", "kns."] as const;
export const V4 = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.9", "10.0.1.1"] as const;
export const V6 = ["fd00::1", "fd00::2", "fd00:1::1"] as const;

export function randomLabels(d: Dice): Map<string, string> {
  const labels = new Map(d.some(LABEL_NAMES, 3).map((name) => [name, d.pick(LABEL_VALUES)]));
  return d.chance(0.1) ? labels.set("__proto__", d.pick(LABEL_VALUES)) : labels;
}

function randomPorts(d: Dice): EndpointPort[] {
  return d.many(3, () => ({
    name: d.pick(PORT_NAMES),
    protocol: d.pick(["tcp", "udp", "sctp"]),
    port: d.pick(PORT_NUMBERS),
  }));
}

function randomQoS(d: Dice): QoSControls {
  return {
    ...(d.chance(0.4) && { ingressBandwidth: 1000 }),
    ...(d.chance(0.4) && { egressBandwidth: 2000 }),
    ...(d.chance(0.3) && { ingressPacketRate: 10 }),
    ...(d.chance(0.3) && { egressPacketRate: 20 }),
    ...(d.chance(0.3) && { egressMaxConnections: 30 }),
    ...(d.chance(0.4) && { dscp: d.pick([0, 46]) }),
  };
}

export function randomWorkload(d: Dice): KV {
  const orchestrator = d.pick(["k8s", "k8s", "orch"]);
  const namespace = d.pick(NAMESPACES);
  const value: WorkloadEndpoint = {
    state: d.chance(0.95) ? "active" : "inactive",
    name: d.pick(["cali1", "cali2"]),
    profile_ids: d.some(PROFILES, 3),
    ipv4_nets: d.some(V4, 2).map((ip) => `${ip}/32`),
    ipv6_nets: d.some(V6, 1).map((ip) => `${ip}/128`),
    labels: new Map([
      ...randomLabels(d),
      ...(orchestrator === "k8s" ? [["projectcalico.org/orchestrator", "k8s"] as const] : []),
      ...(d.chance(0.7) ? [["projectcalico.org/namespace", namespace] as const] : []),
      ...(d.chance(0.15) ? [["kubevirt.io", d.pick(["virt-launcher", "other"])] as const] : []),
      ...(d.chance(0.1) ? [[d.pick(["vmi.kubevirt.io/id", "vm.kubevirt.io/name"]), "vm-1"] as const] : []),
      ...(d.chance(0.2) ? [["istio.io/dataplane-mode", d.pick(["ambient", "none"])] as const] : []),
    ]),
    ...(d.chance(0.3) && { mac: d.pick(["ee:ee:ee:ee:ee:ee", null, ""]) }),
    ...(d.chance(0.2) && { active_instance_id: "instance" }),
    ...(d.chance(0.2) && { ipv4_nat: [{ int_ip: d.pick(V4), ext_ip: "172.16.0.1" }] }),
    ...(d.chance(0.2) && { ipv6_nat: [{ int_ip: d.pick(V6), ext_ip: "fd01::1" }] }),
    ...(d.chance(0.1) && { ipv4_gateway: "10.0.0.254" }),
    ...(d.chance(0.1) && { ipv6_gateway: "fd00::ff" }),
    ...(d.chance(0.6) && { ports: randomPorts(d) }),
    ...(d.chance(0.1) && { generate_name: "pod-" }),
    ...(d.chance(0.2) && { allow_spoofed_source_ips: d.some(NETS, 2) }),
    ...(d.chance(0.2) && { annotations: new Map([["note", d.pick(["a", "b"])]]) }),
    ...(d.chance(0.3) && { qosControls: randomQoS(d) }),
  };
  const workload = orchestrator === "k8s" ? `${namespace}/pod-${d.below(3)}` : `wl-${d.below(2)}`;
  const hostname = d.chance(0.6) ? HOST : d.pick(HOSTS);
  return { key: { type: "WorkloadEndpoint", hostname, orchestrator, workload, endpoint: "eth0" }, value };
}

export function randomHostEndpoint(d: Dice): KV {
  const value: HostEndpoint = {
    name: d.pick(["eth0", "*", ""]),
    expected_ipv4_addrs: d.some([...V4, "192.168.0.1"], 2),
    expected_ipv6_addrs: d.some(V6, 1),
    labels: randomLabels(d),
    profile_ids: d.some(PROFILES, 2),
    ...(d.chance(0.5) && { ports: randomPorts(d) }),
    ...(d.chance(0.2) && { qosControls: d.chance(0.8) ? { dscp: d.pick([0, 46]) } : {} }),
  };
  return { key: { type: "HostEndpoint", hostname: d.pick(HOSTS), endpoint: `hep-${d.below(2)}` }, value };
}

export function randomNetworkSet(d: Dice): KV {
  const value: NetworkSet = {
    // Host bits are there on purpose: members are masked.
    nets: d.some([...NETS, "10.0.0.7/30", "10.0.0.2", "192.168.0.1/32", "FD00:0::2/128"], 4),
    labels: randomLabels(d),
    ...(d.chance(0.5) && { profile_ids: d.some(PROFILES, 2) }),
  };
  return { key: { type: "NetworkSet", name: d.pick(["set-1", "set-2", "ns1/set-1"]) }, value };
}
