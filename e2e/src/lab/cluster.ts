import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Resource, Update } from "@bulrush/model";
import { CertificateAuthority, type TlsFiles, writeTlsFiles } from "./certificates.ts";
import { FABRIC_ADDRESS, LabNetwork } from "./network.ts";
import { type LabPlan, planLab } from "./plan.ts";
import { Prober } from "./prober.ts";
import { Program } from "./program.ts";
import { directoryStore, type LabStore } from "./store.ts";

export const SYNC_PORT = 5473;
export const ADMIN_PORT = 9097;
export const ADMIN_URL: string = `http://127.0.0.1:${ADMIN_PORT}`;
export const SERVER_NAME = "typha-server";
const CLIENT_NAME = "typha-client";

export interface ClusterOptions {
  /** Where the lab keeps logs, certificates and agents' state. Made when missing. */
  readonly workDir: string;
  /** A directory of manifests. */
  readonly manifestDir: string;
  /**
   * Opens the datastore once the wires are there; the cluster stops it. Default: the directory, which Typha watches.
   */
  readonly openStore?: () => Promise<LabStore>;
  /** More settings for the programs. */
  readonly typhaEnv?: Readonly<Record<string, string>>;
  readonly agentEnv?: Readonly<Record<string, string>>;
}

/**
 * A whole cluster in one lab: the wires, one Typha in the fabric, an agent on each host, listening pods.
 *
 * ```
 *   manifests ─watch─> Typha (fabric, 198.18.255.1:5473) ─mTLS─> agent (host oak) ─netlink─> kernel of host oak
 *                        └ admin 127.0.0.1:9097 <─ the lab      agent (host elm) ─netlink─> kernel of host elm
 * ```
 */
export class LabCluster {
  readonly network: LabNetwork;
  readonly prober: Prober;
  /** Who signed every certificate of the cluster. */
  readonly authority: CertificateAuthority;
  readonly store: LabStore;
  readonly #options: ClusterOptions;
  readonly #server: TlsFiles;
  readonly #client: TlsFiles;
  #typha: Program | undefined;
  readonly #agents = new Map<string, Program>();

  private constructor(
    options: ClusterOptions,
    parts: { readonly network: LabNetwork; readonly store: LabStore },
    authority: CertificateAuthority,
    server: TlsFiles,
    client: TlsFiles,
  ) {
    this.#options = options;
    this.authority = authority;
    this.store = parts.store;
    this.#server = server;
    this.#client = client;
    this.network = parts.network;
    this.prober = new Prober();
  }

  /** Certificates and wires; no program runs yet. Call it inside the lab. */
  static async create(options: ClusterOptions): Promise<LabCluster> {
    mkdirSync(options.workDir, { recursive: true });
    const ca = await CertificateAuthority.create();
    const server = await ca.issue({ commonName: SERVER_NAME });
    const client = await ca.issue({ commonName: CLIENT_NAME });
    const network = new LabNetwork();
    const store = await (options.openStore?.() ?? directoryStore(options.manifestDir));
    return new LabCluster(
      options,
      { network, store },
      ca,
      writeTlsFiles(options.workDir, "typha", ca, server),
      writeTlsFiles(options.workDir, "agent", ca, client),
    );
  }

  get clientTls(): TlsFiles {
    return this.#client;
  }

  get serverTls(): TlsFiles {
    return this.#server;
  }

  get typha(): Program {
    if (this.#typha === undefined) throw new Error("Typha was not started");
    return this.#typha;
  }

  hasAgent(host: string): boolean {
    return this.#agents.has(host);
  }

  agent(host: string): Program {
    const agent = this.#agents.get(host);
    if (agent === undefined) throw new Error(`No agent was started on ${host}`);
    return agent;
  }

  /** `env`: more settings for this one. */
  startTypha(env: Readonly<Record<string, string>> = {}): void {
    this.#typha = Program.start({
      name: "bulrush-typha",
      logFile: join(this.#options.workDir, "typha.log"),
      env: {
        ...this.store.typhaEnv,
        TYPHA_SERVERHOST: FABRIC_ADDRESS,
        TYPHA_SERVERPORT: String(SYNC_PORT),
        TYPHA_CAFILE: this.#server.ca,
        TYPHA_SERVERCERTFILE: this.#server.cert,
        TYPHA_SERVERKEYFILE: this.#server.key,
        TYPHA_CLIENTCN: CLIENT_NAME,
        TYPHA_ADMINPORT: String(ADMIN_PORT),
        TYPHA_HEALTHENABLED: "true",
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_LOGFILEPATH: "none",
        TYPHA_LOGSEVERITYSYS: "none",
        TYPHA_SHUTDOWNTIMEOUTSECS: "5",
        ...this.#options.typhaEnv,
        ...env,
      },
    });
  }

  /** `env`: more settings for this one, such as another name than the host's. */
  startAgent(host: string, env: Readonly<Record<string, string>> = {}): Program {
    const { namespace } = this.network.host(host) ?? fail(`The lab has no host ${host}`);
    const stateDir = join(this.#options.workDir, `state-${host}`);
    mkdirSync(stateDir, { recursive: true });
    const agent = Program.start({
      name: "bulrush-agent",
      namespace,
      logFile: join(this.#options.workDir, `agent-${host}.log`),
      env: {
        FELIX_FELIXHOSTNAME: host,
        FELIX_TYPHAADDR: `${FABRIC_ADDRESS}:${SYNC_PORT}`,
        FELIX_TYPHACAFILE: this.#client.ca,
        FELIX_TYPHACERTFILE: this.#client.cert,
        FELIX_TYPHAKEYFILE: this.#client.key,
        FELIX_TYPHACN: SERVER_NAME,
        FELIX_HEALTHENABLED: "true",
        FELIX_LOGFILEPATH: "none",
        FELIX_LOGSEVERITYSYS: "none",
        FELIX_STATEDIR: stateDir,
        FELIX_ADMINSOCKETPATH: join(stateDir, "agent.sock"),
        // Files of one machine: the hosts of a lab would share them.
        FELIX_ENDPOINTSTATUSPATHPREFIX: "none",
        FELIX_MTUFILE: "none",
        ...this.#options.agentEnv,
        ...env,
      },
    });
    this.#agents.set(host, agent);
    return agent;
  }

  /**
   * Makes hosts and pods as these resources ask for, and takes away what they no longer have. Agents start on new
   * hosts once `startTypha` was called.
   */
  reshape(resources: readonly Resource[], updates: readonly Update[]): LabPlan {
    const plan = planLab(resources, updates);
    const wanted = new Map(plan.pods.map((pod) => [pod.name, pod]));
    for (const { plan: old, namespace } of this.network.pods) {
      if (JSON.stringify(wanted.get(old.name)) === JSON.stringify(old)) continue;
      this.prober.remove(namespace);
      this.network.removePod(old.name);
    }
    for (const host of plan.hosts) if (this.network.host(host.name) === undefined) this.network.addHost(host);
    for (const pod of plan.pods) {
      if (this.network.pod(pod.name) !== undefined) continue;
      const { namespace } = this.network.addPod(pod);
      for (const { protocol, port } of pod.ports) this.prober.serve(namespace, protocol, port);
    }
    return plan;
  }

  /** Ends the programs, each by its own process id, and takes the wires down. */
  async stop(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.stop()));
    await this.#typha?.stop();
    await this.store.stop();
    this.prober.close();
    this.network.close();
  }

  /** What the programs said last, for a failure's message. */
  logs(): string {
    const parts = [...this.#agents].map(([host, agent]) => `--- agent ${host}\n${agent.logTail()}`);
    if (this.#typha !== undefined) parts.push(`--- typha\n${this.#typha.logTail()}`);
    return parts.join("\n");
  }
}

function fail(message: string): never {
  throw new Error(message);
}
