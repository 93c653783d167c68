import { mkdtempSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, must } from "@bulrush/base";
import { createMetrics, HealthAggregator, type Metrics, silentLogger } from "@bulrush/service";
import { type ServerAddress, type TLSMaterial, tlsFromParameters } from "@bulrush/sync-client";
import { createTypha, loadTyphaConfig, RANDOM_PORT, type Typha } from "@bulrush/typha";
import { CertificateAuthority, type TlsFiles, writeTlsFiles } from "../lab/certificates.ts";
import { badPeer, type BadWay } from "./bad-peer.ts";
import { FleetClient } from "./fleet-client.ts";
import type { FleetStore, StoreLink } from "./fleet-store.ts";
import { TcpGate } from "./tcp-gate.ts";

/** Clients that begin together. */
const GROUP = 20;
const LOOK_MS = 20;

/** One Typha of the fleet. */
interface Member {
  readonly index: number;
  /** What clients dial, from life to life. */
  readonly gate: TcpGate;
  life:
    | { readonly typha: Typha; readonly health: HealthAggregator; readonly metrics: Metrics; readonly link: StoreLink }
    | undefined;
}

export interface TyphaFleetOptions {
  /** What all of them read. The caller ends it. */
  readonly store: FleetStore;
  readonly clock: Clock;
  readonly random: () => number;
  /** Settings of every Typha beside those of TLS, by environment variable. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * Some whole Typhas on one store, with mutual TLS on real sockets, and many clients of theirs; all in one process.
 *
 * ```
 *   FleetStore --StoreLink--> Typha 0, 1, 2 <--TcpGate-- mTLS -- FleetClient 0 .. n, bad peers
 * ```
 */
export class TyphaFleet {
  readonly clients: FleetClient[] = [];
  readonly #options: TyphaFleetOptions;
  readonly #directory: string;
  readonly #serverFiles: TlsFiles;
  readonly #clientTls: TLSMaterial;
  readonly #members: Member[] = [];
  readonly #badPeers: Socket[] = [];
  #lives = 0;

  private constructor(options: TyphaFleetOptions, directory: string, server: TlsFiles, tls: TLSMaterial) {
    this.#options = options;
    this.#directory = directory;
    this.#serverFiles = server;
    this.#clientTls = tls;
  }

  static async create(options: TyphaFleetOptions): Promise<TyphaFleet> {
    const directory = mkdtempSync(join(tmpdir(), "bulrush-fleet-"));
    const ca = await CertificateAuthority.create();
    const server = writeTlsFiles(directory, "server", ca, await ca.issue({ commonName: "typha-server" }));
    const client = writeTlsFiles(directory, "client", ca, await ca.issue({ commonName: "typha-client" }));
    const files = { caFile: client.ca, certFile: client.cert, keyFile: client.key, serverCN: "typha-server" };
    // Read once: hundreds of clients in one process would read the same files again and again.
    const material = await must(tlsFromParameters(files), "TLS")();
    return new TyphaFleet(options, directory, server, material);
  }

  /** Starts a Typha: a new one, or another life of an old one. Resolves once it listens. */
  async startTypha(index: number): Promise<void> {
    const { clock, random } = this.#options;
    const member = this.#members[index] ?? { index, gate: await TcpGate.open(), life: undefined };
    this.#members[index] = member;
    const health = new HealthAggregator(clock);
    const metrics = createMetrics();
    const link = await this.#options.store.link();
    const { values } = loadTyphaConfig({
      env: {
        TYPHA_SERVERKEYFILE: this.#serverFiles.key,
        TYPHA_SERVERCERTFILE: this.#serverFiles.cert,
        TYPHA_CAFILE: this.#serverFiles.ca,
        TYPHA_CLIENTCN: "typha-client",
        TYPHA_SHUTDOWNTIMEOUTSECS: "10",
        TYPHA_SHUTDOWNCONNECTIONDROPINTERVALMAXSECS: "0.05",
        ...this.#options.settings,
      },
    });
    const config = { ...values, ServerHost: "127.0.0.1", ServerPort: RANDOM_PORT, AdminPort: 0 };
    const life = ++this.#lives;
    const typha = createTypha(config, {
      clock,
      random,
      newEpoch: () => `life-${life}-${Math.floor(random() * 1e9)}`,
      logger: silentLogger,
      metrics,
      health,
      openDatastore: () => link.open(),
      serverName: `typha-${index}`,
    });
    typha.start();
    member.gate.target = (await typha.listening).port;
    member.life = { typha, health, metrics, link };
  }

  /** Ends a Typha as SIGTERM does, or as its clients see a SIGKILL. */
  async stopTypha(index: number, how: "drain" | "kill" = "drain"): Promise<void> {
    const member = this.#member(index);
    const life = must(member.life, "a running Typha");
    if (how === "kill") {
      member.gate.target = 0;
      member.gate.kill();
    }
    await life.typha.stop();
    life.link.close();
    member.gate.target = 0;
    member.life = undefined;
  }

  /** How a probe sees a Typha. */
  health(index: number): { readonly ready: boolean; readonly text: string } {
    return must(this.#member(index).life, "a running Typha").health.summary();
  }

  /** What is open between a Typha and its clients goes dead. */
  blackHole(index: number): void {
    this.#member(index).gate.blackHole();
  }

  /** A connection that misbehaves; it ends with the fleet at the latest. */
  addBadPeer(index: number, way: BadWay): void {
    const name = `bad-${this.#badPeers.length}`;
    this.#badPeers.push(badPeer(way, this.#member(index).gate.port, this.#clientTls, name));
  }

  link(index: number): StoreLink {
    return must(this.#member(index).life, "a running Typha").link;
  }

  /** Which Typha a client follows; undefined: none. */
  serverOf(client: FleetClient): number | undefined {
    const { phase, server } = client.client.state();
    if (phase !== "streaming" && phase !== "snapshot") return undefined;
    return this.#members.findIndex(({ gate }) => gate.port === server?.port);
  }

  /**
   * In groups, so that they do not all dial at once: clients and servers share one process.
   *
   * @throws Error if a group is not in sync in time.
   */
  async addClients(count: number, waitMs: number): Promise<void> {
    const last = this.clients.length + count;
    while (this.clients.length < last) {
      const group = Array.from({ length: Math.min(GROUP, last - this.clients.length) }, () => this.#addClient());
      for (const endMs = performance.now() + waitMs; !group.every(({ isInSync }) => isInSync); ) {
        if (performance.now() > endMs) throw new Error("New clients are not in sync");
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.clients.map(({ client }) => client.stop()));
    for (const socket of this.#badPeers) socket.destroy();
    for (const { index, life } of this.#members) if (life !== undefined) await this.stopTypha(index);
    for (const { gate } of this.#members) gate.close();
    rmSync(this.#directory, { recursive: true });
  }

  #addClient(): FleetClient {
    const client = new FleetClient({
      name: `node-${this.clients.length}`,
      servers: () => this.#addresses(),
      tls: this.#clientTls,
      clock: this.#options.clock,
      random: this.#options.random,
      exists: (path) => this.#exists(path),
    });
    this.clients.push(client);
    return client;
  }

  #exists(path: string): boolean {
    const name = path.split("/").at(-1) ?? "";
    return path.includes("/netset/") && this.#options.store.has(name);
  }

  #addresses(): readonly ServerAddress[] {
    return this.#members
      .filter(({ life }) => life !== undefined)
      .map(({ gate }) => ({
        host: "127.0.0.1",
        port: gate.port,
      }));
  }

  #member(index: number): Member {
    return must(this.#members[index], "a member of the fleet");
  }
}
