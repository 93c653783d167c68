import type { StatusView } from "@bulrush/typha";
import type { JSX } from "preact";
import { countText } from "../data/format.ts";
import type { Polled } from "../data/use-polled.ts";
import { ThemeButton } from "./theme-button.tsx";

/** Who this is, and whether all is well: on every page. */
export function ServerHeader({ status }: { readonly status: Polled<StatusView> }): JSX.Element {
  const { value, error } = status;
  return (
    <header>
      <div class="row">
        <strong class="brand">Bulrush</strong>
        {value !== undefined && (
          <span class="dim">
            {value.name} · {value.version}
          </span>
        )}
        {value !== undefined && <State status={value} />}
        {value !== undefined && <span class="dim">{countText(value.connections.streaming)} streams</span>}
        <span class="grow" />
        <ThemeButton />
      </div>
      {error !== undefined && (
        <p class="notice bad" role="alert">
          {error}. What is shown is as it was last read.
        </p>
      )}
      {(value?.problems ?? []).length > 0 && (
        <details class="notice warn">
          <summary>
            {value?.problems.length} {value?.problems.length === 1 ? "problem" : "problems"} with the stored data
          </summary>
          <ul>
            {value?.problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </details>
      )}
      {value !== undefined && !value.ready && (
        <details class="notice warn" open>
          <summary>Not ready: no new clients are sent here</summary>
          <pre>{value.health}</pre>
        </details>
      )}
    </header>
  );
}

function State({ status: { state, ready } }: { readonly status: StatusView }): JSX.Element {
  return <span class={`tag ${ready ? "good" : "warn"}`}>{ready ? "ready" : state === "running" ? "not ready" : state}</span>;
}
