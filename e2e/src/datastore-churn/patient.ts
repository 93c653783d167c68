import { type Clock, messageOf, sleep } from "@bulrush/base";
import { KubeRefusal } from "../kube/kube-admin.ts";

/** Longer than any fault of a server lasts. */
const LIMIT_MS = 120_000;
const PAUSE_MS = 100;
const NEVER = new AbortController().signal;

/** What a server says that has just started, or whose store is away; 404: it does not serve a kind yet. */
const EARLY: ReadonlySet<number> = new Set([403, 404, 409, 429, 500, 503, 504]);

/**
 * Does something at a server until it is done: a server that is away, or has just started and has not everything
 * together, is asked again. `work` may have been done already when it is tried again.
 *
 * @throws What the server says that is meant; after two minutes whatever it was.
 */
export async function patiently<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const isMeant = error instanceof KubeRefusal && !EARLY.has(error.status);
      if (isMeant) throw error;
      if (clock.monotonicMs() - startMs > LIMIT_MS)
        throw new Error(`The API server is not well after two minutes: ${messageOf(error)}`, { cause: error });
      await sleep(clock, PAUSE_MS, NEVER);
    }
  }
}
