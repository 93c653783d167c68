import type { Clock } from "@bulrush/base";
import { createMetrics } from "@bulrush/service";
import { ServingWorker } from "../workers/serving-worker.ts";
import type { StartThread } from "../workers/start-thread.ts";

/** Connection workers in the thread of a test: their messages are copied and take a turn, and they never listen. */
export interface ThreadlessWorkers {
  readonly startThread: StartThread;
  /** The workers that live, by number. */
  readonly workers: ReadonlyMap<number, ServingWorker>;
  /** From now on a worker takes no message and says nothing. */
  hang(number: number): void;
  /** Ends a worker as an error in it would. */
  kill(number: number, reason: string): void;
}

/** `random`: numbers in [0, 1). */
export function threadlessWorkers(clock: Clock, random: () => number): ThreadlessWorkers {
  const workers = new Map<number, ServingWorker>();
  const kills = new Map<number, (reason: string) => void>();
  const hanging = new Set<number>();
  const startThread: StartThread = (init, events) => {
    let isOver = false;
    hanging.delete(init.number);
    const later = (callback: () => void): void =>
      void setImmediate(() => {
        if (!isOver && !hanging.has(init.number)) callback();
      });
    const end = (reason: string): void => {
      if (isOver) return;
      isOver = true;
      workers.delete(init.number);
      worker.onMessage({ type: "close" });
      setImmediate(() => events.onEnd(reason));
    };
    const worker = new ServingWorker({
      init: structuredClone(init),
      post: (message) => {
        const copy = structuredClone(message);
        later(() => events.onMessage(copy));
      },
      clock,
      random,
      defer: setImmediate,
      metrics: createMetrics(),
      utilization: () => init.number / 10,
      onClosed: () => end("closed"),
    });
    workers.set(init.number, worker);
    kills.set(init.number, end);
    return {
      post: (message) => {
        const copy = structuredClone(message);
        if (copy.type !== "listen") later(() => worker.onMessage(copy));
      },
      terminate: () => end("terminated"),
    };
  };
  return {
    startThread,
    workers,
    hang: (number) => void hanging.add(number),
    kill: (number, reason) => kills.get(number)?.(reason),
  };
}
