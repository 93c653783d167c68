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

/** Some `bulrush-typha` processes on one directory of manifests, with mutual TLS. Inside a lab: their ports are fixed. */
export class TyphaProcesses {
  /** What clients need. */
  readonly tls: TLSParameters;
  readonly #workDir: string;
  readonly #manifestDir: string;
  readonly #server: TlsFiles;
  readonly #programs: (Program | undefined)[] = [];

  private constructor(workDir: string, manifestDir: string, server: TlsFiles, client: TlsFiles) {
    this.#workDir = workDir;
    this.#manifestDir = manifestDir;
    this.#server = server;
    this.tls = { caFile: client.ca, certFile: client.cert, keyFile: client.key, serverCN: "typha-server" };
  }

  static async create(workDir: string, manifestDir: string): Promise<TyphaProcesses> {
    for (const directory of [workDir, manifestDir]) mkdirSync(directory, { recursive: true });
    const ca = await CertificateAuthority.create();
    const server = writeTlsFiles(workDir, "server", ca, await ca.issue({ commonName: "typha-server" }));
    const client = writeTlsFiles(workDir, "client", ca, await ca.issue({ commonName: "typha-client" }));
    return new TyphaProcesses(workDir, manifestDir, server, client);
  }

  address(index: number): ServerAddress {
    return { host: FABRIC_ADDRESS, port: FIRST_SYNC_PORT + index };
  }

  /** A first life or another one. It may listen only later. */
  start(index: number): void {
    this.#programs[index] = Program.start({
      name: "bulrush-typha",
      env: {
        DATASTORE_TYPE: "file",
        BULRUSH_DATASTORE_DIR: this.#manifestDir,
        TYPHA_LOGFILEPATH: "none",
        TYPHA_LOGSEVERITYSCREEN: "warning",
        TYPHA_SERVERPORT: String(FIRST_SYNC_PORT + index),
        TYPHA_ADMINPORT: String(FIRST_ADMIN_PORT + index),
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_PROMETHEUSMETRICSHOST: "127.0.0.1",
        TYPHA_PROMETHEUSMETRICSPORT: String(FIRST_METRICS_PORT + index),
        TYPHA_SERVERKEYFILE: this.#server.key,
        TYPHA_SERVERCERTFILE: this.#server.cert,
        TYPHA_CAFILE: this.#server.ca,
        TYPHA_CLIENTCN: "typha-client",
        TYPHA_SERVERPINGINTERVALSECS: "2",
        TYPHA_SERVERPONGTIMEOUTSECS: "10",
        TYPHA_SHUTDOWNTIMEOUTSECS: "10",
        TYPHA_SHUTDOWNCONNECTIONDROPINTERVALMAXSECS: "0.05",
      },
      logFile: join(this.#workDir, `typha-${index}.log`),
    });
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
    return Promise.all(this.#programs.map((_, index) => residentMBAt(FIRST_METRICS_PORT + index)));
  }

  /** @throws Error if one has ended by itself, with the end of its log. */
  check(): void {
    for (const [index, program] of this.#programs.entries())
      if (program?.isRunning === false) throw new Error(`Typha ${index} ended by itself:\n${program.logTail()}`);
  }

  async stopAll(): Promise<void> {
    for (const program of this.#programs) await program?.stop("SIGKILL");
  }

  #program(index: number): Program {
    return must(this.#programs[index], "a running Typha");
  }
}

/** What it says itself: a lab has no /proc of its own processes. */
async function residentMBAt(port: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const [, bytes = ""] = must(/^process_resident_memory_bytes (\S+)/m.exec(page) ?? undefined, "resident memory");
  return Math.round(Number(bytes) / 1e6);
}
