import type { CancelTimer, Clock } from "@bulrush/base";
import type { Logger } from "../log/logger.ts";

/** The part of `process` that shutdown uses: tests hand in their own. */
export interface SignalSource {
  on(signal: NodeJS.Signals, handler: () => void): unknown;
  off(signal: NodeJS.Signals, handler: () => void): unknown;
}

/** What ends a process, and how long that may take. */
export interface ShutdownOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** All steps together; what is left after it is skipped. In milliseconds. */
  readonly timeoutMs: number;
  /** Default: this process. */
  readonly signals?: SignalSource;
}

/** Why a process ends, and with what. */
export interface ShutdownReason {
  /** For the log, in words. */
  readonly reason: string;
  readonly exitCode: number;
}

/**
 * The ordered end of a process. Parts register a step as they start; the steps run one after the other, the last
 * registered first, once a signal or `request` comes. The caller awaits `done` and exits with its code.
 *
 * ```
 *  running --SIGTERM, SIGINT, request()--> stopping --last step, timeout, second SIGINT--> done
 * ```
 */
export interface Shutdown {
  /** Aborts when the shutdown starts. */
  readonly signal: AbortSignal;
  /** The exit code, once all steps have run or the time is over. Never rejects. */
  readonly done: Promise<number>;
  /** A step that fails is logged and the next one runs. A step registered while stopping is not run. */
  onStop(name: string, step: () => void | Promise<void>): void;
  /** Starts the shutdown. Later calls and signals change nothing, but a second SIGINT skips the remaining steps. */
  request(reason: ShutdownReason): void;
}

/** Signals end with exit code 0: a process that was asked to stop and did has not failed. */
export function createShutdown(options: ShutdownOptions): Shutdown {
  const { logger, clock } = options;
  const signals = options.signals ?? process;
  const steps: { readonly name: string; readonly step: () => void | Promise<void> }[] = [];
  const controller = new AbortController();
  const { promise: done, resolve } = Promise.withResolvers<number>();
  let interrupts = 0;
  let exitCode = 0;
  let cancelTimeout: CancelTimer = () => {};

  const finish = (): void => {
    cancelTimeout();
    signals.off("SIGTERM", onTerm);
    signals.off("SIGINT", onInt);
    resolve(exitCode);
  };
  const request = (why: ShutdownReason): void => {
    if (controller.signal.aborted) return;
    exitCode = why.exitCode;
    logger.info("Stopping", { reason: why.reason, exitCode });
    controller.abort(new Error(why.reason));
    cancelTimeout = clock.after(options.timeoutMs, () => {
      logger.warn("Stopping took too long, the rest is skipped", { timeoutMs: options.timeoutMs });
      finish();
    });
    void runSteps().then(finish);
  };
  const runSteps = async (): Promise<void> => {
    for (const { name, step } of steps.toReversed()) {
      logger.debug("Stopping part", { part: name });
      try {
        await step();
      } catch (error) {
        logger.error("Part did not stop cleanly", { part: name, error });
      }
    }
  };
  const onTerm = (): void => request({ reason: "SIGTERM", exitCode: 0 });
  const onInt = (): void => {
    if (++interrupts > 1) finish();
    else request({ reason: "SIGINT", exitCode: 0 });
  };
  signals.on("SIGTERM", onTerm);
  signals.on("SIGINT", onInt);

  return { signal: controller.signal, done, onStop: (name, step) => void steps.push({ name, step }), request };
}
