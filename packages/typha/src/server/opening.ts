import type { Hello, SyncerType, Welcome } from "@bulrush/proto";
import type { Breadcrumb } from "../cache/breadcrumb.ts";
import type { Snapshot } from "../cache/snapshot.ts";
import type { ServedCache } from "../cache/served-cache.ts";

/** How a stream begins: what the welcome says, and what goes before the chain. */
export interface Opening {
  readonly resume: Welcome["resume"];
  /** The breadcrumb after which the chain is read. */
  readonly crumb: Breadcrumb;
  /** With "buckets". */
  readonly buckets?: readonly number[];
  /** What is sent first; with "deltas" there is none. Its holder gives it back to the cache. */
  readonly snapshot?: Snapshot;
}

/**
 * The cheapest way to bring a client to the present state.
 *
 * ```
 *  same epoch, sequence still held ---> deltas
 *  else digests, and few keys differ -> buckets
 *  else ------------------------------> snapshot
 * ```
 */
export async function openingFor(hello: Hello, cache: ServedCache): Promise<Opening> {
  const { resume } = hello;
  if (cache.reach !== undefined && resume?.epoch === cache.epoch) await cache.reach(resume.sequence);
  const held = heldCrumb(hello, cache);
  if (held !== undefined) return { resume: "deltas", crumb: held };
  if (hello.digests !== undefined) {
    const difference = await cache.difference(hello.digests);
    if (difference !== undefined) return { resume: "buckets", crumb: difference.snapshot.crumb, ...difference };
  }
  // What was good enough for a newcomer may be older than what this client was told elsewhere.
  const snapshot = await cache.snapshot(holdsSomething(hello));
  return { resume: "snapshot", crumb: snapshot.crumb, snapshot };
}

/**
 * True while a client loses nothing by waiting: it holds something, and this server does not know yet what there is (an
 * answer now would send it everything, as the cache fills), or knows less than the server that the client comes from (it
 * would take back what that one told).
 */
export function shouldWait(
  hello: Hello,
  cache: ServedCache,
  isBehind: (type: SyncerType, revision: number) => boolean,
): boolean {
  const { revision, syncer } = hello;
  if (!holdsSomething(hello) || heldCrumb(hello, cache) !== undefined) return false;
  return !cache.wasInSync || (revision !== undefined && isBehind(syncer, revision));
}

function holdsSomething({ digests, revision }: Hello): boolean {
  return digests !== undefined || revision !== undefined;
}

function heldCrumb({ resume }: Hello, cache: ServedCache): Breadcrumb | undefined {
  return resume?.epoch === cache.epoch ? cache.at(resume.sequence) : undefined;
}
