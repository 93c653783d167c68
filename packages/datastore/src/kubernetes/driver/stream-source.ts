import { DatastoreError } from "../../errors.ts";
import { ALL } from "../../json/shape.ts";
import type { KubeClient } from "../client/kube-client.ts";
import { opOf, type RawPage, type SourceListRequest } from "./list-source.ts";
import { openWatch } from "./open-watch.ts";
import { rawEvents } from "./raw-events.ts";

/** Silence in the middle of a list. The server looks at its clock for about 3 s before the first event. */
const IDLE_MS = 30_000;
/** A list of any size is over by then. */
const MAX_SECONDS = 600;

/**
 * Text whose objects are gathered before they are given out: a piece of a stream has only two pods or three, and each
 * page goes through many hands. What was not given out need not be trusted when the stream goes wrong.
 */
const MIN_PAGE_BYTES = 64 * 1024;

/**
 * The server has no streams of lists, or this one did not come to its end: the list must be read in pages. What was
 * given out is true but not complete.
 */
export class NoListStream extends Error {
  override readonly name = "NoListStream";
  /** The server said no: it will not do better next time. */
  readonly isRefused: boolean;

  constructor(message: string, isRefused: boolean, cause?: unknown) {
    super(message, { cause });
    this.isRefused = isRefused;
  }
}

/**
 * The objects of one list as a watch that begins with them (`sendInitialEvents`): the server neither looks into etcd
 * nor builds the list. Ends with the bookmark that says so.
 *
 * @throws NoListStream; DatastoreError when there was no answer, or one of another kind.
 */
export async function* streamSource(
  client: KubeClient,
  { selection, revision, signal, needs = ALL }: Omit<SourceListRequest, "isPaged">,
): AsyncGenerator<RawPage, void, undefined> {
  const op = opOf("List", selection);
  const options = { idleMs: IDLE_MS, seconds: MAX_SECONDS, withInitialEvents: true };
  const opened = openWatch(client, { selection, revision, signal, needs, ...options });
  const lines = await opened.catch((error: unknown) => {
    const isRefused = error instanceof DatastoreError && error.code === "DATASTORE_INVALID";
    throw isRefused ? new NoListStream(error.message, true, error) : error;
  });
  let objects: unknown[] = [];
  let bytes = 0;
  try {
    for (let piece = await lines.next(); piece !== undefined; piece = await lines.next()) {
      for (const event of rawEvents(piece, op)) {
        switch (event.type) {
          case "added":
          case "modified":
            objects.push(event.object);
            break;
          case "bookmark":
            if (!event.isInitialEnd) break;
            yield { objects, revision: event.revision };
            return;
          case "deleted":
            // Its beginning has gone out as a part of the list.
            throw new NoListStream(`${op}: something was deleted in the middle of the list`, false);
          case "error":
            // An etcd that is too old for it (3.4) shows only here.
            throw event.error.code === "DATASTORE_FAILED"
              ? new NoListStream(event.error.message, true, event.error)
              : event.error;
        }
      }
      bytes += piece.length;
      if (bytes < MIN_PAGE_BYTES) continue;
      yield { objects, revision: "" };
      objects = [];
      bytes = 0;
    }
    signal.throwIfAborted();
    throw new NoListStream(`${op}: the stream ended in the middle of the list`, false);
  } finally {
    lines.close();
  }
}
