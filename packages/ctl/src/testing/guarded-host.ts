import type { Resource } from "@bulrush/model";

/** Gives numbers in [0, 1). */
type Random = () => number;

/** The ends of flows: this host and its pods, and others. */
export const ADDRESSES = {
  host: "192.168.0.1",
  "x/a": "10.0.0.1",
  "x/b": "10.0.0.2",
  "x/far": "10.0.1.1",
  other: "192.168.0.2",
  outside: "8.8.8.8",
} as const;

export type End = keyof typeof ADDRESSES;

/** What host endpoints the host has. */
export const GUARDS = ["none", "of eth0", "of all interfaces", "both"] as const;

export type Guard = (typeof GUARDS)[number];

const CALICO = "projectcalico.org/v3";

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

function node(name: string, address: string): Resource {
  const status = { addresses: [{ type: "InternalIP", address }] };
  return { apiVersion: "v1", kind: "Node", metadata: { name }, status };
}

function pod(end: "x/a" | "x/b" | "x/far", nodeName: string): Resource {
  const name = end.slice(2);
  const ip = ADDRESSES[end];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "x", labels: { app: name, ...(nodeName === "host" && { kind: "pod" }) } },
    spec: { nodeName, containers: [{ name: "c" }] },
    status: { phase: "Running", podIP: ip, podIPs: [{ ip }] },
  };
}

function hostEndpoint(random: Random, interfaceName: string): Resource {
  const name = interfaceName === "*" ? "all" : interfaceName;
  return {
    apiVersion: CALICO,
    kind: "HostEndpoint",
    metadata: { name, labels: { hep: name, kind: "host" } },
    spec: {
      node: "host",
      interfaceName,
      // Of two endpoints the one with the address is taken to be passed, which is the one with the name.
      ...(interfaceName !== "*" && { expectedIPs: [ADDRESSES.host] }),
      profiles: random() < 0.5 ? ["projectcalico-default-allow"] : [],
    },
  };
}

const NETS = ["8.0.0.0/8", "10.0.0.0/24", "10.0.0.1/32", "192.168.0.0/24", "10.0.1.1/32"];
const PEERS = ["app == 'a'", "kind == 'pod'", "set == 's'", "kind == 'host'", "app in {'b', 'far'}"];

function rule(random: Random): object {
  const sides: Record<"source" | "destination", Record<string, unknown>> = { source: {}, destination: {} };
  const set = (name: string, value: unknown): void => {
    sides[pick(random, ["source", "destination"] as const)][
      random() < 0.3 ? `not${name[0]?.toUpperCase()}${name.slice(1)}` : name
    ] = value;
  };
  const protocol = random() < 0.5 ? pick(random, ["TCP", "UDP", "SCTP"]) : undefined;
  if (protocol !== undefined && random() < 0.6)
    set("ports", [pick(random, [80, "80:90", 443]), pick(random, [22, 53])]);
  if (random() < 0.4) set("nets", [pick(random, NETS)]);
  if (random() < 0.4) set("selector", pick(random, PEERS));
  return {
    action: pick(random, ["Allow", "Allow", "Deny", "Pass", "Log"]),
    ...(protocol !== undefined && { protocol }),
    ...sides,
  };
}

function rules(random: Random): object[] {
  return Array.from({ length: Math.floor(random() * 4) }, () => rule(random));
}

function policy(random: Random, name: string): Resource {
  const kind = pick(random, [undefined, undefined, "doNotTrack", "preDNAT", "applyOnForward", "applyOnForward"]);
  const isIngress = kind === "preDNAT";
  return {
    apiVersion: CALICO,
    kind: random() < 0.1 ? "StagedGlobalNetworkPolicy" : "GlobalNetworkPolicy",
    metadata: { name },
    spec: {
      tier: pick(random, ["default", "first", "second"]),
      order: pick(random, [1, 5, null]),
      selector: pick(random, ["kind == 'host'", "kind == 'host'", "hep == 'all'", "app == 'a'", "kind == 'pod'"]),
      types: isIngress ? ["Ingress"] : pick(random, [["Ingress"], ["Egress"], ["Ingress", "Egress"]]),
      ingress: rules(random),
      egress: isIngress ? [] : rules(random),
      ...(kind !== undefined && { applyOnForward: true, [kind]: true }),
    },
  };
}

/** A host "host" of two pods under random policy of every kind, and somebody outside of it that no policy is for. */
export function guardedHost(random: Random, guard: Guard): Resource[] {
  const named = guard === "of eth0" || guard === "both" ? [hostEndpoint(random, "eth0")] : [];
  const wildcard = guard === "of all interfaces" || guard === "both" ? [hostEndpoint(random, "*")] : [];
  const tier = (name: string, order: number): Resource => ({
    apiVersion: CALICO,
    kind: "Tier",
    metadata: { name },
    spec: { order, defaultAction: pick(random, ["Deny", "Pass"]) },
  });
  const policies = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, i) => policy(random, `p${i}`));
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "x" } },
    node("host", ADDRESSES.host),
    node("other", ADDRESSES.other),
    pod("x/a", "host"),
    pod("x/b", "host"),
    pod("x/far", "other"),
    {
      apiVersion: CALICO,
      kind: "GlobalNetworkSet",
      metadata: { name: "s", labels: { set: "s" } },
      spec: { nets: ["8.8.0.0/16", "10.0.1.0/24"] },
    },
    ...named,
    ...wildcard,
    tier("first", 1),
    tier("second", 2),
    ...policies,
  ];
}
