import { closeSync, openSync } from "node:fs";
import { writeHeapSnapshot } from "node:v8";
import type { Clock } from "@bulrush/base";
import type { Logger, SignalSource } from "@bulrush/service";

export interface HeapProfileOptions {
  /** `<timestamp>` in it becomes the local time, YYYY-MM-DD-HH:MM:SS. Empty: nothing is written. */
  readonly path: string;
  readonly clock: Pick<Clock, "nowMs" | "monotonicMs">;
  readonly logger: Logger;
  readonly signals: SignalSource;
  /** Default: a heap snapshot of this process, for the eyes of its user only, as keys of TLS are in it. */
  readonly write?: (path: string) => void;
}

/**
 * Writes a heap snapshot at each SIGUSR1, until the function that is returned is called. Nothing else is done while it is
 * written: some seconds for a big cache. What cannot be written is logged. The signal is taken also without a path: left
 * alone, the runtime would open its debugger's port, to every process of the host.
 */
export function writeHeapProfileOnSignal(options: HeapProfileOptions): () => void {
  const { path, clock, logger, signals, write = writePrivateSnapshot } = options;
  const onSignal = (): void => {
    if (path === "") {
      logger.warn("SIGUSR1: no heap profile is written, as DebugMemoryProfilePath is not set");
      return;
    }
    const file = path.replaceAll("<timestamp>", localTime(new Date(clock.nowMs())));
    const startMs = clock.monotonicMs();
    try {
      write(file);
      logger.info("Wrote a heap profile", { file, durationMs: Math.round(clock.monotonicMs() - startMs) });
    } catch (error) {
      logger.error("Cannot write a heap profile", { file, error });
    }
  };
  signals.on("SIGUSR1", onSignal);
  return () => void signals.off("SIGUSR1", onSignal);
}

function writePrivateSnapshot(path: string): void {
  closeSync(openSync(path, "w", 0o600));
  writeHeapSnapshot(path);
}

function localTime(at: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())];
  const time = [at.getHours(), at.getMinutes(), at.getSeconds()].map(two);
  return `${day.join("-")}-${time.join(":")}`;
}
