import type { DataplaneRule } from "@bulrush/proto";
import type { DataplaneState } from "../../state/dataplane-state.ts";
import { type Plain, plain, plainRule } from "./plain.ts";

/** The dataplane's state in the form that {@link expectedState} has. */
export function actualState(state: DataplaneState, synced: boolean): Record<string, Plain> {
  const lists = (of: { inbound_rules: readonly DataplaneRule[]; outbound_rules: readonly DataplaneRule[] }) => ({
    inbound_rules: of.inbound_rules.map(ruleOf),
    outbound_rules: of.outbound_rules.map(ruleOf),
  });
  const each = <V>(map: ReadonlyMap<string, V>, convert: (value: V) => unknown): Record<string, unknown> =>
    Object.fromEntries([...map].map(([key, value]) => [key, convert(value)]));
  const raw = state.config?.source_to_raw_config;
  const sections = {
    ipSets: each(state.ipSets, ({ type, members }) => ({ type, members })),
    policies: each(state.policies, ({ policy }) => ({ ...policy, ...lists(policy) })),
    profiles: each(state.profiles, (profile) => ({ ...profile, ...lists(profile) })),
    workloadEndpoints: each(state.workloadEndpoints, ({ endpoint }) => endpoint),
    hostEndpoints: each(state.hostEndpoints, (endpoint) => endpoint),
    // Types are flags: their order means nothing.
    routes: each(state.routes, (route) => ({ ...route, types: route.types.toSorted() })),
    vteps: state.vteps,
    hostMetadata: state.hostMetadata,
    ipamPools: state.ipamPools,
    services: state.services,
    namespaces: state.namespaces,
    serviceAccounts: state.serviceAccounts,
    wireguard: state.wireguard,
    wireguardV6: state.wireguardV6,
    globalBgpConfig: state.globalBgpConfig ?? NO_BGP_CONFIG,
    ...((synced || state.encapsulation !== undefined) && { encapsulation: state.encapsulation ?? null }),
    ...((synced || state.config !== undefined) && {
      config: {
        global: raw?.get("global") ?? new Map(),
        selector: raw?.get("selector") ?? new Map(),
        host: raw?.get("host") ?? new Map(),
        merged: state.config?.config ?? null,
      },
    }),
  };
  return plain(sections) as Record<string, Plain>;
}

/** A dataplane that was told nothing has none. */
const NO_BGP_CONFIG = {
  msg: "GlobalBGPConfigUpdate",
  service_cluster_cidrs: [],
  service_external_cidrs: [],
  service_loadbalancer_cidrs: [],
  local_workload_peering_ip_v4: "",
  local_workload_peering_ip_v6: "",
};

const knownRules = new WeakMap<DataplaneRule, Plain>();

function ruleOf(rule: DataplaneRule): Plain {
  let known = knownRules.get(rule);
  if (known === undefined) knownRules.set(rule, (known = plainRule(rule)));
  return known;
}
