import type { Resource } from "@bulrush/model";
import { ODD, type OddValues } from "./odd-values.ts";

/** Gives numbers in [0, 1). */
type Random = () => number;

const CALICO = "projectcalico.org/v3";

/** Resources for a host "host" whose fields hold what nobody expects: of any number, length and spelling. */
export function oddHost(random: Random): Resource[] {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = <T>(count: number, make: (i: number) => T): T[] =>
    Array.from({ length: Math.floor(random() * (count + 1)) }, (_, i) => make(i));
  /** With the chance of each field: whether it is there. */
  const fields = (made: Readonly<Record<string, readonly [chance: number, make: () => unknown]>>): object =>
    Object.fromEntries(
      Object.entries(made).flatMap(([name, [chance, make]]) => (random() < chance ? [[name, make()]] : [])),
    );
  const of = (kind: keyof OddValues) => (): unknown => pick<unknown>(ODD[kind]);
  const list = (kind: keyof OddValues, count: number) => (): unknown[] => some(count, of(kind));
  const resource = (kind: string, name: string, spec: object, metadata: object = {}, apiVersion = CALICO): Resource =>
    ({ apiVersion, kind, metadata: { name, ...metadata }, spec }) as Resource;

  const side = (): object =>
    fields({
      nets: [0.4, list("net", 3)],
      notNets: [0.2, list("net", 3)],
      ports: [0.4, list("port", 18)],
      notPorts: [0.2, list("port", 18)],
      selector: [0.3, of("selector")],
      notSelector: [0.2, of("selector")],
      namespaceSelector: [0.1, of("selector")],
      services: [0.1, () => ({ name: "s", namespace: "x" })],
    });
  const rule = (): object => ({
    action: pick(["Allow", "Deny", "Pass", "Log"]),
    ...fields({
      protocol: [0.7, of("protocol")],
      notProtocol: [0.2, of("protocol")],
      ipVersion: [0.3, () => pick([4, 6])],
      icmp: [0.2, () => ({ type: pick(ODD.number), code: pick([...ODD.number, null]) })],
      notICMP: [0.1, () => ({ type: pick(ODD.number) })],
      metadata: [0.1, () => ({ annotations: { "a b": "x".repeat(300), é: '"\n' } })],
    }),
    source: side(),
    destination: side(),
  });
  const qos = (values: readonly unknown[]): object =>
    fields(
      Object.fromEntries(
        ["ingressPacketRate", "egressPacketRate", "ingressPacketBurst", "ingressMaxConnections", "dscp"].map((name) => [
          name,
          [0.4, () => pick(values)],
        ]),
      ),
    );
  const workload = (i: number): Resource =>
    resource(
      "WorkloadEndpoint",
      `host-k8s-p${i}-eth0`,
      {
        node: "host",
        orchestrator: "k8s",
        pod: `p${i}`,
        endpoint: "eth0",
        interfaceName: pick(ODD.interfaceName),
        ipNetworks: some(3, of("address")),
        ports: [{ name: pick(ODD.name), port: pick(ODD.number), protocol: pick(ODD.protocol) }].filter(
          () => random() < 0.2,
        ),
        ...fields({
          mac: [0.3, () => pick(["", "aa:bb:cc:dd:ee:ff", "AA-BB-CC-DD-EE-FF", "x"])],
          qosControls: [0.6, () => qos(ODD.number)],
          allowSpoofedSourcePrefixes: [0.2, list("net", 2)],
          ipNATs: [0.3, () => [{ internalIP: "10.0.0.1", externalIP: pick(["1.1.1.1", "::2", "0.0.0.0"]) }]],
        }),
      },
      { namespace: "x", labels: { app: pick(["a", "b"]) } },
    );
  const pod = (i: number): Resource => {
    const controls = Object.entries(qos(ODD.quantity)).map(([name, value]) => [`qos.projectcalico.org/${name}`, value]);
    const address = pick(["10.0.0.1", "10.0.0.3", "fd00::1", "0.0.0.0", "::", "x"]);
    return {
      ...resource(
        "Pod",
        pick([`a${i}`, `b-${"x".repeat(60)}`, "e.f"]),
        { nodeName: "host", containers: [{ name: "c", ports: [{ name: "named", containerPort: pick(ODD.number) }] }] },
        { namespace: "x", labels: { app: "a" }, annotations: Object.fromEntries(controls) },
        "v1",
      ),
      status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
    };
  };
  const hostEndpoint = (i: number): Resource =>
    resource(
      "HostEndpoint",
      `h${i}`,
      { node: "host", interfaceName: pick(ODD.interfaceName), expectedIPs: pick([[], ["10.0.0.9"]]) },
      { labels: { app: "a" }, annotations: { "qos.projectcalico.org/dscp": pick(ODD.quantity) } },
    );
  const policy = (i: number): Resource => {
    const isGlobal = random() < 0.7;
    const kind = isGlobal ? pick([undefined, "doNotTrack", "preDNAT", "applyOnForward"]) : undefined;
    const isIngress = kind === "preDNAT";
    return resource(
      isGlobal ? "GlobalNetworkPolicy" : "NetworkPolicy",
      `${pick(ODD.name)}${i}`,
      {
        tier: pick(["default", "first", "nowhere"]),
        order: pick([...ODD.number, null]),
        selector: pick(ODD.selector),
        types: isIngress ? ["Ingress"] : ["Ingress", "Egress"],
        ingress: some(4, rule),
        egress: isIngress ? [] : some(3, rule),
        ...(kind !== undefined && { applyOnForward: true, [kind]: true }),
      },
      isGlobal ? {} : { namespace: "x" },
    );
  };
  return [
    resource("Namespace", "x", {}, {}, "v1"),
    resource("Tier", "first", { order: pick(ODD.number), defaultAction: pick(["Deny", "Pass"]) }),
    resource("GlobalNetworkSet", "s", { nets: some(6, of("net")) }, { labels: { app: "a" } }),
    resource("IPPool", "pool", { cidr: pick(ODD.net), natOutgoing: true, vxlanMode: "Always" }),
    resource("BGPConfiguration", "default", { serviceClusterIPs: some(3, () => ({ cidr: pick(ODD.net) })) }),
    ...some(5, workload),
    ...some(4, pod),
    ...some(3, hostEndpoint),
    ...some(6, policy),
  ];
}
