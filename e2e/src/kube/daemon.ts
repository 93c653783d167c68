import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const START_LIMIT_MS = 240_000;
const POLL_MS = 50;

export interface DaemonOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Its standard output and error, of all its lives. */
  readonly logFile: string;
  /** Whether it serves by now. A throw means not yet. */
  readonly isReady: () => Promise<boolean>;
}

/**
 * A server of somebody else's that a test starts, kills and starts again. It ends with the process that made it, however
 * that one ends, and does not keep it running.
 */
export class Daemon {
  readonly #options: DaemonOptions;
  #args: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(options: DaemonOptions) {
    this.#options = options;
    this.#args = options.args;
  }

  /** Starts it and waits until it is ready. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const daemon = new Daemon(options);
    await daemon.#launch();
    return daemon;
  }

  /** 0 when it does not run. */
  get pid(): number {
    return this.isRunning ? (this.#child?.pid ?? 0) : 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child?.pid !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** Ends it at once, without a chance to close anything, and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || !this.isRunning) return;
    child.ref();
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Kills it if it runs, starts it again, with other arguments if there are any, and waits until it is ready. */
  async restart(args: readonly string[] = this.#args): Promise<void> {
    await this.kill();
    this.#args = args;
    await this.#launch();
  }

  /** It stays connected to everybody and says nothing more. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** The last lines of its log, for a message about a failure. */
  logTail(lines = 20): string {
    return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }

  async #launch(): Promise<void> {
    const { program, env, logFile, isReady } = this.#options;
    const log = openSync(logFile, "a");
    // prctl(2), PR_SET_PDEATHSIG: the kernel ends it when this process ends, be it by SIGKILL.
    this.#child = spawn("setpriv", ["--pdeathsig", "SIGKILL", program, ...this.#args], {
      stdio: ["ignore", log, log],
      env: { PATH: process.env["PATH"] ?? "", ...env },
    });
    this.#child.unref();
    closeSync(log);
    let failure: Error | undefined;
    this.#child.once("error", (error) => {
      failure = error;
    });
    const name = basename(program);
    for (const startMs = performance.now(); ; ) {
      await sleep(POLL_MS);
      if (failure !== undefined) throw failure;
      if (!this.isRunning) throw new Error(`${name} ended while it started:\n${this.logTail()}`);
      if (await isReady().catch(() => false)) return;
      if (performance.now() - startMs > START_LIMIT_MS) {
        const tail = this.logTail();
        await this.kill();
        throw new Error(`${name} is not ready after ${START_LIMIT_MS / 1000} s:\n${tail}`);
      }
    }
  }
}
