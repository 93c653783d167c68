import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Resource } from "@bulrush/model";
import { ADMIN_URL } from "../lab/cluster.ts";
import type { LabPod } from "../lab/network.ts";
import { LabSession } from "../lab/session.ts";
import type { Traffic, TrafficFlow, TrafficReport } from "../lab/traffic.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { checkTraffic, guardedWorld, nftGeneration, startGuardedTraffic, WORK_DIR } from "../scenario/guarded-world.ts";

/** A pause of allowed traffic that is not the machine's own. */
const MAX_GAP_MS = 1500;
const METRICS_URL = "http://127.0.0.1:9093/metrics";

export interface AdminStatus {
  readonly ready: boolean;
  readonly health: string;
  readonly problems: readonly string[];
}

export interface AdminClient {
  readonly hostname: string;
  readonly connectionId: string;
  readonly clientId: string;
  readonly peer: string;
  readonly duplicate: boolean;
  readonly appliedSequence: number | null;
  readonly serverSequence: number;
}

function pod(namespace: string, name: string, node: string, ip: string, ports: readonly number[]): Resource {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, labels: { name } },
    spec: {
      nodeName: node,
      containers: [{ name: "main", ports: ports.map((containerPort) => ({ containerPort, protocol: "TCP" })) }],
    },
    status: { phase: "Running", podIPs: [{ ip }] },
  };
}

/** What guards `edge/gate` while nothing is wrong: alice may reach two TCP ports, and that is all. */
export const GATE_POLICY = `apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata: {name: gate, namespace: edge}
spec:
  order: 100
  selector: name == 'gate'
  types: [Ingress]
  ingress:
  - action: Allow
    protocol: TCP
    source: {selector: name == 'alice'}
    destination: {ports: [8080, 8082]}
`;

/**
 * Beside the guarded world, whose pods nobody touches: a namespace `edge` that bad input is about, and a namespace
 * `edits` in which a good edit is made in the same moment.
 *
 * ```
 *   world/friend-*  ──allowed──> world/server <──denied── world/stranger-*       all kinds of traffic, all the time
 *   edge/alice      ──8080─────> edge/gate    <──denied── edge/bob               and denied ones to 8082, all the time
 *   edits/asker     ──on, off──> edits/target
 * ```
 */
function edgeWorld(): Resource[] {
  return [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "edge" } },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "edits" } },
    pod("edge", "gate", "host-a", "10.65.1.20", [8080, 8081]),
    pod("edge", "alice", "host-a", "10.65.1.21", []),
    pod("edge", "bob", "host-b", "10.65.2.22", []),
    pod("edits", "target", "host-b", "10.65.2.30", [8090]),
    pod("edits", "asker", "host-a", "10.65.1.31", []),
  ];
}

/** A cluster that bad input is thrown at, and the questions that are asked of it afterwards. */
export class World {
  readonly session: LabSession;
  readonly manifestDir: string;
  readonly traffic: Traffic;
  #isOpen = false;

  private constructor(session: LabSession, manifestDir: string, traffic: Traffic) {
    this.session = session;
    this.manifestDir = manifestDir;
    this.traffic = traffic;
  }

  static async start(): Promise<World> {
    const manifestDir = join(WORK_DIR, "manifests");
    mkdirSync(manifestDir, { recursive: true });
    writeManifest(join(manifestDir, "world.json"), [...guardedWorld(), ...edgeWorld()]);
    writeManifest(join(manifestDir, "gate.yaml"), GATE_POLICY);
    writeManifest(join(manifestDir, "edits.yaml"), togglePolicy(false));
    const typhaEnv = { TYPHA_SERVERHANDSHAKETIMEOUTSECS: "2" };
    const session = await LabSession.start({ workDir: WORK_DIR, manifestDir, typhaEnv });
    await session.refresh();
    const { network } = session.cluster;
    const gate = network.pod("edge/gate");
    const address = gate?.plan.addresses[0];
    assert.ok(gate !== undefined && address !== undefined);
    const denied = (client: string, kind: "connects" | "datagrams"): TrafficFlow[] => {
      const from = network.pod(`edge/${client}`)?.namespace;
      const name = `stranger ${client} ${kind}`;
      return from === undefined ? [] : [{ name, kind, from, to: gate.namespace, address, port: 8082 }];
    };
    const more = [...denied("bob", "connects"), ...denied("alice", "datagrams")];
    return new World(session, manifestDir, await startGuardedTraffic(session, more));
  }

  async stop(): Promise<void> {
    await this.traffic.stop();
    await this.session.stop();
  }

  file(name: string): string {
    return join(this.manifestDir, name);
  }

  pod(name: string): LabPod {
    const found = this.session.cluster.network.pod(name);
    assert.ok(found !== undefined, `The lab lacks ${name}`);
    return found;
  }

  /** Whether a connection comes about. Silence of a quarter of a second is a no. */
  async connects(from: string, to: string, port: number): Promise<boolean> {
    const address = this.pod(to).plan.addresses[0];
    assert.ok(address !== undefined);
    const probe = { from: this.pod(from).namespace, to: address, protocol: "TCP", port, expect: false } as const;
    return (await this.session.cluster.prober.run([probe]))[0] === true;
  }

  /** Makes a good edit, and gives the promise that it is in force: seen by real packets. */
  async goodEdit(what: string): Promise<void> {
    this.#isOpen = !this.#isOpen;
    writeManifest(this.file("edits.yaml"), togglePolicy(this.#isOpen));
    const wanted = this.#isOpen;
    await eventually(`${what}: a good edit is in force`, async () => {
      return (await this.connects("edits/asker", "edits/target", 8090)) === wanted;
    });
  }

  async status(): Promise<AdminStatus> {
    return (await (await fetch(`${ADMIN_URL}/api/v1/status`)).json()) as AdminStatus;
  }

  async clients(hostname?: string): Promise<readonly AdminClient[]> {
    const { clients } = (await (await fetch(`${ADMIN_URL}/api/v1/clients`)).json()) as { clients: AdminClient[] };
    return clients.filter((client) => hostname === undefined || client.hostname === hostname);
  }

  /** The value of a metric of Typha without labels, or with these ones as they are written. */
  async metric(name: string): Promise<number | undefined> {
    const text = await (await fetch(METRICS_URL)).text();
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  }

  /** Each line of Typha's log, or of an agent's, as an object. */
  log(program: "typha" | `agent-${string}`): readonly Readonly<Record<string, unknown>>[] {
    const text = readFileSync(join(WORK_DIR, `${program}.log`), "utf8");
    return text
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Both hosts' numbers of changes to nf_tables. */
  generations(): string {
    return ["host-a", "host-b"].map((host) => nftGeneration(this.session, host)).join();
  }

  /** No denied packet has passed and no allowed flow has paused since the last call. */
  checkTraffic(what: string): void {
    const reports: readonly TrafficReport[] = this.traffic.report();
    checkTraffic(reports, what, MAX_GAP_MS);
    this.traffic.reset();
  }
}

function togglePolicy(isOpen: boolean): string {
  return `apiVersion: projectcalico.org/v3
kind: NetworkPolicy
metadata: {name: toggle, namespace: edits}
spec: {selector: name == 'target', types: [Ingress], ingress: [{action: ${isOpen ? "Allow" : "Deny"}}]}
`;
}

/** Waits until something holds; what is waited for is in the message if it does not come. */
export async function eventually(
  what: string,
  holds: () => Promise<boolean> | boolean,
  timeoutMs = 45_000,
  detail: () => unknown = () => "",
): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) assert.fail(`In vain for ${timeoutMs} ms: ${what}\n${String(detail())}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
