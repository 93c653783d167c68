import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import type { Judge } from "./judge.ts";
import type { MemorySample } from "./memory-rule.ts";
import type { FromSyncers, SyncerSettings, ToSyncers } from "./messages.ts";

/** The syncers in a process of their own, so that its memory is theirs alone. All that they tell goes to a judge. */
export class SyncerProcess {
  readonly #child: ChildProcess;
  readonly #judge: Judge;
  readonly #answers = new EventEmitter();

  /** @param judge Knows the syncers by their places in the settings. */
  constructor(settings: SyncerSettings, judge: Judge) {
    this.#judge = judge;
    this.#child = fork(join(import.meta.dirname, "main.ts"), [JSON.stringify(settings)], {
      execArgv: [...process.execArgv, "--expose-gc"],
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child.on("message", (message: FromSyncers) => this.#take(message));
  }

  /** @throws Error if the process has ended. */
  check(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`The process of the syncers ended by itself (${exitCode ?? signalCode})`);
  }

  /** After a full garbage collection. */
  async memory(): Promise<MemorySample> {
    const { memory } = await this.#ask("memory");
    return memory;
  }

  /** For each syncer which kinds are not in order and why. */
  async report(): Promise<readonly (readonly string[])[]> {
    const { reports } = await this.#ask("report");
    return reports;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#send("stop");
    await ended;
  }

  /** @throws Error if the process ends instead of an answer. */
  async #ask<T extends "memory" | "report">(type: T): Promise<Extract<FromSyncers, { readonly type: T }>> {
    const onExit = (): boolean => this.#answers.emit("error", new Error("The process of the syncers has ended"));
    this.#child.once("exit", onExit);
    try {
      const answer = once(this.#answers, type) as Promise<[Extract<FromSyncers, { readonly type: T }>]>;
      this.#send(type);
      return (await answer)[0];
    } finally {
      this.#child.off("exit", onExit);
    }
  }

  #send(type: ToSyncers["type"]): void {
    this.check();
    this.#child.send({ type } satisfies ToSyncers);
  }

  #take(message: FromSyncers): void {
    switch (message.type) {
      case "status":
        this.#judge.takeStatus(message.syncer, message.status);
        return;
      case "updates":
        for (const [path, type, hash, mark] of message.updates)
          this.#judge.takeUpdate(message.syncer, { path, type, hash, mark: mark ?? undefined });
        return;
      default:
        this.#answers.emit(message.type, message);
    }
  }
}
