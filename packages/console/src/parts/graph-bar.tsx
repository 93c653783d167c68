import type { JSX } from "preact";
import { countText } from "../data/format.ts";
import type { GraphView } from "../graph/use-graph.ts";

/** Of which snapshot a page speaks, and how to get a newer one. */
export function GraphBar({ graph }: { readonly graph: GraphView }): JSX.Element {
  const { snapshot, progress, error, load } = graph;
  return (
    <div class="row bar" aria-live="polite">
      {snapshot !== undefined && (
        <span class="dim">
          Sequence {snapshot.sequence} with {countText(snapshot.keys)} keys, read at{" "}
          {new Date(snapshot.atMs).toLocaleTimeString()}
          {snapshot.status === "in-sync" ? "" : `; the stream is ${snapshot.status}`}
          {snapshot.unknownKeys === 0 ? "" : `; ${snapshot.unknownKeys} keys are not known to this console`}
        </span>
      )}
      {progress !== undefined && <span>{progress} …</span>}
      {error !== undefined && <span class="text-bad">{error}</span>}
      <span class="grow" />
      <button type="button" onClick={load} disabled={progress !== undefined}>
        {snapshot === undefined ? "Read the snapshot" : "Read it again"}
      </button>
    </div>
  );
}
