import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { openNftConnection } from "@bulrush/nftables";
import type { LabNetwork } from "../lab/network.ts";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { Traffic, type TrafficFlow, type TrafficKind, type TrafficReport } from "../lab/traffic.ts";

/**
 * A server on one host that one client may reach and another may not, with traffic of every kind between them: what the
 * scenarios about dying processes stand on.
 */
export const WORK_DIR = "/run/bulrush";

/** A session, or whatever else has its wires. */
interface HasNetwork {
  readonly cluster: { readonly network: LabNetwork };
}

const PORTS: Readonly<Record<Exclude<TrafficKind, "clings">, number>> = {
  established: 7001,
  connects: 7002,
  datagrams: 7003,
};
/** On a machine that does much else. */
const START_MS = 240_000;
const CLIENTS = [
  { name: "friend-near", node: "host-a", ip: "10.65.1.11", label: "friend" },
  { name: "friend-far", node: "host-b", ip: "10.65.2.11", label: "friend" },
  { name: "stranger-near", node: "host-a", ip: "10.65.1.12", label: "stranger" },
  { name: "stranger-far", node: "host-b", ip: "10.65.2.12", label: "stranger" },
] as const;

function pod(name: string, node: string, ip: string, role: string): Resource {
  const ports = Object.values(PORTS).map((containerPort, i) => ({ containerPort, protocol: i === 2 ? "UDP" : "TCP" }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "world", labels: { role } },
    // Only the client pods are listened to by nobody: the traffic brings its own listeners to the server.
    spec: { nodeName: node, containers: [{ name: "main", ports: role === "server" ? [] : ports }] },
    status: { phase: "Running", podIPs: [{ ip }] },
  };
}

export function guardedWorld(): Resource[] {
  return [
    ...["host-a", "host-b"].map(
      (name, i): Resource => ({
        apiVersion: "v1",
        kind: "Node",
        metadata: { name },
        status: { addresses: [{ type: "InternalIP", address: `192.0.2.${i + 1}` }] },
      }),
    ),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "world" } },
    pod("server", "host-a", "10.65.1.10", "server"),
    ...CLIENTS.map(({ name, node, ip, label }) => pod(name, node, ip, label)),
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name: "friends-only", namespace: "world" },
      spec: {
        podSelector: { matchLabels: { role: "server" } },
        policyTypes: ["Ingress"],
        ingress: [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }] }],
      },
    },
  ];
}

export async function startGuardedWorld(): Promise<LabSession> {
  const manifestDir = join(WORK_DIR, "manifests");
  writeManifest(join(manifestDir, "world.json"), guardedWorld());
  const session = await LabSession.start({ workDir: WORK_DIR, manifestDir });
  await session.refresh();
  return session;
}

/**
 * Traffic of each kind from each client to the server, and `more`. Names begin with `friend` for what must get through,
 * with `stranger` for what must not. `isOpen`: it returns when all friends get through; else at once. Default true.
 */
export async function startGuardedTraffic(
  session: HasNetwork,
  more: readonly TrafficFlow[] = [],
  { isOpen = true }: { readonly isOpen?: boolean } = {},
): Promise<Traffic> {
  const { network } = session.cluster;
  const server = network.pod("world/server");
  const address = server?.plan.addresses[0];
  if (server === undefined || address === undefined) throw new Error("The lab lacks the server");
  const flows = CLIENTS.flatMap(({ name, label }, i) =>
    (["established", "connects", "datagrams"] as const).map((kind): TrafficFlow => {
      const client = network.pod(`world/${name}`);
      if (client === undefined) throw new Error(`The lab lacks ${name}`);
      const port = PORTS[kind] + i * 10;
      return { name: `${label} ${name} ${kind}`, kind, from: client.namespace, to: server.namespace, address, port };
    }),
  );
  const traffic = new Traffic([...flows, ...more]);
  const friends = flows.map(({ name }) => name).filter((name) => name.startsWith("friend"));
  await traffic.start(isOpen ? friends : [], START_MS);
  traffic.reset();
  return traffic;
}

/** Throws when something passed that must not, or when allowed traffic paused for longer than `gapMs`. */
export function checkTraffic(reports: readonly TrafficReport[], what: string, gapMs: number): { longestGapMs: number } {
  let longestGapMs = 0;
  for (const { name, delivered, sent, longestGapMs: gap } of reports) {
    if (name.startsWith("stranger")) {
      if (delivered > 0) throw new Error(`${what}: ${delivered} of ${sent} got through on '${name}', which is denied`);
      if (sent === 0) throw new Error(`${what}: nothing was sent on '${name}', so nothing is proved`);
      continue;
    }
    longestGapMs = Math.max(longestGapMs, gap);
    if (delivered === 0 || gap > gapMs)
      throw new Error(`${what}: '${name}' paused for ${gap} ms (${delivered} of ${sent} arrived)`);
  }
  return { longestGapMs };
}

/** The generation of nf_tables on a host: it grows by one with every commit. */
export function nftGeneration(session: HasNetwork, host: string): number {
  const namespace = session.cluster.network.host(host)?.namespace;
  if (namespace === undefined) throw new Error(`The lab lacks ${host}`);
  const nft = openNftConnection({ namespace: namespace.path });
  try {
    return nft.generation();
  } finally {
    nft.close();
  }
}
