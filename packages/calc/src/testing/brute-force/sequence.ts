import { formatKey, type Key, type PolicyKey } from "@bulrush/model";
import { type CalcGraphConfig, DEFAULT_CALC_CONFIG } from "../../graph/config.ts";
import { HOST, type KV } from "../harness.ts";
import type { View } from "./contents.ts";
import type { Dice } from "./dice.ts";
import {
  randomBlock,
  randomNode,
  randomPool,
  randomSetting,
  randomTunnelEnd,
  randomWireguard,
} from "./random-address-plan.ts";
import { PROFILES, randomHostEndpoint, randomNetworkSet, randomWorkload } from "./random-endpoint.ts";
import { KINDS, randomPolicy, randomProfileRules, randomTier, TIERS } from "./random-policy.ts";
import { focusedRule } from "./random-rule.ts";
import {
  randomBgpConfig,
  randomBgpPeer,
  randomFelixConfig,
  randomMigration,
  randomProfile,
  randomProfileLabels,
  randomService,
  randomSlice,
} from "./random-resource.ts";

/** One thing that happens to a graph. Each stands for itself, so that leaving one out leaves a sequence. */
export type Step =
  | { readonly set: KV }
  | { readonly drop: Key }
  | { readonly status: "resync" | "in-sync" | "wait-for-ready" }
  | { readonly flush: true };

export interface Sequence {
  readonly steps: readonly Step[];
  /** How many updates come in one batch at most: fewer before a status or a flush. */
  readonly batch: number;
  readonly view: Omit<View, "contents">;
}

type Make = (d: Dice) => KV;

/** What policy is made of, and how often. */
const POLICY_KINDS: readonly (readonly [number, Make])[] = [
  [8, randomWorkload],
  [3, randomHostEndpoint],
  [3, randomNetworkSet],
  [8, (d) => randomPolicy(d)],
  [2, randomTier],
  [2, randomProfileRules],
  [3, randomProfile],
  [1, randomProfileLabels],
  [3, randomSlice],
];

const ALL_KINDS: readonly (readonly [number, Make])[] = [
  ...POLICY_KINDS,
  [1, randomService],
  [3, randomNode],
  [2, randomPool],
  [2, randomBlock],
  [1, randomWireguard],
  [1, randomSetting],
  [3, randomTunnelEnd],
  [1, randomBgpPeer],
  [1, randomMigration],
  [1, randomBgpConfig],
  [1, randomFelixConfig],
];

function randomKV(d: Dice, kinds: readonly (readonly [number, Make])[]): KV {
  let at = d.below(kinds.reduce((sum, [weight]) => sum + weight, 0));
  for (const [weight, make] of kinds) {
    if (at < weight) return make(d);
    at -= weight;
  }
  return randomPolicy(d);
}

/**
 * Contents of a datastore, for verdicts: what policy is made of, mostly with tiers and profiles that are there, so that
 * not everything ends in the default.
 */
export function randomContents(d: Dice): KV[] {
  const every = (action: "allow" | "deny"): KV["value"] => ({
    inbound_rules: [{ action }],
    outbound_rules: [{ action }],
  });
  const tiers = TIERS.filter(() => d.chance(0.95)).map((name): KV => {
    const defaultAction = d.chance(0.85) ? "Pass" : "Deny";
    return { key: { type: "Tier", name }, value: { order: d.below(3), defaultAction } };
  });
  const profiles = PROFILES.filter(() => d.chance(0.7)).map(
    (name): KV => ({ key: { type: "ProfileRules", name }, value: every(d.chance(0.9) ? "allow" : "deny") }),
  );
  const policies = Array.from({ length: d.below(8) }, () => randomPolicy(d, focusedRule));
  const others = Array.from({ length: 5 + d.below(20) }, () => randomKV(d, POLICY_KINDS));
  // Of one key, the last counts.
  return [...others, ...policies, ...tiers, ...profiles];
}

function randomConfig(d: Dice): CalcGraphConfig {
  const isRouting = d.chance(0.7);
  const enabled = (p: number): boolean => isRouting && d.chance(p);
  return {
    suppressOverlaps: d.chance(0.7),
    istioAmbient: d.chance(0.3),
    routeSource: d.pick(["CalicoIPAM", "CalicoIPAM", "WorkloadIPs"]),
    ipipEnabled: enabled(0.5),
    vxlanEnabled: enabled(0.6),
    vxlanEnabledV6: enabled(0.4),
    wireguardEnabled: enabled(0.3),
    noEncapNeeded: enabled(0.3),
    programClusterRoutes: d.pick(["Enabled", "Disabled", "EnabledIPIPOnly", "EnabledNoEncapOnly"]),
    explicitIPIPEnabled: d.pick([undefined, undefined, true, false]),
    explicitVXLANEnabled: d.pick([undefined, undefined, true, false]),
  };
}

/**
 * Adds, changes (of one field or more), deletes, repeats and spurious deletes, with flushes and statuses in between;
 * in sync at a random time and flushed at the end.
 */
export function randomSequence(d: Dice): Sequence {
  const isWhole = d.chance(0.15);
  const view = isWhole
    ? { hostname: "*", config: { ...DEFAULT_CALC_CONFIG, suppressOverlaps: d.chance(0.7) } }
    : { hostname: HOST, config: randomConfig(d) };
  const kinds = d.chance(0.4) ? POLICY_KINDS : ALL_KINDS;
  const live = new Map<string, KV>();
  const steps: Step[] = [];
  const set = (kv: KV): void => {
    live.set(formatKey(kv.key), kv);
    steps.push({ set: kv });
  };
  const length = 5 + d.below(d.chance(0.03) ? 300 : 60);
  const syncAt = d.below(length);
  for (let i = 0; i < length; i++) {
    if (i === syncAt) steps.push({ status: "in-sync" });
    const known = d.chance(0.35) && live.size > 0 ? d.pick([...live.values()]) : undefined;
    if (known === undefined) {
      const kv = randomKV(d, kinds);
      // A graph of all hosts is on no node that a peer could name.
      if (!(isWhole && kv.key.type === "Resource" && kv.key.kind === "BGPPeer")) set(kv);
    } else if (known.key.type === "Policy" && d.chance(0.2)) {
      // Another kind in the place of this one: all but the kind is the same for the endpoints.
      live.delete(formatKey(known.key));
      steps.push({ drop: known.key });
      set({ key: ofOtherKind(d, known.key), value: known.value });
    } else if (d.chance(0.5)) set(changed(d, known, kinds));
    // Equal, and not the same: as it comes from a datastore that tells it again.
    else if (d.chance(0.2)) set({ key: known.key, value: structuredClone(known.value) });
    else {
      live.delete(formatKey(known.key));
      steps.push({ drop: known.key });
      if (d.chance(0.2)) steps.push({ drop: known.key });
    }
    if (d.chance(0.12)) steps.push({ flush: true });
    if (d.chance(0.03)) steps.push({ status: d.pick(i >= syncAt ? ["resync", "in-sync"] : ["resync"]) });
  }
  steps.push({ status: "in-sync" }, { flush: true });
  return { steps, view, batch: d.pick([1, 1, 4]) };
}

/** The key of a policy of the same name in the same namespace, or without one, of another kind. */
function ofOtherKind(d: Dice, key: PolicyKey): PolicyKey {
  const kinds = KINDS.filter(([kind, namespaced]) => kind !== key.kind && namespaced === (key.namespace !== ""));
  return { ...key, kind: d.pick(kinds)[0] };
}

/** The key with some fields of another value of its type. */
function changed(d: Dice, kv: KV, kinds: readonly (readonly [number, Make])[]): KV {
  const type = (one: KV): string => (one.key.type === "Resource" ? one.key.kind : one.key.type);
  for (let tries = 0; tries < 60; tries++) {
    const other = randomKV(d, kinds);
    if (type(other) !== type(kv)) continue;
    const { key, value } = kv;
    if (typeof value !== "object" || value instanceof Map || key.type === "Resource") {
      if (formatKey(other.key) === formatKey(key)) return other;
      continue;
    }
    // What belongs to the key, or to another field, stays.
    const fixed = new Set([
      "cidr",
      "namespace",
      "allocations",
      "attributes",
      "untracked",
      "pre_dnat",
      "ipip",
      "ipip_mode",
    ]);
    const fields = d.some(Object.keys(other.value).filter((field) => !fixed.has(field)));
    const next = new Map(Object.entries(value));
    for (const field of fields) next.set(field, (other.value as unknown as Record<string, unknown>)[field]);
    return { key, value: Object.fromEntries(next) as unknown as KV["value"] };
  }
  return kv;
}
