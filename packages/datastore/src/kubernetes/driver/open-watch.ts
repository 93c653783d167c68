import type { KubeClient } from "../client/kube-client.ts";
import { narrowing, opOf } from "./list-source.ts";
import { pathOf, type ListPlace } from "./source.ts";
import { WatchLines } from "./watch-lines.ts";

/** After this the server ends a watch; random between it and twice it, so that they do not all end together. */
const MIN_WATCH_SECONDS = 300;

export interface OpenWatchRequest {
  readonly selection: ListPlace;
  readonly revision: string;
  readonly signal: AbortSignal;
  readonly idleMs: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** The whole list comes first, as events, and a bookmark at its end. */
  readonly withInitialEvents?: boolean;
}

/** Sends a watch. Resolves when the server has begun to answer: from then on nothing after `revision` is missed. */
export async function openWatch(client: KubeClient, request: OpenWatchRequest): Promise<WatchLines> {
  const { selection, revision, signal, idleMs, random, withInitialEvents = false } = request;
  const op = opOf(withInitialEvents ? "List" : "Watch", selection);
  const answer = await client.open({
    op,
    path: pathOf(selection.source, selection.namespace),
    query: {
      ...narrowing(selection),
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(Math.floor(MIN_WATCH_SECONDS * (1 + random()))),
      resourceVersion: revision === "" ? undefined : revision,
      ...(withInitialEvents && { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }),
    },
    signal,
  });
  return new WatchLines({ answer, op, clock: client.clock, idleMs, signal });
}
