import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { countText } from "../data/format.ts";
import type { ListedPolicy, ListedTier } from "../graph/policy-list.ts";
import type { GraphView } from "../graph/use-graph.ts";
import { GraphBar } from "../parts/graph-bar.tsx";

/** Policies of a tier that are shown at first. */
const SHOWN = 100;

interface Props {
  readonly graph: GraphView;
  /** `policy`: the one that is asked for. */
  readonly query: URLSearchParams;
}

/** Every policy, in the order in which packets meet them. */
export function PoliciesPage({ graph, query }: Props): JSX.Element {
  const asked = query.get("policy") ?? "";
  const [search, setSearch] = useState(asked);
  const text = search.trim().toLowerCase();
  const tiers = (graph.snapshot?.tiers ?? []).map((tier) => ({
    ...tier,
    policies: tier.policies.filter(
      ({ id, selector }) => text === "" || id.toLowerCase().includes(text) || selector.toLowerCase().includes(text),
    ),
  }));
  return (
    <>
      <GraphBar graph={graph} />
      <div class="row bar">
        <label>
          Search{" "}
          <input
            type="search"
            value={search}
            placeholder="name or selector"
            onInput={({ currentTarget }) => setSearch(currentTarget.value)}
          />
        </label>
      </div>
      {tiers.map((tier) => (
        <Tier key={tier.name} tier={tier} asked={asked} />
      ))}
      {graph.snapshot !== undefined && (
        <p class="dim">
          Behind all tiers come the profiles of the endpoint (its namespace and service account); what they do not
          decide is denied.
        </p>
      )}
    </>
  );
}

function Tier({ tier, asked }: { readonly tier: ListedTier; readonly asked: string }): JSX.Element {
  const [shown, setShown] = useState(SHOWN);
  return (
    <section>
      <h2>
        Tier {tier.name} <span class="dim small">order {tier.order ?? "last"}</span>
      </h2>
      <ol class="policies">
        {tier.policies.slice(0, shown).map((policy) => (
          <li key={policy.id}>
            <PolicyItem policy={policy} isOpen={policy.id === asked} />
          </li>
        ))}
      </ol>
      {tier.policies.length > shown && (
        <button type="button" onClick={() => setShown(shown + SHOWN)}>
          Show more of the other {countText(tier.policies.length - shown)}
        </button>
      )}
      <p class="dim">
        {tier.policies.length === 0 ? "No policy. " : ""}
        {tier.defaultAction === "Pass"
          ? "What none of them decides goes on to the next tier."
          : "Where one of them applies to an endpoint, what none decides is denied."}
      </p>
    </section>
  );
}

function PolicyItem({ policy, isOpen }: { readonly policy: ListedPolicy; readonly isOpen: boolean }): JSX.Element {
  return (
    <details open={isOpen}>
      <summary>
        <span class="name">{policy.id}</span> <span class="dim small">order {policy.order ?? "last"}</span>{" "}
        {policy.staged && <span class="tag">staged</span>}{" "}
        {policy.traits.map((trait) => (
          <span key={trait} class="tag">
            {trait}
          </span>
        ))}{" "}
        <span class={`small ${policy.endpoints === 0 ? "text-warn" : "dim"}`}>
          {policy.endpoints === 0 ? "applies to nothing" : `applies to ${countText(policy.endpoints)}`}
        </span>
      </summary>
      <p>
        Selects <code>{policy.selector}</code>
      </p>
      <Rules title="Ingress" rules={policy.ingress} />
      <Rules title="Egress" rules={policy.egress} />
      {policy.examples.length > 0 && (
        <p class="dim small">
          {policy.examples.join(", ")}
          {policy.endpoints > policy.examples.length ? " and others" : ""}
        </p>
      )}
    </details>
  );
}

function Rules({ title, rules }: { readonly title: string; readonly rules: readonly string[] | null }): JSX.Element {
  if (rules === null) return <p class="dim">{title}: not its business</p>;
  return (
    <>
      <h3>{title}</h3>
      {rules.length === 0 ? (
        <p class="dim">No rule: nothing is let in by this policy.</p>
      ) : (
        <ol start={0} class="rules">
          {rules.map((rule, i) => (
            <li key={i}>
              <code>{rule}</code>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
