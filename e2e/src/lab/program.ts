import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NetNamespace } from "./namespace.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");

/** Our own programs, by the file that their command runs. */
const PROGRAMS = {
  "bulrush-typha": "packages/typha/bin/bulrush-typha.ts",
  "bulrush-agent": "packages/agent/bin/bulrush-agent.ts",
  bulrushctl: "packages/ctl/bin/bulrushctl.ts",
} as const;

export interface ProgramOptions {
  readonly name: keyof typeof PROGRAMS;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where it runs. Default: the lab's own namespace. */
  readonly namespace?: NetNamespace;
  /** Its standard output and error. */
  readonly logFile: string;
}

/** A running program of ours: a real process, so that it can be killed like one. */
export class Program {
  readonly #child: ChildProcess;
  readonly #options: ProgramOptions;
  readonly #exited: Promise<number | undefined>;
  #isRunning = true;

  private constructor(options: ProgramOptions, child: ChildProcess) {
    this.#options = options;
    this.#child = child;
    this.#exited = once(child, "exit").then(([code]) => {
      this.#isRunning = false;
      return (code as number | null) ?? undefined;
    });
  }

  static start(options: ProgramOptions): Program {
    const log = openSync(options.logFile, "a");
    const launch = (): ChildProcess =>
      spawn(
        process.execPath,
        ["--conditions=bulrush-source", join(ROOT, PROGRAMS[options.name]), ...(options.args ?? [])],
        // Nothing of the caller's settings: what a program is told stands in `env`.
        { stdio: ["ignore", log, log], env: { PATH: process.env["PATH"] ?? "", HOME: "/root", ...options.env } },
      );
    const child = options.namespace === undefined ? launch() : options.namespace.run(launch);
    closeSync(log);
    return new Program(options, child);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The exit code of a program that ends by itself; undefined when a signal ended it. */
  get exited(): Promise<number | undefined> {
    return this.#exited;
  }

  /** Sends a signal and waits for the end. The exit code, or undefined when a signal ended it. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | undefined> {
    if (this.#isRunning) this.#child.kill(signal);
    return this.#exited;
  }

  /** The last lines of its log, for a message about a failure. */
  logTail(lines = 20): string {
    return readFileSync(this.#options.logFile, "utf8").trimEnd().split("\n").slice(-lines).join("\n");
  }
}
