import type { Policy, Rule } from "@bulrush/model";

/** How big the cluster is. */
export interface GraphStats {
  readonly hosts: number;
  readonly workloadEndpoints: number;
  readonly hostEndpoints: number;
  readonly policies: number;
  readonly profiles: number;
  readonly tiers: number;
  /** Policies with a condition above the transport layer: HTTP, or the service account of the peer. */
  readonly applicationLayerPolicies: number;
}

/**
 * Counts what there is, by keys present: an update type that lies does not throw the count off.
 *
 * Invariant: `#hosts` counts, for each host name, the endpoints, the node and whether settings are there.
 */
export class StatsCollector {
  #workloads = 0;
  #hostEndpoints = 0;
  readonly #nodes = new Set<string>();
  /** The names of the settings of each host that has some. */
  readonly #settings = new Map<string, Set<string>>();
  readonly #hosts = new Map<string, number>();
  readonly #policies = new Set<string>();
  readonly #applicationLayer = new Set<string>();
  readonly #profiles: { readonly size: number };
  readonly #tiers = new Set<string>();

  /** `profiles`: all that are there. */
  constructor(profiles: { readonly size: number }) {
    this.#profiles = profiles;
  }

  /** A workload endpoint came (1) or went (-1). */
  onWorkload(hostname: string, change: 1 | -1): void {
    this.#workloads += change;
    this.#onHost(hostname, change);
  }

  /** A host endpoint came (1) or went (-1). */
  onHostEndpoint(hostname: string, change: 1 | -1): void {
    this.#hostEndpoints += change;
    this.#onHost(hostname, change);
  }

  setNode(hostname: string, present: boolean): void {
    if (this.#nodes.has(hostname) === present) return;
    if (present) this.#nodes.add(hostname);
    else this.#nodes.delete(hostname);
    this.#onHost(hostname, present ? 1 : -1);
  }

  /** A setting of one host, whichever. */
  setHostConfig(hostname: string, name: string, present: boolean): void {
    const names = this.#settings.get(hostname) ?? new Set();
    const before = names.size;
    toggle(names, name, present);
    if (before === 0 && names.size > 0) {
      this.#settings.set(hostname, names);
      this.#onHost(hostname, 1);
    } else if (before > 0 && names.size === 0) {
      this.#settings.delete(hostname);
      this.#onHost(hostname, -1);
    }
  }

  setPolicy(path: string, policy: Policy | undefined): void {
    toggle(this.#policies, path, policy !== undefined);
    const isApplicationLayer =
      policy !== undefined && (hasApplicationLayer(policy.inbound_rules) || hasApplicationLayer(policy.outbound_rules));
    toggle(this.#applicationLayer, path, isApplicationLayer);
  }

  setTier(name: string, present: boolean): void {
    toggle(this.#tiers, name, present);
  }

  get stats(): GraphStats {
    return {
      hosts: this.#hosts.size,
      workloadEndpoints: this.#workloads,
      hostEndpoints: this.#hostEndpoints,
      policies: this.#policies.size,
      profiles: this.#profiles.size,
      tiers: this.#tiers.size,
      applicationLayerPolicies: this.#applicationLayer.size,
    };
  }

  #onHost(hostname: string, change: 1 | -1): void {
    const count = (this.#hosts.get(hostname) ?? 0) + change;
    if (count === 0) this.#hosts.delete(hostname);
    else this.#hosts.set(hostname, count);
  }
}

function toggle(set: Set<string>, name: string, present: boolean): void {
  if (present) set.add(name);
  else set.delete(name);
}

function hasApplicationLayer(rules: readonly Rule[] | undefined): boolean {
  for (const rule of rules ?? [])
    if (rule.http !== undefined || rule.orig_src_service_acct_selector || rule.orig_dst_service_acct_selector)
      return true;
  return false;
}
