import { compareStrings } from "@bulrush/base";
import { type LabelMap, type Resource, sameValue } from "@bulrush/model";
import { parseSelector, tryParseSelector } from "@bulrush/selector";
import type { LabelKeys } from "../labels/label-set.ts";
import { compileSelector, type MatchNode, matches } from "../labels/match-node.ts";
import type { SelectorSetSpec } from "../sets/ip-set-spec.ts";
import type { ActiveRules } from "./active-rules.ts";
import type { ComputedData } from "./endpoint-message.ts";
import { LiveMigrations } from "./live-migrations.ts";
import type { PolicyResolver } from "./policy-resolver.ts";

/** The fields of a BGPPeer that matter here. */
interface PeerSpec {
  readonly node?: string;
  readonly nodeSelector?: string;
  readonly localWorkloadSelector?: string;
}

const NO_LABELS: LabelMap = new Map();

/**
 * Pods that are in Istio's ambient mesh: their namespace is and they do not opt out, or they opt in. The orchestrator's
 * label keeps network sets out.
 */
const AMBIENT =
  "projectcalico.org/orchestrator == 'k8s' && " +
  "((pcns.istio.io/dataplane-mode == 'ambient' && istio.io/dataplane-mode != 'none') || " +
  "istio.io/dataplane-mode == 'ambient')";

/** The IP set of all pods in the ambient mesh; its id is fixed. */
export const AMBIENT_SET: SelectorSetSpec = {
  kind: "selector",
  id: "all-istio-weps",
  type: "IP",
  selector: parseSelector(AMBIENT),
};

/**
 * What else is known of local workload endpoints: the BGP peer that they are, whether they are in the ambient mesh, and
 * what they are in a live migration. Few hosts have any of it, so everything is worked out anew when something that it depends on changed.
 *
 * Invariant: after a flush the resolver has the present data of every local workload endpoint.
 */
export class EndpointDataResolver {
  readonly #keys: LabelKeys;
  readonly #hostname: string;
  readonly #ambient: MatchNode | undefined;
  readonly #peers = new Map<string, PeerSpec>();
  readonly #migrations: LiveMigrations;
  #nodeLabels: LabelMap | undefined;
  #dirty = true;

  constructor(keys: LabelKeys, hostname: string, istioAmbient: boolean) {
    this.#keys = keys;
    this.#hostname = hostname;
    this.#migrations = new LiveMigrations(keys);
    if (istioAmbient) this.#ambient = compileSelector(AMBIENT_SET.selector.root, keys);
  }

  setPeer(name: string, resource: Resource | undefined): void {
    const spec = resource?.spec as PeerSpec | undefined;
    if (sameValue(this.#peers.get(name), spec)) return;
    // An empty selector selects no workload: most peers are not workloads.
    if (spec?.localWorkloadSelector) this.#peers.set(name, spec);
    else if (!this.#peers.delete(name)) return;
    this.#dirty = true;
  }

  setMigration(path: string, resource: Resource | undefined): void {
    this.#migrations.set(path, resource);
    this.#dirty = true;
  }

  setNodeLabels(labels: LabelMap | undefined): void {
    if (sameValue(this.#nodeLabels, labels)) return;
    this.#nodeLabels = labels;
    this.#dirty = true;
  }

  /** A local endpoint, or the labels that it inherits, changed. */
  onEndpointsChanged(): void {
    this.#dirty = true;
  }

  flush(rules: ActiveRules, resolver: PolicyResolver): void {
    if (!this.#dirty) return;
    this.#dirty = false;
    const peers = this.#ownPeers();
    const isNeeded = peers.length > 0 || this.#ambient !== undefined || this.#migrations.size > 0;
    if (!isNeeded && !resolver.hasComputed) return;
    for (const endpoint of rules.endpoints) {
      if (endpoint.key.type !== "WorkloadEndpoint") continue;
      const peer = peers.find(({ node }) => matches(node, endpoint));
      const isAmbient = this.#ambient !== undefined && matches(this.#ambient, endpoint);
      const data: ComputedData = {
        ...(peer !== undefined && { local_bgp_peer: { bgp_peer_name: peer.name } }),
        ...(isAmbient && { is_istio_ambient: true }),
        ...this.#migrations.dataOf(endpoint.key, endpoint.value?.labels ?? NO_LABELS, endpoint),
      };
      resolver.setComputed(endpoint, data);
    }
  }

  /** Peers that select this node, by name: the first that selects a workload is its peer. */
  #ownPeers(): { readonly name: string; readonly node: MatchNode }[] {
    const out: { readonly name: string; readonly node: MatchNode }[] = [];
    for (const [name, spec] of [...this.#peers].sort(([a], [b]) => compareStrings(a, b))) {
      if (!this.#selectsNode(spec)) continue;
      const parsed = tryParseSelector(spec.localWorkloadSelector ?? "");
      if (parsed.ok) out.push({ name, node: compileSelector(parsed.selector.root, this.#keys) });
    }
    return out;
  }

  #selectsNode(spec: PeerSpec): boolean {
    if (spec.node) return spec.node === this.#hostname;
    if (!spec.nodeSelector) return true;
    const parsed = tryParseSelector(spec.nodeSelector);
    return parsed.ok && this.#nodeLabels !== undefined && parsed.selector.evaluate(this.#nodeLabels);
  }
}
