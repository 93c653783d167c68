import type { ToDataplane } from "@bulrush/proto";
import type { DriftReport } from "./drift/drift-report.ts";
import type { FlowBatch } from "./flow-log/flow-record.ts";
import type { DataplaneStatus, FromDataplane } from "./status.ts";

/**
 * A running dataplane, in this thread or in its worker. One feeder; calls are processed in the order made.
 * The owner calls `stop` once; the kernel state stays as it is.
 */
export interface DataplaneHandle {
  /**
   * Queues messages. Resolves when the loop has taken them: await it before you send more (back-pressure; without it
   * the queue would have no bound).
   */
  send(messages: readonly ToDataplane[]): Promise<void>;
  /** Asks for `onApplied(sequence)` once everything sent before is in the kernel. Sequences never decrease. */
  mark(sequence: number): void;
  /** Reads the kernel state back and repairs it, at the next pass. */
  resync(): void;
  /** Resolves after the last callback. */
  stop(): Promise<void>;
}

/** A dataplane that can say how the kernel stands. */
export interface InspectableDataplane extends DataplaneHandle {
  /** Compares the kernel's state with what is meant, and repairs nothing. Never rejects. */
  inspect(): Promise<DriftReport>;
}

/** Callbacks run on the thread that made the dataplane, never from inside one of its calls. */
export interface DataplaneEvents {
  readonly onStatus?: (status: DataplaneStatus) => void;
  /** The highest mark whose messages are all applied. Marks in between may be skipped. */
  readonly onApplied?: (sequence: number) => void;
  /** In the order in which they came about. */
  readonly onMessage?: (message: FromDataplane) => void;
  /** Flows that rules have denied or logged, where the flow log is on; at most one batch a second. */
  readonly onFlows?: (batch: FlowBatch) => void;
  /** A line for the log. */
  readonly onLog?: (
    level: "debug" | "info" | "warn" | "error",
    message: string,
    fields: Readonly<Record<string, unknown>>,
  ) => void;
  /** The loop has ended by itself: a bug, or a monitor that cannot be had. The process should exit 1. */
  readonly onFatal?: (error: Error) => void;
}

/** What {@link startDataplaneWorker} needs. Plain data: it is cloned into the worker. */
export interface DataplaneWorkerOptions {
  /**
   * Settings by their FelixConfiguration names ("InterfacePrefix": "cali"), case-insensitive. The first ConfigUpdate
   * message, when it comes before anything else, is laid over them.
   */
  readonly settings: ReadonlyMap<string, string>;
  /** Seed of the jitter of timers and retries. Default: random. */
  readonly seed?: number;
}
