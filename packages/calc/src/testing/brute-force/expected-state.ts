import { entriesOf, isLocal, type View } from "./contents.ts";
import { expectedHost, expectedWorkload } from "./endpoints.ts";
import { expectedConfig, expectedEncapsulation, expectedPassthrough } from "./passthrough.ts";
import { type Plain, plain, plainRule } from "./plain.ts";
import { activePolicies, activeProfiles, tierOf } from "./policies.ts";
import { expectedRoutes } from "./routes.ts";
import { expectedRule, setsOf } from "./rules.ts";
import { expectedSet, type SetSpec, setId } from "./sets.ts";
import { expectedVteps } from "./vteps.ts";
import type { Rule } from "@bulrush/model";
import { normaliseSelector } from "@bulrush/selector";

/**
 * What a dataplane must have, worked out anew from all of the contents: each endpoint is compared with each policy,
 * each set with each address. Written from the description of the system, as the judge of the graph; it shares
 * nothing with it but the selector parser and the readers of addresses.
 *
 * `synced`: the datastore has been in sync; endpoints and settings wait for that.
 */
export function expectedState(view: View, synced: boolean): Record<string, Plain> {
  const { contents } = view;
  const policies = activePolicies(view);
  const rules = new Map(entriesOf(contents, "ProfileRules").map(([key, value]) => [key.name, value]));
  const profiles = [...activeProfiles(view)].map((name) => ({ name, value: rules.get(name) }));
  const used = [...policies.map(({ policy }) => policy), ...profiles.map(({ value }) => value)]
    .flatMap((lists) => [...(lists?.inbound_rules ?? []), ...(lists?.outbound_rules ?? [])])
    .flatMap(setsOf);
  if (view.config.istioAmbient) used.push({ kind: "ambient" });
  const sets = new Map<string, SetSpec>(used.map((spec) => [setId(spec), spec]));
  const isShown = (key: { readonly hostname: string }): boolean => synced && isLocal(view, key.hostname);
  const host = (name: string): string => (view.hostname === "*" ? `${name}/` : "");
  const sections = {
    ipSets: Object.fromEntries([...sets].map(([id, spec]) => [id, expectedSet(view, spec)])),
    policies: Object.fromEntries(
      policies.map(({ key, policy }) => [
        key.namespace === "" ? `${key.kind}/${key.name}` : `${key.kind}/${key.namespace}/${key.name}`,
        {
          inbound_rules: expectedRules(policy.inbound_rules),
          outbound_rules: expectedRules(policy.outbound_rules),
          untracked: policy.untracked ?? false,
          pre_dnat: policy.pre_dnat ?? false,
          namespace: policy.namespace ?? "",
          tier: tierOf(policy),
          original_selector: normaliseSelector(policy.selector),
          perf_hints: policy.performance_hints ?? [],
        },
      ]),
    ),
    profiles: Object.fromEntries(
      profiles.map(({ name, value }) => [
        name,
        {
          // A profile that nobody defined denies.
          inbound_rules: expectedRules(value?.inbound_rules ?? [{ action: "deny" }]),
          outbound_rules: expectedRules(value?.outbound_rules ?? [{ action: "deny" }]),
        },
      ]),
    ),
    workloadEndpoints: Object.fromEntries(
      entriesOf(contents, "WorkloadEndpoint")
        .filter(([key]) => isShown(key))
        .map(([key, value]) => [
          `${host(key.hostname)}${key.orchestrator}/${key.workload}/${key.endpoint}`,
          expectedWorkload(view, key, value),
        ]),
    ),
    hostEndpoints: Object.fromEntries(
      entriesOf(contents, "HostEndpoint")
        .filter(([key]) => isShown(key))
        .map(([key, value]) => [`${host(key.hostname)}${key.endpoint}`, expectedHost(view, value)]),
    ),
    routes: expectedRoutes(view),
    vteps: expectedVteps(view),
    ...expectedPassthrough(view),
    ...(synced && { encapsulation: expectedEncapsulation(view), config: expectedConfig(view) }),
  };
  return plain(sections) as Record<string, Plain>;
}

function expectedRules(rules: readonly Rule[]): Plain[] {
  return rules.map((rule) => {
    // What a rule means depends on nothing else.
    let expected = knownRules.get(rule);
    if (expected === undefined) knownRules.set(rule, (expected = plainRule(expectedRule(rule))));
    return expected;
  });
}

const knownRules = new WeakMap<Rule, Plain>();
