import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { AskedFlow, ExplainAnswer, FromGraph, LoadedSnapshot, ToGraph } from "./messages.ts";

/** The graph on a snapshot, as pages see it. */
export interface GraphView {
  /** The newest snapshot that was loaded whole. */
  readonly snapshot: LoadedSnapshot | undefined;
  /** What is being done; undefined when nothing is. */
  readonly progress: string | undefined;
  readonly error: string | undefined;
  /** Reads the present snapshot. */
  readonly load: () => void;
  /** Resolves with the answer on the snapshot that is loaded then. */
  readonly explain: (flow: AskedFlow) => Promise<ExplainAnswer>;
}

type State = Pick<GraphView, "snapshot" | "progress" | "error">;

/** Starts the thread of the graph, and loads a snapshot, when it is first wanted: clusters are large. */
export function useGraph(isWanted: boolean): GraphView {
  const [state, setState] = useState<State>({ snapshot: undefined, progress: undefined, error: undefined });
  const worker = useRef<Worker>(undefined);
  const waiting = useRef(new Map<number, (answer: ExplainAnswer) => void>());
  const nextId = useRef(0);
  const tell = useCallback((message: ToGraph) => worker.current?.postMessage(message), []);
  const load = useCallback(() => {
    setState((last) => ({ ...last, progress: "Asking for the snapshot", error: undefined }));
    tell({ type: "load" });
  }, []);
  const explain = useCallback(
    (flow: AskedFlow) =>
      new Promise<ExplainAnswer>((resolve) => {
        const id = nextId.current++;
        waiting.current.set(id, resolve);
        tell({ type: "explain", id, flow });
      }),
    [],
  );
  useEffect(() => {
    if (!isWanted || worker.current !== undefined) return;
    worker.current = new Worker("graph-worker.js", { type: "module" });
    worker.current.onmessage = ({ data }: MessageEvent<FromGraph>) => {
      if (data.type === "progress") setState((last) => ({ ...last, progress: data.text }));
      else if (data.type === "failed") setState((last) => ({ ...last, progress: undefined, error: data.message }));
      else if (data.type === "loaded") setState({ snapshot: data.snapshot, progress: undefined, error: undefined });
      else {
        waiting.current.get(data.id)?.(data.answer);
        waiting.current.delete(data.id);
      }
    };
    worker.current.onerror = ({ message }) => {
      const problem = `The thread of the graph has failed: ${message}`;
      setState((last) => ({ ...last, progress: undefined, error: problem }));
      for (const answer of waiting.current.values()) answer({ ok: false, problem });
      waiting.current.clear();
    };
    load();
  }, [isWanted]);
  return { ...state, load, explain };
}
