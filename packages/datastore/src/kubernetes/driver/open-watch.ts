import type { Shape } from "../../json/shape.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { eventOf } from "./needed-fields.ts";
import { narrowing, opOf } from "./list-source.ts";
import { pathOf, type ListPlace } from "./source.ts";
import { WatchLines } from "./watch-lines.ts";

export interface OpenWatchRequest {
  readonly selection: ListPlace;
  readonly revision: string;
  readonly signal: AbortSignal;
  readonly idleMs: number;
  /** After which the server ends it. */
  readonly seconds: number;
  /** The parts of each object that the caller reads. */
  readonly needs: Shape;
  /** The whole list comes first, as events, and a bookmark at its end. */
  readonly withInitialEvents?: boolean;
}

/** Sends a watch. Resolves when the server has begun to answer: from then on nothing after `revision` is missed. */
export async function openWatch(client: KubeClient, request: OpenWatchRequest): Promise<WatchLines> {
  const { selection, revision, signal, idleMs, seconds, needs, withInitialEvents = false } = request;
  const op = opOf(withInitialEvents ? "List" : "Watch", selection);
  const answer = await client.open({
    op,
    path: pathOf(selection.source, selection.namespace),
    query: {
      ...narrowing(selection),
      watch: "true",
      allowWatchBookmarks: "true",
      timeoutSeconds: String(seconds),
      resourceVersion: revision === "" ? undefined : revision,
      ...(withInitialEvents && { sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" }),
    },
    signal,
    // A watch is answered at once, so silence is what it is later.
    ...(!withInitialEvents && { answerTimeoutMs: idleMs }),
  });
  return new WatchLines({ answer, op, clock: client.clock, idleMs, signal, shape: eventOf(needs) });
}
