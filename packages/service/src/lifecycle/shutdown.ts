import type { Clock } from "@bulrush/base";
import type { Logger } from "../log/logger.ts";

/** The part of `process` that shutdown uses: tests hand in their own. */
export interface SignalSource {
  on(signal: NodeJS.Signals, handler: () => void): unknown;
  off(signal: NodeJS.Signals, handler: () => void): unknown;
}

export interface ShutdownOptions {
  readonly logger: Logger;
  readonly clock: Clock;
  /** All steps together; what is left after it is skipped. In milliseconds. */
  readonly timeoutMs: number;
  /** Default: SIGTERM and SIGINT of this process. */
  readonly signals?: SignalSource;
}

/** Why a process ends, and with what. */
export interface ShutdownReason {
  readonly reason: string;
  readonly exitCode: number;
}

/**
 * The ordered end of a process. Parts register a step as they start; the steps run one after the other, the last
 * registered first, once a signal or `request` comes. The caller awaits `done` and exits with its code.
 */
export interface Shutdown {
  /** Aborts when the shutdown starts. */
  readonly signal: AbortSignal;
  /** The exit code, once all steps have run or the time is over. */
  readonly done: Promise<number>;
  /** A step that fails is logged and the next one runs. */
  onStop(name: string, step: () => void | Promise<void>): void;
  /** Starts the shutdown. Later calls, also signals, change nothing; a second SIGINT skips the steps. */
  request(reason: ShutdownReason): void;
}
