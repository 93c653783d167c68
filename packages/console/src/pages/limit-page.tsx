import type { LimitForecast, StatusView } from "@bulrush/typha";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { countText } from "../data/format.ts";
import { fetchJson } from "../data/use-polled.ts";
import { Figures } from "../parts/figures.tsx";

type Inputs = Readonly<Record<"typhas" | "nodes" | "lower" | "upper" | "syncerTypes" | "connections" | "basis", string>>;

const FIELDS: readonly (readonly [name: Exclude<keyof Inputs, "basis">, label: string])[] = [
  ["typhas", "Typhas that are ready"],
  ["nodes", "Nodes"],
  ["lower", "Lower limit"],
  ["upper", "Upper limit"],
  ["syncerTypes", "Streams of a node"],
  ["connections", "Connections (may be empty)"],
];

/** The connection limit of this Typha, what it is worked out from, and what it would be. */
export function LimitPage({ status }: { readonly status: StatusView | undefined }): JSX.Element {
  if (status === undefined) return <p class="dim">Reading the limit …</p>;
  const { connections, balance } = status;
  return (
    <>
      <Figures
        of={[
          { name: "Streams here", value: countText(connections.streaming) },
          balance === null
            ? { name: "Limit", value: "none", note: "TYPHA_CONNECTIONREBALANCINGMODE is not kubernetes" }
            : {
                name: "Limit",
                value: countText(balance.limit),
                note: balance.reason,
                tone: connections.streaming > balance.limit ? "warn" : "good",
              },
          { name: "More are rejected", value: countText(connections.limit), note: "the upper limit" },
          ...(balance === null
            ? []
            : [
                { name: "Ready Typhas", value: balance.typhas === null ? "unknown" : countText(balance.typhas) },
                { name: "Nodes", value: balance.nodes === null ? "unknown" : countText(balance.nodes) },
              ]),
        ]}
      />
      {balance?.problem !== null && balance?.problem !== undefined && <p class="notice warn">{balance.problem}</p>}
      {balance !== null && balance.peers.length > 0 && <Peers balance={balance} />}
      <WhatIf key={balance === null ? "none" : "some"} status={status} />
    </>
  );
}

function Peers({ balance }: { readonly balance: NonNullable<StatusView["balance"]> }): JSX.Element {
  return (
    <section>
      <h2>The other Typhas</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="The other Typhas">
        <table>
          <thead>
            <tr>
              <th>Address</th>
              <th class="number">Streams</th>
              <th class="number">Limit</th>
              <th>Takes clients</th>
            </tr>
          </thead>
          <tbody>
            {balance.peers.map(({ address, streams, limit, takesClients }) => (
              <tr key={address}>
                <td>{address}</td>
                <td class="number">{streams === null ? "does not answer" : countText(streams)}</td>
                <td class="number">{limit === null ? "–" : countText(limit)}</td>
                <td>{takesClients ? "yes" : "no"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function inputsOf({ balance, connections }: StatusView): Inputs {
  const known = balance?.peers.map(({ streams }) => streams) ?? [];
  const all = known.every((streams) => streams !== null)
    ? String(known.reduce<number>((sum, streams) => sum + (streams ?? 0), connections.streaming))
    : "";
  return {
    typhas: String(balance?.typhas ?? 3),
    nodes: String(balance?.nodes ?? 100),
    lower: String(balance?.settings.lower ?? 400),
    upper: String(balance?.settings.upper ?? 10_000),
    syncerTypes: String(balance?.settings.syncerTypes ?? 4),
    connections: balance === null ? "" : all,
    basis: balance?.settings.basis ?? "formula",
  };
}

/** Asks the server, whose code the limit is. */
function WhatIf({ status }: { readonly status: StatusView }): JSX.Element {
  const [inputs, setInputs] = useState<Inputs>(() => inputsOf(status));
  const [forecast, setForecast] = useState<LimitForecast>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const abort = new AbortController();
    fetchJson<LimitForecast>(`/api/v1/forecast?${new URLSearchParams(inputs)}`, abort.signal).then(
      (answer) => {
        setForecast(answer);
        setProblem(undefined);
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setProblem((error as Error).message);
      },
    );
    return () => abort.abort();
  }, [inputs]);
  const { mean, ratio } = forecast ?? {};
  return (
    <section>
      <h2>What if</h2>
      <form class="fields" onSubmit={(event) => event.preventDefault()}>
        {FIELDS.map(([name, label]) => (
          <label key={name}>
            {label}
            <input
              name={name}
              inputMode="numeric"
              value={inputs[name]}
              onInput={({ currentTarget }) => setInputs({ ...inputs, [name]: currentTarget.value })}
            />
          </label>
        ))}
        <label>
          Basis
          <select
            name="basis"
            value={inputs.basis}
            onChange={({ currentTarget }) => setInputs({ ...inputs, basis: currentTarget.value })}
          >
            <option value="formula">formula (nodes)</option>
            <option value="observed">observed (connections)</option>
          </select>
        </label>
      </form>
      <div aria-live="polite">
        {problem !== undefined && <p class="notice bad">{problem}</p>}
        {problem === undefined && forecast !== undefined && (
          <>
            <Figures
              of={[
                { name: "Limit would be", value: countText(forecast.limit), note: forecast.reason },
                { name: "Connections in all", value: countText(forecast.connections) },
                { name: "Mean of a Typha", value: mean === undefined || mean === null ? "–" : countText(mean) },
                {
                  name: "Slack",
                  value: ratio === undefined || ratio === null ? "–" : `${ratio.toFixed(2)} times the mean`,
                },
              ]}
            />
            {forecast.warnings.map(({ code, message }) => (
              <p key={code} class="notice warn">
                {message}
              </p>
            ))}
          </>
        )}
      </div>
    </section>
  );
}
