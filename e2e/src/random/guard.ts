import { must } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import type { Resource } from "@bulrush/model";
import type { LabSession } from "../lab/session.ts";
import { Traffic, type TrafficFlow, type TrafficReport } from "../lab/traffic.ts";
import type { Choices } from "./choices.ts";
import { GUARDED_LABEL } from "./random-kubernetes.ts";

/**
 * A vault in the middle of the random changes, with policies of its own that come before all others: friends always
 * reach it and spies never do, whatever else changes. The networks of friends and spies come, go and overlap while
 * their pods stay what they are, so that sets of one address and sets of networks take turns in the kernel.
 *
 * Three ways of keeping spies out, a range of ports each:
 *
 *     71xx  deny spies, allow all      72xx  allow all but spies      73xx  allow friends
 */
const NAMESPACE = "guard";
const VAULT = ["10.65.9.2", "fd65::9:2"] as const;
const PEOPLE = [
  { name: "friend-near", node: "host-a", addresses: ["10.65.9.10", "fd65::9:10"], guard: "friend" },
  { name: "friend-far", node: "host-b", addresses: ["10.65.9.11", "fd65::9:11"], guard: "friend" },
  { name: "spy-near", node: "host-a", addresses: ["10.65.9.21", "fd65::9:21"], guard: "spy" },
  { name: "spy-far", node: "host-b", addresses: ["10.65.9.22", "fd65::9:22"], guard: "spy" },
] as const;
const NETS = {
  friend: ["10.65.9.10/32", "10.65.9.8/29", "10.65.9.10/31", "fd65::9:10/128", "fd65::9:10/124"],
  spy: ["10.65.9.21/32", "10.65.9.20/30", "10.65.9.16/28", "fd65::9:22/128", "fd65::9:20/124"],
} as const;
const PORTS = [7100, 7200, 7300] as const;

function pod(name: string, node: string, addresses: readonly string[], guard: string): Resource {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: NAMESPACE, name, labels: { guard } },
    spec: { nodeName: node, containers: [{ name: "main" }] },
    status: { phase: "Running", podIPs: addresses.map((ip) => ({ ip })) },
  };
}

function udp(port: number): { protocol: string; destination: { ports: string[] } } {
  return { protocol: "UDP", destination: { ports: [`${port}:${port + 99}`] } };
}

/** The vault and its people, with other networks each time. */
export function guardResources(choices: Choices): Resource[] {
  const [deny, except, only] = PORTS;
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE, labels: { [GUARDED_LABEL]: "" } } },
    pod("vault", "host-a", VAULT, "vault"),
    ...PEOPLE.map(({ name, node, addresses, guard }) => pod(name, node, addresses, guard)),
    ...(["friend", "spy"] as const).map(
      (guard): Resource => ({
        apiVersion: "projectcalico.org/v3",
        kind: "GlobalNetworkSet",
        metadata: { name: `guard-${guard}`, labels: { guard } },
        spec: { nets: choices.some(NETS[guard], 0, 3) },
      }),
    ),
    { apiVersion: "projectcalico.org/v3", kind: "Tier", metadata: { name: NAMESPACE }, spec: { order: 0 } },
    {
      apiVersion: "projectcalico.org/v3",
      kind: "GlobalNetworkPolicy",
      metadata: { name: "vault" },
      spec: {
        tier: NAMESPACE,
        selector: "guard == 'vault'",
        types: ["Ingress"],
        ingress: [
          { action: "Deny", ...udp(deny), source: { selector: "guard == 'spy'" } },
          { action: "Allow", ...udp(deny) },
          { action: "Allow", ...udp(except), source: { notSelector: "guard == 'spy'" } },
          { action: "Allow", ...udp(only), source: { selector: "guard == 'friend'" } },
        ],
      },
    },
    {
      apiVersion: "projectcalico.org/v3",
      kind: "GlobalNetworkPolicy",
      metadata: { name: "people" },
      spec: {
        tier: NAMESPACE,
        selector: "guard in {'spy', 'friend'}",
        types: ["Egress"],
        egress: [{ action: "Allow" }],
      },
    },
  ];
}

/**
 * Datagrams without end from spies by every way, and from friends by one; some over IPv4 and some over IPv6. Nobody
 * answers, so each datagram is judged anew by the rules of its moment. The caller stops the traffic.
 */
export async function startGuardTraffic(session: LabSession): Promise<Traffic> {
  const { network } = session.cluster;
  const vault = must(network.pod(`${NAMESPACE}/vault`), "the vault's pod");
  const flows = PEOPLE.flatMap(({ name, guard }, i) =>
    (guard === "spy" ? PORTS : [PORTS[i]!]).map((port): TrafficFlow => {
      const family = name.endsWith("near") ? 0 : 1;
      return {
        name: `${name} to ${port}`,
        kind: "datagrams",
        from: must(network.pod(`${NAMESPACE}/${name}`), name).namespace,
        to: vault.namespace,
        address: must(parseAddress(VAULT[family]), "an address"),
        port: port + i,
      };
    }),
  );
  const traffic = new Traffic(flows);
  await traffic.start(flows.filter(({ name }) => name.startsWith("friend")).map(({ name }) => name));
  traffic.reset();
  return traffic;
}

/** Datagrams that may be under way while the counts are read. */
const UNDER_WAY = 4;

/** What went wrong by these counts, in words: a spy that got through, a friend who did not. */
export function guardFailures(reports: readonly TrafficReport[]): string[] {
  return reports.flatMap(({ name, sent, delivered }) => {
    if (name.startsWith("spy"))
      return delivered === 0 ? [] : [`${delivered} of ${sent} datagrams of ${name} got through`];
    return sent - delivered <= UNDER_WAY ? [] : [`${sent - delivered} of ${sent} datagrams of ${name} were lost`];
  });
}
