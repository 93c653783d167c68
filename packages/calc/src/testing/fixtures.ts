import type {
  EndpointSliceResource,
  HostEndpoint,
  Key,
  LabelMap,
  NetworkSet,
  Policy,
  PolicyKey,
  ProfileResource,
  ProfileRules,
  Rule,
  Tier,
  WorkloadEndpoint,
} from "@bulrush/model";
import { parseSelector } from "@bulrush/selector";
import { namedPortSet, type NamedPortProtocol, selectorSet, serviceSet } from "../sets/ip-set-spec.ts";
import { HOST, type KV } from "./harness.ts";

/** Builders of keys with values, with the defaults that most tests share. */

export function labelMap(labels: Readonly<Record<string, string>>): LabelMap {
  return new Map(Object.entries(labels));
}

function workloadKey(name: string, hostname: string = HOST): Extract<Key, { type: "WorkloadEndpoint" }> {
  const [workload = name, endpoint = "ep"] = name.split("/");
  return { type: "WorkloadEndpoint", hostname, orchestrator: "orch", workload, endpoint };
}

export function workload(name: string, value: Partial<WorkloadEndpoint>, hostname: string = HOST): KV {
  return {
    key: workloadKey(name, hostname),
    value: {
      state: "active",
      name: "cali1",
      profile_ids: [],
      ipv4_nets: [],
      ipv6_nets: [],
      labels: new Map(),
      ...value,
    },
  };
}

export function hostEndpoint(name: string, value: Partial<HostEndpoint>, hostname: string = HOST): KV {
  return {
    key: { type: "HostEndpoint", hostname, endpoint: name },
    value: {
      name: "eth1",
      expected_ipv4_addrs: [],
      expected_ipv6_addrs: [],
      labels: new Map(),
      profile_ids: [],
      ...value,
    },
  };
}

function policyKey(name: string, kind: PolicyKey["kind"] = "GlobalNetworkPolicy", namespace = ""): PolicyKey {
  return { type: "Policy", kind, namespace, name };
}

export function policy(name: string, value: Partial<Policy>, kind?: PolicyKey["kind"], namespace?: string): KV {
  return {
    key: policyKey(name, kind, namespace),
    value: { tier: "default", selector: "all()", inbound_rules: [], outbound_rules: [], ...value },
  };
}

export function tier(name: string, value: Partial<Tier> = {}): KV {
  return { key: { type: "Tier", name }, value: { defaultAction: "Deny", ...value } };
}

export function profileRules(name: string, inbound: readonly Rule[] = [], outbound: readonly Rule[] = []): KV {
  const value: ProfileRules = { inbound_rules: inbound, outbound_rules: outbound };
  return { key: { type: "ProfileRules", name }, value };
}

export function profileLabels(name: string, labels: Readonly<Record<string, string>>): KV {
  const value: ProfileResource = {
    apiVersion: "projectcalico.org/v3",
    kind: "Profile",
    metadata: { name },
    spec: { labelsToApply: labels },
  };
  return { key: { type: "Resource", kind: "Profile", namespace: "", name }, value };
}

export function networkSet(name: string, nets: readonly string[], labels: Readonly<Record<string, string>>): KV {
  const value: NetworkSet = { nets, labels: labelMap(labels) };
  return { key: { type: "NetworkSet", name }, value };
}

export function slice(
  name: string,
  service: string,
  addresses: readonly string[],
  ports: EndpointSliceResource["ports"] = [{ protocol: "TCP", port: 80 }],
): KV {
  const value: EndpointSliceResource = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "default", labels: { "kubernetes.io/service-name": service } },
    endpoints: [{ addresses }],
    ...(ports === undefined ? {} : { ports }),
  };
  return { key: { type: "Resource", kind: "KubernetesEndpointSlice", namespace: "default", name }, value };
}

/** Ids of IP sets by what they are made from. */
export const setId = {
  selector: (text: string): string => selectorSet(parseSelector(text)).id,
  port: (text: string, protocol: NamedPortProtocol, port: string): string =>
    namedPortSet(parseSelector(text), protocol, port).id,
  service: (name: string): string => serviceSet(name, true).id,
  serviceAddresses: (name: string): string => serviceSet(name, false).id,
};

// The endpoints that most sequences share.

const ENDPOINT_1 = {
  labels: labelMap({ id: "loc-ep-1", a: "a", b: "b" }),
  profile_ids: ["prof-1", "prof-2", "prof-missing"],
  ports: [
    { name: "tcpport", protocol: "tcp", port: 8080 },
    { name: "tcpport2", protocol: "tcp", port: 1234 },
    { name: "udpport", protocol: "udp", port: 9091 },
  ],
} as const;

export const EP1_NETS: readonly string[] = ["10.0.0.1/32", "10.0.0.2/32", "fc00:fe11::1/128", "fc00:fe11::2/128"];
export const EP2_NETS: readonly string[] = ["10.0.0.2/32", "10.0.0.3/32", "fc00:fe11::2/128", "fc00:fe11::3/128"];

export const EP1: KV = workload("wl1/ep1", {
  ...ENDPOINT_1,
  name: "cali1",
  mac: "01:02:03:04:05:06",
  ipv4_nets: EP1_NETS.slice(0, 2),
  ipv6_nets: EP1_NETS.slice(2),
});

export const EP2: KV = workload("wl2/ep2", {
  name: "cali2",
  labels: labelMap({ id: "loc-ep-2", a: "a", b: "b2" }),
  profile_ids: ["prof-2", "prof-3"],
  ipv4_nets: EP2_NETS.slice(0, 2),
  ipv6_nets: EP2_NETS.slice(2),
  ports: [
    { name: "tcpport", protocol: "tcp", port: 8080 },
    { name: "tcpport2", protocol: "tcp", port: 2345 },
    { name: "udpport", protocol: "udp", port: 9090 },
  ],
});

export const HEP1: KV = hostEndpoint("ep1", {
  ...ENDPOINT_1,
  expected_ipv4_addrs: ["10.0.0.1", "10.0.0.2"],
  expected_ipv6_addrs: ["fc00:fe11::1", "fc00:fe11::2"],
});

export const POLICY_1: KV = policy("pol-1", {
  order: 20,
  selector: "a == 'a'",
  inbound_rules: [{ src_selector: "all()" }],
  outbound_rules: [{ src_selector: "b == 'b'" }],
});

/** The two sets of POLICY_1. */
export const SET_A: string = setId.selector("all()");
export const SET_B: string = setId.selector("b == 'b'");
