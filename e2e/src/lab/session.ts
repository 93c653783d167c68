import { type LoadedManifests, loadManifests } from "@bulrush/datastore";
import type { Update } from "@bulrush/model";
import { ADMIN_URL, type ClusterOptions, LabCluster, SERVER_NAME, SYNC_PORT } from "./cluster.ts";
import { Follower } from "./follower.ts";
import { Judge } from "./judge.ts";
import { allFlows, type PodFlow } from "./matrix.ts";
import { FABRIC_ADDRESS } from "./network.ts";
import type { LabPlan } from "./plan.ts";

/** A flow with what really happened and what the explanation says of it. */
export interface TriedFlow extends PodFlow {
  readonly connects: boolean;
  readonly explained: boolean;
  readonly why: string;
}

export interface Refreshed {
  readonly plan: LabPlan;
  readonly manifests: LoadedManifests;
  /** What the store could not keep or read, in words. */
  readonly problems: readonly string[];
  /** Unix ms at which every kernel had it. */
  readonly appliedAtMs: number;
}

interface ClientView {
  readonly hostname: string;
  readonly appliedSequence: number | null;
}

/** On a machine that does much else, programs alone take a minute to start. */
const DEFAULT_TIMEOUT_MS = 240_000;

/** A running cluster and all that is needed to compare it with its manifests. */
export class LabSession {
  readonly cluster: LabCluster;
  readonly judge: Judge = new Judge();
  readonly #options: ClusterOptions;
  #follower: Follower | undefined;
  #plan: LabPlan | undefined;

  private constructor(options: ClusterOptions, cluster: LabCluster) {
    this.#options = options;
    this.cluster = cluster;
  }

  /** Starts Typha, and agents on the hosts of the present manifests. `refresh` waits for them. */
  static async start(options: ClusterOptions): Promise<LabSession> {
    const session = new LabSession(options, await LabCluster.create(options));
    session.cluster.startTypha();
    session.#follower = new Follower({
      host: FABRIC_ADDRESS,
      port: SYNC_PORT,
      tls: session.cluster.clientTls,
      serverCN: SERVER_NAME,
    });
    return session;
  }

  get plan(): LabPlan {
    if (this.#plan === undefined) throw new Error("The session was not refreshed yet");
    return this.#plan;
  }

  /**
   * Reads the manifests, makes the store hold them, shapes the lab after them and waits, on acks, until Typha has them and every agent has them
   * in its kernel.
   */
  async refresh(timeoutMs: number = DEFAULT_TIMEOUT_MS): Promise<Refreshed> {
    const manifests = await loadManifests(this.#options.manifestDir);
    const resources = manifests.resources.map(({ resource }) => resource);
    const { updates, problems } = await this.cluster.store.sync(resources);
    this.judge.update(updates);
    const plan = this.cluster.reshape(resources, updates);
    this.#plan = plan;
    for (const host of plan.hosts) if (!this.cluster.hasAgent(host.name)) this.cluster.startAgent(host.name);
    await this.settle(updates, timeoutMs);
    return { plan, manifests, problems, appliedAtMs: Date.now() };
  }

  /** Waits until Typha holds these KVs and every agent's kernel does. */
  async settle(updates: readonly Update[], timeoutMs: number = DEFAULT_TIMEOUT_MS): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    if (this.#follower === undefined) throw new Error("The session was not started");
    const sequence = await this.#follower.reaches(updates, timeoutMs).catch((error: Error) => {
      throw new Error(`${this.cluster.logs()}\n${error.message}`);
    });
    for (;;) {
      const clients = await fetchClients();
      const behind = this.plan.hosts.filter(({ name }) => {
        const client = clients.findLast(({ hostname }) => hostname === name);
        return client === undefined || (client.appliedSequence ?? -1) < sequence;
      });
      if (behind.length === 0) return;
      if (performance.now() > deadlineMs) {
        const names = behind.map(({ name }) => name).join(", ");
        throw new Error(`${this.cluster.logs()}\nNot in the kernel after ${timeoutMs} ms on: ${names}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 4));
    }
  }

  /** Tries every flow of the present plan for real, and explains it. */
  async tryAll(): Promise<TriedFlow[]> {
    return this.tryFlows(allFlows(this.plan.pods));
  }

  async tryFlows(flows: readonly PodFlow[]): Promise<TriedFlow[]> {
    const verdicts = flows.map((flow) => this.judge.explainPodFlow(flow));
    const answers = await this.cluster.prober.run(
      flows.map((flow, i) => {
        const from = this.cluster.network.pod(flow.from.name);
        if (from === undefined) throw new Error(`The lab lacks the pod ${flow.from.name}`);
        const expect = verdicts[i]?.verdict === "allow";
        return { from: from.namespace, to: flow.address, protocol: flow.protocol, port: flow.port, expect };
      }),
    );
    return flows.map((flow, i) => {
      const verdict = verdicts[i];
      const side = verdict?.egress?.verdict === "deny" ? verdict.egress : (verdict?.ingress ?? verdict?.egress);
      return { ...flow, connects: answers[i] === true, explained: verdict?.verdict === "allow", why: side?.why ?? "" };
    });
  }

  async stop(): Promise<void> {
    await this.#follower?.stop();
    await this.cluster.stop();
  }
}

/** The clients of Typha with the sequence that each has in its kernel; none while Typha is not there. */
async function fetchClients(): Promise<readonly ClientView[]> {
  try {
    const response = await fetch(`${ADMIN_URL}/api/v1/clients`);
    return ((await response.json()) as { clients: readonly ClientView[] }).clients;
  } catch {
    return [];
  }
}
