import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { LoadPlan } from "./load-plan.ts";
import { type FromWorker, type ToWorker, WORKER_ARGUMENT } from "./load-messages.ts";
import type { LoadReport } from "./load-record.ts";

/** Some of the clients, in a process of their own. */
export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #waiting: PromiseWithResolvers<LoadReport>[] = [];
  #failure: Error | undefined;

  /** @param program What runs when it is started with {@link WORKER_ARGUMENT}. */
  constructor(program: string, plan: LoadPlan) {
    this.#child = fork(program, [WORKER_ARGUMENT], { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (message: FromWorker) => {
      if (message.type === "failed") this.#fail(new Error(message.message));
      else this.#waiting.shift()?.resolve(message.report);
    });
    this.#child.on("exit", (code, signal) => this.#fail(new Error(`A process of clients ended (${code ?? signal})`)));
    this.#send({ type: "start", plan });
  }

  /** @throws Error if the process cannot go on. */
  report(): Promise<LoadReport> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const waiting = Promise.withResolvers<LoadReport>();
    this.#waiting.push(waiting);
    this.#send({ type: "report" });
    return waiting.promise;
  }

  calm(): void {
    this.#send({ type: "calm" });
  }

  async stop(): Promise<void> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#send({ type: "stop" });
    await ended;
  }

  #send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }
}
