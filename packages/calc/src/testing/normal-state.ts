import type { DataplanePolicy, DataplaneProfile, GlobalBGPConfigUpdate, PolicyID, TierInfo } from "@bulrush/proto";
import type { DataplaneState } from "../state/dataplane-state.ts";
import { policyIdText } from "../state/id-text.ts";

/** A tier in short: `name: ingress policies | egress policies (default action)`. */
type TierText = string;

/** The dataplane's state as plain data, in which order counts only where it means something. */
export interface Normal {
  readonly ipSets: Readonly<Record<string, readonly string[]>>;
  readonly policies: Readonly<Record<string, DataplanePolicy>>;
  readonly profiles: Readonly<Record<string, DataplaneProfile>>;
  readonly workloads: Readonly<Record<string, unknown>>;
  readonly workloadTiers: Readonly<Record<string, readonly TierText[]>>;
  readonly hosts: Readonly<Record<string, unknown>>;
  readonly hostTiers: Readonly<Record<string, Readonly<Record<string, readonly TierText[]>>>>;
  readonly others: Readonly<Record<string, unknown>>;
}

export function normalState(state: DataplaneState): Normal {
  return {
    ipSets: record(state.ipSets, (set) => [...set.members].sort()),
    policies: record(state.policies, ({ policy }) => policy),
    profiles: record(state.profiles, (profile) => profile),
    workloads: record(state.workloadEndpoints, ({ endpoint }) => endpoint),
    workloadTiers: record(state.workloadEndpoints, ({ endpoint }) => endpoint.tiers.map(tierText)),
    hosts: record(state.hostEndpoints, (endpoint) => endpoint),
    hostTiers: record(state.hostEndpoints, (endpoint) => ({
      normal: endpoint.tiers.map(tierText),
      forward: endpoint.forward_tiers.map(tierText),
      untracked: endpoint.untracked_tiers.map(tierText),
      preDnat: endpoint.pre_dnat_tiers.map(tierText),
    })),
    others: {
      config: state.config,
      encapsulation: state.encapsulation,
      // An empty one stands for none.
      globalBgpConfig: isEmptyBgp(state.globalBgpConfig) ? undefined : state.globalBgpConfig,
      hostMetadata: record(state.hostMetadata, same),
      ipamPools: record(state.ipamPools, same),
      serviceAccounts: record(state.serviceAccounts, same),
      namespaces: record(state.namespaces, same),
      routes: record(state.routes, same),
      vteps: record(state.vteps, same),
      wireguard: record(state.wireguard, same),
      wireguardV6: record(state.wireguardV6, same),
      services: record(state.services, same),
    },
  };
}

/** `default: pol-1,pol-2 | pol-1 (Deny)`; names alone, since most tests have one kind. */
function tierText(tier: TierInfo): TierText {
  const names = (ids: readonly PolicyID[]): string =>
    ids.map((id) => (id.kind === "GlobalNetworkPolicy" ? id.name : policyIdText(id))).join();
  return `${tier.name}: ${names(tier.ingress_policies)} | ${names(tier.egress_policies)} (${tier.default_action})`;
}

function same(value: unknown): unknown {
  return value;
}

function record<V, R>(map: ReadonlyMap<string, V>, convert: (value: V) => R): Record<string, R> {
  return Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, value]) => [key, convert(value)]));
}

function isEmptyBgp(message: GlobalBGPConfigUpdate | undefined): boolean {
  return Object.entries(message ?? {}).every(([field, value]) => field === "msg" || value.length === 0);
}
