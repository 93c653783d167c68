import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * What a process may ask of V8's heap. All of it is for the whole process or for the thread that calls; none of it
 * changes what a program computes.
 */

/**
 * Keeps the part of the heap where new objects are born at its first size (1 MiB): left alone it grows to tens of MiB
 * while a datastore is read, and the process never gives them back. Call it before anything is read.
 */
export function keepNurserySmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

/**
 * From now on a heap may grow by `percent` over what was live at its last collection before it is collected again; left
 * alone V8 lets it double and more. A process that keeps nearly all it allocates takes less memory so, for more CPU while
 * it grows. For all threads.
 */
export function growHeapBy(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
}

/**
 * Asks for one full collection of this thread's heap, in a turn of its own; resolves when it was. For the moment when much
 * has become garbage and little will be allocated: nothing else would ever collect it. After it V8 goes on by itself, some
 * seconds later and in small steps, and gives the emptied pages back to the system.
 */
export async function collectGarbage(): Promise<void> {
  collector ??= openCollector();
  await collector({ type: "major", execution: "async" });
}

type Collector = (options: { readonly type: "major"; readonly execution: "async" }) => Promise<void>;

let collector: Collector | undefined;

/** The function is only in contexts that are made while the flag is set, which other threads may set too: it stays so. */
function openCollector(): Collector {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as Collector;
}
