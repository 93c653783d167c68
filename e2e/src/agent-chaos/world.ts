import { join } from "node:path";
import { must } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import type { Resource } from "@bulrush/model";
import { LabSession } from "../lab/session.ts";
import { Traffic, type TrafficFlow, type TrafficKind } from "../lab/traffic.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import type { Choices } from "../random/choices.ts";
import { guardResources } from "../random/guard.ts";
import { guardedWorld, WORK_DIR } from "../scenario/guarded-world.ts";

const MANIFESTS = join(WORK_DIR, "manifests");
const FILE = join(MANIFESTS, "world.json");
/** Policies and network sets that come and go, so that an apply takes a while; none is about the ports of the traffic. */
const CHURN = 40;
/** For a start on a machine that is busy with other things. */
const PATIENCE_MS = 180_000;
const KINDS: readonly TrafficKind[] = ["established", "connects", "datagrams"];
const SERVER = "10.65.1.10";
const VAULT = "10.65.9.2";

/** A server that friends may reach and strangers may not, and a vault whose friends and spies are known by networks. */
export function chaosWorld(choices: Choices): Resource[] {
  return [...guardedWorld(), ...guardResources(choices), ...churn(choices)];
}

function churn(choices: Choices): Resource[] {
  return Array.from({ length: CHURN }, (_, i): Resource[] => {
    const name = `churn-${i}`;
    const nets = Array.from({ length: choices.between(1, 20) }, () => {
      const bits = choices.pick([24, 28, 32]);
      return `10.99.${choices.below(256)}.${bits === 32 ? choices.below(256) : 0}/${bits}`;
    });
    return [
      {
        apiVersion: "projectcalico.org/v3",
        kind: "GlobalNetworkSet",
        metadata: { name, labels: { churn: name } },
        spec: { nets: [...new Set(nets)] },
      },
      {
        apiVersion: "projectcalico.org/v3",
        kind: "GlobalNetworkPolicy",
        metadata: { name },
        spec: {
          order: 1000 + i,
          selector: "has(role) || has(guard)",
          types: ["Ingress"],
          ingress: [
            {
              action: "Allow",
              protocol: "TCP",
              source: { selector: `churn == '${name}'` },
              destination: { ports: [9000 + i] },
            },
          ],
        },
      },
    ];
  })
    .filter(() => choices.chance(0.7))
    .flat();
}

/** Saves the world; Typha follows the file. */
export function saveWorld(world: readonly Resource[]): void {
  writeManifest(FILE, world);
}

export async function startChaosSession(world: readonly Resource[]): Promise<LabSession> {
  saveWorld(world);
  const session = await LabSession.start({ workDir: WORK_DIR, manifestDir: MANIFESTS });
  await session.refresh(PATIENCE_MS);
  return session;
}

/** Where the agent of a host answers. */
export function adminSocket(host: string): string {
  return join(WORK_DIR, `state-${host}`, "agent.sock");
}

/**
 * Traffic from every client that never stops. Names begin with `friend` for what must get through, with `stranger` for
 * what must not. Strangers cling to what connections they get while somebody has deleted the rules.
 */
export async function startChaosTraffic(session: LabSession): Promise<Traffic> {
  const namespace = (name: string): TrafficFlow["from"] => must(session.cluster.network.pod(name), name).namespace;
  const flow = (
    name: string,
    kind: TrafficKind,
    from: string,
    to: string,
    address: string,
    port: number,
  ): TrafficFlow => ({
    name: `${name} ${from} ${kind} ${port}`,
    kind,
    from: namespace(from),
    to: namespace(to),
    address: must(parseAddress(address), "an address"),
    port,
  });
  const places = ["near", "far"];
  const flows = [
    ...places.flatMap((place, i) =>
      KINDS.flatMap((kind, j) => {
        const port = 7001 + j * 100 + i * 10;
        const friend = flow("friend", kind, `world/friend-${place}`, "world/server", SERVER, port);
        if (kind === "established")
          return [friend, flow("stranger", "clings", `world/stranger-${place}`, "world/server", SERVER, port + 1)];
        return [friend, flow("stranger", kind, `world/stranger-${place}`, "world/server", SERVER, port + 1)];
      }),
    ),
    ...places.flatMap((place, i) => [
      flow("friend", "datagrams", `guard/friend-${place}`, "guard/vault", VAULT, 7150 + i),
      ...[7100, 7200, 7300].map((port) =>
        flow("stranger", "datagrams", `guard/spy-${place}`, "guard/vault", VAULT, port + i),
      ),
    ]),
  ];
  const traffic = new Traffic(flows);
  await traffic.start(
    flows.filter(({ name }) => name.startsWith("friend")).map(({ name }) => name),
    PATIENCE_MS,
  );
  traffic.reset();
  return traffic;
}
