import { LoadedGraph } from "./loaded-graph.ts";
import type { FromGraph, ToGraph } from "./messages.ts";
import { FrameCutter } from "./read-frames.ts";

/**
 * The thread that has the graph, so that the page stays quick while it is made.
 *
 * Invariant: `graph` is the last that was loaded whole; a load that fails leaves it.
 */
let graph: LoadedGraph | undefined;

function tell(message: FromGraph): void {
  postMessage(message);
}

async function load(): Promise<void> {
  const response = await fetch("/api/v1/snapshot/felix");
  if (!response.ok || response.body === null) {
    const body = (await response.json().catch(() => ({}))) as { error?: string };
    throw new Error(body.error ?? `The snapshot cannot be read: ${response.status}`);
  }
  const all = Number(response.headers.get("x-bulrush-keys"));
  const next = new LoadedGraph();
  const cutter = new FrameCutter();
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    for (const message of cutter.push(value)) next.take(message);
    tell({ type: "progress", text: `Reading the snapshot: ${next.keys} of ${all} keys` });
  }
  cutter.end();
  tell({ type: "progress", text: `Working out the policies of ${all} keys` });
  const snapshot = next.finish(response.headers.get("x-bulrush-epoch") ?? "", Date.now());
  graph = next;
  tell({ type: "loaded", snapshot });
}

addEventListener("message", ({ data }: MessageEvent<ToGraph>) => {
  if (data.type === "load") {
    load().catch((error: unknown) => tell({ type: "failed", message: (error as Error).message }));
    return;
  }
  const answer = graph?.explain(data.flow) ?? { ok: false, problem: "There is no snapshot yet" };
  tell({ type: "explained", id: data.id, answer });
});
