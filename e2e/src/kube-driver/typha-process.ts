import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SyncStatus } from "@bulrush/model";
import type { SyncClient } from "@bulrush/sync-client";
import { freePorts } from "../kube/free-ports.ts";
import { createFelixClient } from "../lab/felix-client.ts";
import { Program } from "../lab/program.ts";

export interface TyphaProcessOptions {
  /** For `KUBECONFIG`. */
  readonly kubeconfig: string;
  /** More settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** GET /api/v1/status, as far as it is looked at. */
interface Status {
  readonly ready: boolean;
  readonly problems: readonly string[];
}

/**
 * A real bulrush-typha on a Kubernetes API, on free ports of 127.0.0.1 without TLS, and one client of its `felix` stream.
 *
 *     KubeServer <── list, watch ── bulrush-typha ── felix stream ──> `state`, `deleted`, `statuses`
 *                                     └ readiness, metrics, admin API, log
 *
 * Invariant: `state` has what the stream said last of each path that it did not say is gone.
 */
export class TyphaProcess {
  readonly state: Map<string, unknown> = new Map<string, unknown>();
  /** Paths of which the stream said that they are gone, in order. */
  readonly deleted: string[] = [];
  readonly statuses: SyncStatus[] = [];
  readonly #program: Program;
  readonly #client: SyncClient;
  readonly #directory: string;
  readonly #ports: Readonly<Record<"health" | "metrics" | "admin", number>>;

  private constructor(parts: {
    readonly program: Program;
    readonly directory: string;
    readonly syncPort: number;
    readonly ports: Readonly<Record<"health" | "metrics" | "admin", number>>;
  }) {
    this.#program = parts.program;
    this.#directory = parts.directory;
    this.#ports = parts.ports;
    this.#client = createFelixClient({
      servers: [{ host: "127.0.0.1", port: parts.syncPort }],
      callbacks: {
        onUpdates: (updates) => {
          for (const { path, value } of updates) {
            if (value !== undefined) this.state.set(path, value);
            else if (this.state.delete(path)) this.deleted.push(path);
          }
        },
        onStatusUpdated: (status) => void this.statuses.push(status),
        onSequence: () => undefined,
      },
    });
    this.#client.start();
  }

  /** Resolves when it has been started; nothing is waited for. */
  static async start({ kubeconfig, env = {} }: TyphaProcessOptions): Promise<TyphaProcess> {
    const directory = mkdtempSync(join(tmpdir(), "bulrush-typha-"));
    const [syncPort = 0, health = 0, metrics = 0, admin = 0] = await freePorts(4);
    const program = Program.start({
      name: "bulrush-typha",
      logFile: join(directory, "typha.log"),
      env: {
        DATASTORE_TYPE: "kubernetes",
        KUBECONFIG: kubeconfig,
        TYPHA_SERVERHOST: "127.0.0.1",
        TYPHA_SERVERPORT: String(syncPort),
        TYPHA_HEALTHENABLED: "true",
        TYPHA_HEALTHPORT: String(health),
        TYPHA_PROMETHEUSMETRICSENABLED: "true",
        TYPHA_PROMETHEUSMETRICSPORT: String(metrics),
        TYPHA_ADMINPORT: String(admin),
        TYPHA_LOGSEVERITYSCREEN: "INFO",
        TYPHA_LOGFILEPATH: "none",
        TYPHA_LOGSEVERITYSYS: "none",
        TYPHA_SHUTDOWNTIMEOUTSECS: "0.2",
        ...env,
      },
    });
    return new TyphaProcess({ program, directory, syncPort, ports: { health, metrics, admin } });
  }

  get pid(): number {
    return this.#program.pid;
  }

  get isRunning(): boolean {
    return this.#program.isRunning;
  }

  /** What a probe is told. Rejects before the port is open. */
  async readiness(): Promise<{ readonly ready: boolean; readonly text: string }> {
    const answer = await fetch(`http://127.0.0.1:${this.#ports.health}/readiness`);
    return { ready: answer.status === 200, text: await answer.text() };
  }

  /** The lines of the metrics page that begin like this, without the comments. */
  async metrics(beginning: string): Promise<string[]> {
    const page = await (await fetch(`http://127.0.0.1:${this.#ports.metrics}/metrics`)).text();
    return page.split("\n").filter((line) => line.startsWith(beginning));
  }

  async status(): Promise<Status> {
    return (await (await fetch(`http://127.0.0.1:${this.#ports.admin}/api/v1/status`)).json()) as Status;
  }

  /** Its log so far, a line an object. */
  log(): readonly Readonly<Record<string, unknown>>[] {
    const lines = readFileSync(join(this.#directory, "typha.log"), "utf8").split("\n");
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Waits until something holds; while it throws it does not. The message has what was thrown last, and the log's end. */
  async until(what: string, holds: () => Promise<void> | void, limitMs = 120_000): Promise<void> {
    for (const startMs = performance.now(); ; ) {
      try {
        return await holds();
      } catch (error) {
        const isOver = performance.now() - startMs > limitMs;
        if (isOver || !this.isRunning) {
          const why = error instanceof Error ? error.message : String(error);
          assert.fail(`Not ${what} after ${limitMs / 1000} s: ${why}\n${this.#program.logTail(12)}`);
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends it as Kubernetes would. The exit code. */
  async stop(): Promise<number | undefined> {
    await this.#client.stop();
    const code = await this.#program.stop();
    rmSync(this.#directory, { recursive: true, force: true });
    return code;
  }
}
