import { type LoadPlan, splitPlan } from "./load-plan.ts";
import { figuresOf, type LoadFigures } from "./load-figures.ts";
import { WorkerProcess } from "./worker-process.ts";

export interface LoadRun {
  readonly plan: LoadPlan;
  readonly processes: number;
  /** What is run for each of them. */
  readonly program: string;
  readonly seconds: number;
  /** How long everybody may take to be in sync once nobody misbehaves any more. */
  readonly settleSeconds: number;
  /** What else must hold of the figures before everybody counts as settled. Default: nothing. */
  readonly isSettled?: (figures: LoadFigures) => boolean;
  /** Ends the load early; everybody still has their time to settle. */
  readonly signal: AbortSignal;
  /** From one call of `onProgress` to the next. Default: 5,000. */
  readonly progressMs?: number;
  /** Called now and then with what there is so far. */
  readonly onProgress: (figures: LoadFigures) => void;
}

const SETTLE_LOOK_MS = 500;

/**
 * Holds the load for `seconds`, then ends what misbehaves and waits until everybody is in sync.
 *
 * @throws Error if a process of clients cannot start or ends.
 */
export async function runLoad(run: LoadRun): Promise<LoadFigures> {
  const { plan, processes, program, seconds, settleSeconds, signal, progressMs = 5000, isSettled = () => true } = run;
  const startMs = performance.now();
  const workers = splitPlan(plan, processes).map((share) => new WorkerProcess(program, share));
  const figures = async (): Promise<LoadFigures> =>
    figuresOf(plan, await Promise.all(workers.map((worker) => worker.report())), performance.now() - startMs);
  try {
    let leftMs = seconds * 1000;
    while (leftMs > 0 && !signal.aborted) {
      await pause(Math.min(progressMs, leftMs), signal);
      leftMs = seconds * 1000 - (performance.now() - startMs);
      const soFar = await figures();
      if (leftMs > 0) run.onProgress(soFar);
    }
    for (const worker of workers) worker.calm();
    const settleEndMs = performance.now() + settleSeconds * 1000;
    let last = await figures();
    while ((last.problems.length > 0 || !isSettled(last)) && performance.now() < settleEndMs) {
      await new Promise((resolve) => setTimeout(resolve, SETTLE_LOOK_MS));
      last = await figures();
    }
    return last;
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done);
  });
}
