import type { ExplainStep, FlowVerdict, HostVerdict, Outcome, SideVerdict } from "@bulrush/calc";
import type { JSX } from "preact";
import { routeHash } from "../data/use-route.ts";
import type { AskedFlow } from "../graph/messages.ts";

/** A verdict with everything that was looked at on the way to it. */
export function Verdict({ flow, verdict }: { readonly flow: AskedFlow; readonly verdict: FlowVerdict }): JSX.Element {
  return (
    <section>
      <h2>
        <Word word={verdict.verdict} /> {flow.from} → {flow.to}{" "}
        <span class="dim">
          {flow.protocol} {flow.port}, IPv{verdict.ipVersion}
        </span>
      </h2>
      {(verdict.notes ?? []).map((note) => (
        <p key={note} class="notice">
          {note}
        </p>
      ))}
      {verdict.staged !== undefined && (
        <p class="notice">
          If the staged policies were enforced: <Word word={verdict.staged} />
        </p>
      )}
      <div class="columns">
        <Side title={`Egress of ${flow.from}`} end={flow.from} side={verdict.egress} />
        <Side title={`Ingress of ${flow.to}`} end={flow.to} side={verdict.ingress} />
      </div>
      {(verdict.hosts ?? []).map((host) => (
        <HostSide key={`${host.endpoint} ${host.direction} ${host.stage}`} host={host} />
      ))}
    </section>
  );
}

function Side({ title, end, side }: { readonly title: string; readonly end: string; readonly side: SideVerdict | undefined }): JSX.Element {
  return (
    <article>
      <h3>{title}</h3>
      {side === undefined ? (
        <p class="dim">Not judged: {end} is not an endpoint of this cluster.</p>
      ) : (
        <>
          <p>
            <Word word={side.verdict} /> <Decider by={side} />
          </p>
          <p>{side.why}</p>
          {side.next !== undefined && (
            <p class="dim">
              Were that not there: <OutcomeText outcome={side.next} />
            </p>
          )}
          {side.staged !== undefined && (
            <p class="dim">
              With the staged policies: <OutcomeText outcome={side.staged} />
            </p>
          )}
          <Steps steps={side.steps} />
          {side.unselected !== undefined && side.unselected.length > 0 && (
            <details>
              <summary>
                {side.unselected.length === 1 ? "A policy that does" : `${side.unselected.length} policies that do`} not apply, and why
              </summary>
              <ul>
                {side.unselected.map(({ policy, why }) => (
                  <li key={policy}>
                    <PolicyLink policy={policy} />: {why}
                  </li>
                ))}
              </ul>
            </details>
          )}
        </>
      )}
    </article>
  );
}

function HostSide({ host }: { readonly host: HostVerdict }): JSX.Element {
  return (
    <article>
      <h3>
        Host endpoint {host.endpoint}, {host.direction}, {host.stage}
      </h3>
      <p>
        <Word word={host.verdict} /> <Decider by={host} />
      </p>
      <p>{host.why}</p>
      <Steps steps={host.steps} />
    </article>
  );
}

function Steps({ steps }: { readonly steps: readonly ExplainStep[] }): JSX.Element {
  return (
    <ol class="steps">
      {steps.map((step, i) => (
        <li key={i} class={step.outcome}>
          <span class="name">
            {step.policy === "" ? (step.tier === "" ? "the end" : `end of tier ${step.tier}`) : <PolicyLink policy={step.policy} />}
            {step.rule === null ? "" : `, rule ${step.rule}`}
          </span>{" "}
          <span class={`tag ${toneOf(step)}`}>{step.action === "none" ? step.outcome : `${step.outcome}: ${step.action}`}</span>
          <div class="dim small">{step.why}</div>
        </li>
      ))}
    </ol>
  );
}

function Decider({ by }: { readonly by: Pick<SideVerdict, "tier" | "policy" | "rule"> }): JSX.Element {
  const { tier, policy, rule } = by;
  if (policy === "") return <>{tier === "" ? "" : `by the end of tier ${tier}`}</>;
  return (
    <>
      by <PolicyLink policy={policy} />
      {rule === null ? "" : `, rule ${rule}`}
      {tier === "" ? "" : ` (tier ${tier})`}
    </>
  );
}

function OutcomeText({ outcome }: { readonly outcome: Outcome }): JSX.Element {
  return (
    <>
      <Word word={outcome.verdict} /> <Decider by={outcome} />: {outcome.why}
    </>
  );
}

function PolicyLink({ policy }: { readonly policy: string }): JSX.Element {
  if (policy.startsWith("profile/")) return <>{policy}</>;
  return <a href={routeHash("policies", new URLSearchParams({ policy }))}>{policy}</a>;
}

function Word({ word }: { readonly word: "allow" | "deny" | "none" }): JSX.Element {
  const tone = word === "allow" ? "good" : word === "deny" ? "bad" : "";
  return <span class={`tag ${tone}`}>{word === "none" ? "goes on" : word}</span>;
}

function toneOf({ outcome, action }: ExplainStep): string {
  if (outcome === "not-matched" || outcome === "omitted" || outcome === "skipped") return "";
  return action === "allow" ? "good" : action === "deny" ? "bad" : "";
}
