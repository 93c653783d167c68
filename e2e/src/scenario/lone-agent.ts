import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { formatAddress } from "@bulrush/ip";
import type { Resource } from "@bulrush/model";
import { LabNetwork } from "../lab/network.ts";
import type { HostPlan } from "../lab/plan.ts";
import { type Probe, Prober } from "../lab/prober.ts";
import { Program } from "../lab/program.ts";
import { writeManifest } from "../lab/write-manifest.ts";
import { required } from "./required.ts";
import { WORK_DIR } from "./guarded-world.ts";

/** A probe and what policy says of it. */
export interface Expected extends Probe {
  readonly what: string;
  readonly connects: boolean;
}

const WAIT_MS = 240_000;
/** A packet that is not answered within this is taken for dropped, while it is waited for something else. */
const PATIENCE = { patienceMs: 2000, silenceMs: 300 } as const;

/**
 * One agent (or more) that reads a directory, on a host among others: no Typha, no Kubernetes.
 *
 * ```
 *  manifests (directory) ─watch─> agent ─netlink─> kernel of its host <── fabric ──> other hosts
 * ```
 */
export class LoneAgent {
  readonly network: LabNetwork = new LabNetwork();
  readonly prober: Prober = new Prober(PATIENCE);
  readonly #host: string;
  readonly directory: string = join(WORK_DIR, "manifests");
  readonly #env: Readonly<Record<string, string>>;
  readonly #agents = new Map<string, Program>();

  /** The first of the hosts has the agent. */
  constructor(hosts: readonly [HostPlan, ...HostPlan[]], env: Readonly<Record<string, string>> = {}) {
    this.#host = hosts[0].name;
    this.#env = env;
    mkdirSync(this.directory, { recursive: true });
    for (const host of hosts) this.network.addHost(host);
  }

  /** That of the first host. */
  get agent(): Program {
    return this.agentOf(this.#host);
  }

  agentOf(host: string): Program {
    return required(this.#agents.get(host), `an agent on ${host}`);
  }

  /** Default: on the first host. */
  start(host: string = this.#host): void {
    const { namespace } = required(this.network.host(host), host);
    const agent = Program.start({
      name: "bulrush-agent",
      namespace,
      logFile: join(WORK_DIR, `agent-${host}.log`),
      env: {
        DATASTORE_TYPE: "file",
        BULRUSH_DATASTORE_DIR: this.directory,
        FELIX_FELIXHOSTNAME: host,
        FELIX_HEALTHENABLED: "true",
        FELIX_LOGFILEPATH: "none",
        FELIX_STATEDIR: join(WORK_DIR, `state-${host}`),
        FELIX_ADMINSOCKETPATH: "none",
        ...this.#env,
      },
    });
    this.#agents.set(host, agent);
  }

  /** Replaces the manifests of a file. */
  write(resources: readonly Resource[], file = "world.json"): void {
    writeManifest(join(this.directory, file), resources);
  }

  /** Waits until every probe ends as it should, all in one run, and then once more: a state that only passes by is none. */
  async reaches(step: string, expected: readonly Expected[]): Promise<void> {
    const deadlineMs = performance.now() + WAIT_MS;
    for (let inRow = 0; inRow < 2; ) {
      if (!this.agent.isRunning) throw new Error(`${this.agent.logTail()}\n${step}: the agent has ended`);
      const probes = expected.map((probe) => ({ ...probe, expect: probe.connects }));
      const answers = await this.prober.run(probes);
      const wrong = expected.filter(({ connects }, i) => answers[i] !== connects);
      inRow = wrong.length === 0 ? inRow + 1 : 0;
      if (performance.now() < deadlineMs || wrong.length === 0) continue;
      const list = wrong.map(({ what, connects }) => `${what} should ${connects ? "" : "not "}connect`);
      throw new Error(`${this.agent.logTail()}\n${step}: ${list.join("; ")}`);
    }
  }

  /** A probe from one host to a port of another's first address. */
  probe(from: string, to: string, protocol: Probe["protocol"], port: number, connects: boolean): Expected {
    const [source, target] = [required(this.network.host(from), from), required(this.network.host(to), to)];
    const address = required(target.plan.addresses[0], `an address of ${to}`);
    const what = `${from} -> ${to} (${formatAddress(address)}) ${protocol}/${port}`;
    return { what, from: source.namespace, to: address, protocol, port, connects };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    this.prober.close();
    this.network.close();
  }
}
