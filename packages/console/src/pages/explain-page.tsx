import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { routeHash } from "../data/use-route.ts";
import type { AskedFlow, ExplainAnswer } from "../graph/messages.ts";
import type { GraphView } from "../graph/use-graph.ts";
import { GraphBar } from "../parts/graph-bar.tsx";
import { Verdict } from "../parts/verdict.tsx";

const FIELDS: readonly (readonly [keyof AskedFlow, label: string, hint: string])[] = [
  ["from", "From", "namespace/pod or address"],
  ["to", "To", "namespace/pod, address, service:namespace/name"],
  ["protocol", "Protocol", "tcp"],
  ["port", "Port", "443"],
];
/** Names that are offered: more make the list slow. */
const MAX_OFFERED = 1000;

interface Props {
  readonly graph: GraphView;
  /** The flow: `from`, `to`, `protocol`, `port`. */
  readonly query: URLSearchParams;
}

/** May this connection be made, and which rule says so? Worked out here, on the snapshot of this Typha. */
export function ExplainPage({ graph, query }: Props): JSX.Element {
  const asked: AskedFlow = {
    from: query.get("from") ?? "",
    to: query.get("to") ?? "",
    protocol: query.get("protocol") ?? "tcp",
    port: query.get("port") ?? "",
  };
  const [typed, setTyped] = useState(asked);
  const [answer, setAnswer] = useState<ExplainAnswer>();
  const { snapshot } = graph;
  const isAsked = asked.from !== "" || asked.to !== "";
  useEffect(() => {
    if (snapshot === undefined || !isAsked) return;
    let isOld = false;
    void graph.explain(asked).then((result) => {
      if (!isOld) setAnswer(result);
    });
    return () => {
      isOld = true;
    };
  }, [snapshot, asked.from, asked.to, asked.protocol, asked.port]);
  const submit = (event: Event): void => {
    event.preventDefault();
    location.hash = routeHash("explain", new URLSearchParams({ ...typed }));
  };
  return (
    <>
      <GraphBar graph={graph} />
      <form class="fields" onSubmit={submit}>
        {FIELDS.map(([name, label, hint]) => (
          <label key={name}>
            {label}
            <input
              name={name}
              value={typed[name]}
              placeholder={hint}
              list={name === "from" || name === "to" ? "ends" : undefined}
              autocomplete="off"
              onInput={({ currentTarget }) => setTyped({ ...typed, [name]: currentTarget.value })}
            />
          </label>
        ))}
        <datalist id="ends">
          {(snapshot?.ends ?? []).slice(0, MAX_OFFERED).map((end) => (
            <option key={end} value={end} />
          ))}
        </datalist>
        <button type="submit" class="primary">
          Explain
        </button>
      </form>
      <div aria-live="polite">
        {answer !== undefined && isAsked && (answer.ok ? answer.answers.map(({ flow, verdict }) => <Verdict key={`${flow.to} ${flow.port}`} flow={flow} verdict={verdict} />) : <p class="notice bad">{answer.problem}</p>)}
      </div>
    </>
  );
}
