import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { LabSession } from "../lab/session.ts";
import { writeManifest } from "../lab/write-manifest.ts";

/** What changes from run to run. */
export interface VxlanWorldOptions {
  readonly vxlanMode: "Always" | "CrossSubnet";
  /** The networks that the hosts believe to share a subnet with. */
  readonly subnetBits: { readonly 4: number; readonly 6: number };
}

/** One host with its ends of the tunnels and the blocks that its pods have addresses of. */
interface WorldHost {
  readonly name: string;
  readonly ip: string;
  readonly ip6: string;
  readonly block: string;
  readonly block6: string;
  /** The first address of each block is the tunnel's end, the second is unused, pods follow. */
  readonly tunnel: string;
  readonly tunnel6: string;
}

export const HOSTS: readonly [WorldHost, WorldHost] = [
  {
    name: "host-a",
    ip: "192.0.2.1",
    ip6: "2001:db8::1",
    block: "10.65.1.0/29",
    block6: "fd65:0:0:1::/125",
    tunnel: "10.65.1.0",
    tunnel6: "fd65:0:0:1::",
  },
  {
    name: "host-b",
    ip: "192.0.2.2",
    ip6: "2001:db8::2",
    block: "10.65.2.0/29",
    block6: "fd65:0:0:2::/125",
    tunnel: "10.65.2.0",
    tunnel6: "fd65:0:0:2::",
  },
];

function calico(kind: string, name: string, spec: unknown): Resource {
  return { apiVersion: "crd.projectcalico.org/v1", kind, metadata: { name }, spec } as Resource;
}

function node(host: WorldHost, { subnetBits }: VxlanWorldOptions): Resource {
  const annotations = {
    "projectcalico.org/IPv4Address": `${host.ip}/${subnetBits[4]}`,
    "projectcalico.org/IPv6Address": `${host.ip6}/${subnetBits[6]}`,
    "projectcalico.org/IPv4VXLANTunnelAddr": host.tunnel,
    "projectcalico.org/IPv6VXLANTunnelAddr": host.tunnel6,
  };
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: host.name, annotations },
    status: { addresses: [host.ip, host.ip6].map((address) => ({ type: "InternalIP", address })) },
  } as Resource;
}

/** `number`: the pod's place in its host's blocks. */
function pod(host: WorldHost, name: string, number: number, role: string): Resource {
  const ips = [host.tunnel.replace(/0$/, String(number)), `${host.tunnel6}${number}`];
  const ports = [
    { containerPort: 80, protocol: "TCP" },
    { containerPort: 53, protocol: "UDP" },
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "world", labels: { role } },
    spec: { nodeName: host.name, containers: [{ name: "main", ports }] },
    status: { phase: "Running", podIPs: ips.map((ip) => ({ ip })) },
  } as Resource;
}

function block(cidr: string, host: string): Resource {
  return calico("IPAMBlock", cidr.replaceAll(/[.:/]+/g, "-"), {
    cidr,
    affinity: `host:${host}`,
    allocations: [0, null, 0, 0, null, null, null, null],
    unallocated: [1, 4, 5, 6, 7],
    attributes: [{ secondary: { node: host } }],
  });
}

/**
 * Two hosts with a server and a client each, in pools of VXLAN of both families. Clients may reach servers, servers
 * nobody.
 */
function vxlanWorld(options: VxlanWorldOptions): Resource[] {
  const policy = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "clients-only", namespace: "world" },
    spec: {
      podSelector: {},
      policyTypes: ["Ingress"],
      ingress: [{ from: [{ podSelector: { matchLabels: { role: "client" } } }] }],
    },
  } as Resource;
  const { vxlanMode } = options;
  return [
    ...HOSTS.map((host) => node(host, options)),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "world" } } as Resource,
    calico("IPPool", "pool-v4", { cidr: "10.65.0.0/16", vxlanMode, natOutgoing: false }),
    calico("IPPool", "pool-v6", { cidr: "fd65::/16", vxlanMode, natOutgoing: false }),
    ...HOSTS.flatMap(({ block: block4, block6, name }) => [block(block4, name), block(block6, name)]),
    ...HOSTS.flatMap((host) => [
      pod(host, `server-${host.name}`, 2, "server"),
      pod(host, `client-${host.name}`, 3, "client"),
    ]),
    policy,
  ];
}

/** The hosts with their agents and pods, once every agent has the policy in its kernel. */
export async function startVxlanWorld(workDir: string, options: VxlanWorldOptions): Promise<LabSession> {
  const manifestDir = join(workDir, "manifests");
  mkdirSync(manifestDir, { recursive: true });
  writeManifest(join(manifestDir, "world.json"), vxlanWorld(options));
  const session = await LabSession.start({ workDir, manifestDir });
  await session.refresh();
  return session;
}
