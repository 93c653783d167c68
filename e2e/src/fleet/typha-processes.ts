import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { must } from "@bulrush/base";
import type { ServerAddress, TLSParameters } from "@bulrush/sync-client";
import { CertificateAuthority, type TlsFiles, writeTlsFiles } from "../lab/certificates.ts";
import { FABRIC_ADDRESS } from "../lab/network.ts";
import { Program } from "../lab/program.ts";

const FIRST_SYNC_PORT = 5473;
const FIRST_ADMIN_PORT = 9097;
const FIRST_METRICS_PORT = 9193;
const FIRST_HEALTH_PORT = 9298;
const LOOK_MS = 100;

/** Some `bulrush-typha` processes on one datastore, with mutual TLS. Inside a lab: their ports are fixed. */
export class TyphaProcesses {
  /** What clients need. */
  readonly tls: TLSParameters;
  readonly #workDir: string;
  readonly #datastore: (index: number) => Readonly<Record<string, string>>;
  readonly #server: TlsFiles;
  readonly #settings: Readonly<Record<string, string>>;
  readonly #programs: (Program | undefined)[] = [];

  private constructor(
    workDir: string,
    datastore: (index: number) => Readonly<Record<string, string>>,
    settings: Readonly<Record<string, string>>,
    server: TlsFiles,
    client: TlsFiles,
  ) {
    this.#settings = settings;
    this.#workDir = workDir;
    this.#datastore = datastore;
    this.#server = server;
    this.tls = { caFile: client.ca, certFile: client.cert, keyFile: client.key, serverCN: "typha-server" };
  }

  /**
   * `datastore`: a directory of manifests, or the settings of each Typha's datastore. `settings` of every Typha beside
   * those and those of ports and TLS, by environment variable.
   */
  static async create(
    workDir: string,
    datastore: string | ((index: number) => Readonly<Record<string, string>>),
    settings: Readonly<Record<string, string>> = {},
  ): Promise<TyphaProcesses> {
    mkdirSync(workDir, { recursive: true });
    if (typeof datastore === "string") mkdirSync(datastore, { recursive: true });
    const settingsOf =
      typeof datastore === "string" ? () => ({ DATASTORE_TYPE: "file", BULRUSH_DATASTORE_DIR: datastore }) : datastore;
    const ca = await CertificateAuthority.create();
    const server = writeTlsFiles(workDir, "server", ca, await ca.issue({ commonName: "typha-server" }));
    const client = writeTlsFiles(workDir, "client", ca, await ca.issue({ commonName: "typha-client" }));
    return new TyphaProcesses(workDir, settingsOf, settings, server, client);
  }

  address(index: number): ServerAddress {
    return { host: FABRIC_ADDRESS, port: FIRST_SYNC_PORT + index };
  }

  /** A first life or another one. It may listen only later. */
  start(index: number): void {
    this.#programs[index] = Program.start({
      name: "bulrush-typha",
      env: {
        ...this.#datastore(index),
        TYPHA_LOGFILEPATH: "none",
        TYPHA_LOGSEVERITYSCREEN: "warning",
        TYPHA_SERVERPORT: String(FIRST_SYNC_PORT + index),
        TYPHA_ADMINPORT: String(FIRST_ADMIN_PORT + index),
        TYPHA_HEALTHENABLED: "true",
        TYPHA_HEALTHHOST: "127.0.0.1",
        TYPHA_HEALTHPORT: String(FIRST_HEALTH_PORT + index),
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_PROMETHEUSMETRICSHOST: "127.0.0.1",
        TYPHA_PROMETHEUSMETRICSPORT: String(FIRST_METRICS_PORT + index),
        TYPHA_SERVERKEYFILE: this.#server.key,
        TYPHA_SERVERCERTFILE: this.#server.cert,
        TYPHA_CAFILE: this.#server.ca,
        TYPHA_CLIENTCN: "typha-client",
        TYPHA_SHUTDOWNTIMEOUTSECS: "10",
        TYPHA_SHUTDOWNCONNECTIONDROPINTERVALMAXSECS: "0.05",
        ...this.#settings,
      },
      logFile: join(this.#workDir, `typha-${index}.log`),
    });
  }

  /** Resolves when it is in sync and listens. @throws Error if it ends instead. */
  async ready(index: number): Promise<void> {
    while (!(await this.#readiness(index))?.ok) await this.#look();
  }

  /** Resolves when it says that it is not ready, with what it says. @throws Error if it ends instead. */
  async unready(index: number): Promise<string> {
    for (;;) {
      const answer = await this.#readiness(index);
      if (answer?.ok === false) return answer.text;
      await this.#look();
    }
  }

  /** undefined: there is no answer. */
  async #readiness(index: number): Promise<{ readonly ok: boolean; readonly text: string } | undefined> {
    try {
      const answer = await fetch(`http://127.0.0.1:${FIRST_HEALTH_PORT + index}/readiness`);
      return { ok: answer.ok, text: await answer.text() };
    } catch {
      return undefined;
    }
  }

  async #look(): Promise<void> {
    this.check();
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  /** Its exit code, or undefined where a signal ended it. */
  async stop(index: number, signal: NodeJS.Signals): Promise<number | undefined> {
    const code = await this.#program(index).stop(signal);
    this.#programs[index] = undefined;
    return code;
  }

  /** It neither reads nor writes, and its connections stay, until `thaw`. */
  freeze(index: number): void {
    process.kill(this.#program(index).pid, "SIGSTOP");
  }

  thaw(index: number): void {
    process.kill(this.#program(index).pid, "SIGCONT");
  }

  /** Resident memory of each, in MB. All must run, and none be frozen. */
  async residentMB(): Promise<readonly number[]> {
    // What it says itself: a lab has no /proc of its own processes.
    const sizes = await this.#metrics("process_resident_memory_bytes");
    return sizes.map((bytes) => Math.round(bytes / 1e6));
  }

  /** Bytes of a whole snapshot as it is sent to clients; the largest of the felix streams. */
  async snapshotBytes(): Promise<number> {
    return Math.max(...(await this.#metrics('typha_snapshot_compressed_bytes{syncer="felix"}')));
  }

  /** @throws Error if one has ended by itself, with the end of its log. */
  check(): void {
    for (const [index, program] of this.#programs.entries())
      if (program?.isRunning === false) throw new Error(`Typha ${index} ended by itself:\n${program.logTail()}`);
  }

  async stopAll(): Promise<void> {
    for (const program of this.#programs) await program?.stop("SIGKILL");
  }

  /** Of each process the value of one line of its page of metrics; 0 without one. */
  #metrics(name: string): Promise<readonly number[]> {
    return Promise.all(
      this.#programs.map(async (_, index) => {
        const page = await (await fetch(`http://127.0.0.1:${FIRST_METRICS_PORT + index}/metrics`)).text();
        const line = page.split("\n").find((each) => each.startsWith(`${name} `));
        return line === undefined ? 0 : Number(line.slice(name.length + 1));
      }),
    );
  }

  #program(index: number): Program {
    return must(this.#programs[index], "a running Typha");
  }
}
