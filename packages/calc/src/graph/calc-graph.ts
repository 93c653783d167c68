import type {
  BGPConfigurationResource,
  EndpointSliceResource,
  FelixConfigurationResource,
  LabelMap,
  NodeResource,
  ProfileResource,
  Resource,
  ResourceKey,
  ServiceResource,
  SyncStatus,
  Update,
} from "@bulrush/model";
import { LabelKeys } from "../labels/label-set.ts";
import { ProfileLabels } from "../labels/profile-labels.ts";
import { ConfigBatcher, type ParametersOf } from "../passthrough/config-batcher.ts";
import { EncapsulationResolver } from "../passthrough/encapsulation-resolver.ts";
import { Passthrough } from "../passthrough/passthrough.ts";
import { ProfileDecoder } from "../passthrough/profile-decoder.ts";
import { type GraphStats, StatsCollector } from "../passthrough/stats.ts";
import { ActiveRules } from "../policy/active-rules.ts";
import { AMBIENT_SET, EndpointDataResolver } from "../policy/endpoint-data.ts";
import { PolicyResolver } from "../policy/policy-resolver.ts";
import { L3RouteResolver } from "../routes/l3-route-resolver.ts";
import { VxlanResolver } from "../routes/vxlan-resolver.ts";
import { SpecCache } from "../rules/spec-cache.ts";
import { EventSequencer } from "../sequencer/event-sequencer.ts";
import { IpSetUsers } from "../sets/ip-set-users.ts";
import { MemberIndex, NO_PORTS } from "../sets/member-index.ts";
import { hostNets, maskedNets } from "../sets/nets.ts";
import { ServiceIndex } from "../sets/service-index.ts";
import { type CalcGraphConfig, DEFAULT_CALC_CONFIG } from "./config.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { CalcMessage } from "./message.ts";

/** What a graph is made for. All of it is fixed for its life. */
export interface CalcGraphOptions {
  /**
   * The host whose view is computed. "*": every endpoint is local (explain): ids of workload endpoints then carry their
   * host name, and host endpoints are named `host/endpoint`.
   */
  readonly hostname: string;
  /** Called synchronously from within `flush`, in dependency order. It must not call back into the graph. */
  readonly sink: (message: CalcMessage) => void;
  /** Default: {@link DEFAULT_CALC_CONFIG}, field by field. */
  readonly config?: Partial<CalcGraphConfig>;
  /** Reads a FelixConfiguration that selects nodes. Default: they set nothing. */
  readonly parametersOf?: ParametersOf;
}

/** What an IP set holds, in words for people. */
export type IpSetDescription =
  | { readonly kind: "selector"; readonly selector: string }
  | { readonly kind: "named-port"; readonly selector: string; readonly protocol: string; readonly port: string }
  | { readonly kind: "service"; readonly service: string; readonly withPorts: boolean };

/** Counts of what is at work, for metrics. */
export interface GraphActivity {
  readonly localEndpoints: number;
  /** Policies and profiles that the dataplane has. */
  readonly activePolicies: number;
  readonly activeProfiles: number;
  readonly activeIpSets: number;
  /** Endpoints and network sets that selectors of IP sets are matched against. */
  readonly indexedItems: number;
  readonly indexedSelectors: number;
  /** Since the start. */
  readonly selectorEvaluations: number;
}

// Older data leaves empty lists and maps out.
const NO_PROFILES: readonly string[] = [];
const NO_MAP: LabelMap = new Map();

/**
 * The calculation graph: from the datastore's keys and values to what one host must program. Pure: no clock, no I/O, no
 * randomness; what it says after a flush depends only on what the datastore holds, never on how that came about.
 *
 * ```
 *   onUpdates                                                           onStatusUpdated
 *       |                                                                      |
 *   Dispatcher, by type of key                                          first in-sync: gate
 *       |                                                                      |
 *       |  local endpoints, policies, profiles            tiers                |
 *       +----------------> ActiveRules ---- dirty -----> PolicyResolver <------+  (gated)
 *       |                      |            endpoints        ^    |            |
 *       |        rules in use, |    local BGP peers, mesh,   |    |            |
 *       |        sets in use   |    live migrations          |    |            |
 *       +----------------------|--> EndpointDataResolver ----+    |            |
 *       |                      v          (gated)                 |            |
 *       |                  IpSetUsers                             |            |
 *       |  endpoints,       |      |                              |            |
 *       |  network sets     v      v                              |            |
 *       +------------> MemberIndex ServiceIndex <-- slices        |            |
 *       |                   |      |                              |            |
 *       |          members  v      v  rules, profiles   endpoints v            |
 *       |                ======================================================|=====
 *       |                                 EventSequencer                       |
 *       |                ======================================================|=====
 *       |                   ^      ^      ^                 ^                  |
 *       +--> L3RouteResolver --+   |      |                 |                  |
 *       +--> VxlanResolver --------+      |                 |                  |
 *       +--> Passthrough, ProfileDecoder -+                 |                  |
 *       +--> EncapsulationResolver, ConfigBatcher (gated) --+ <----------------+
 *       +--> StatsCollector
 *
 *   EventSequencer --- flush, in dependency order ---> sink
 * ```
 *
 * `flush` runs: active rules, IP sets, routes, tunnel ends; once in-sync endpoint data, resolver, encapsulation and
 * configuration; the sequencer; then InSync, once.
 *
 * Invariant: `#inSyncSent` is never true before `#inSync`; neither goes back.
 */
export class CalcGraph {
  readonly #sink: (message: CalcMessage) => void;
  readonly #hostname: string;
  readonly #dispatcher = new Dispatcher();
  readonly #keys = new LabelKeys();
  readonly #profileLabels = new ProfileLabels();
  readonly #sequencer: EventSequencer;
  readonly #members: MemberIndex;
  readonly #services = new ServiceIndex();
  readonly #sets: IpSetUsers;
  readonly #resolver: PolicyResolver;
  readonly #rules: ActiveRules;
  readonly #endpointData: EndpointDataResolver;
  readonly #passthrough: Passthrough;
  readonly #profiles: ProfileDecoder;
  readonly #encapsulation: EncapsulationResolver;
  readonly #config: ConfigBatcher;
  /** Present when something here makes routes, or tunnels, of it. */
  readonly #routes: L3RouteResolver | undefined;
  readonly #vteps: VxlanResolver | undefined;
  readonly #stats = new StatsCollector(this.#profileLabels);
  #inSync = false;
  #inSyncSent = false;

  constructor(options: CalcGraphOptions) {
    const config: CalcGraphConfig = { ...DEFAULT_CALC_CONFIG, ...options.config };
    this.#sink = options.sink;
    this.#hostname = options.hostname;
    this.#sequencer = new EventSequencer(options.sink);
    this.#members = new MemberIndex(this.#keys, this.#profileLabels);
    this.#sets = new IpSetUsers(this.#sequencer.ipSets, this.#members, this.#services, config.suppressOverlaps);
    this.#resolver = new PolicyResolver(this.#sequencer, options.hostname === "*");
    this.#rules = new ActiveRules(
      this.#keys,
      this.#profileLabels,
      new SpecCache(),
      this.#sets,
      this.#sequencer,
      this.#resolver,
    );
    this.#endpointData = new EndpointDataResolver(this.#keys, options.hostname, config.istioAmbient);
    if (config.istioAmbient) this.#sets.retain(AMBIENT_SET);
    this.#passthrough = new Passthrough(this.#sequencer);
    this.#profiles = new ProfileDecoder(this.#sequencer);
    this.#encapsulation = new EncapsulationResolver(this.#sequencer, config);
    this.#config = new ConfigBatcher(this.#sequencer, options.parametersOf ?? (() => new Map()));
    if (options.hostname !== "*" && needsRoutes(config))
      this.#routes = new L3RouteResolver(this.#sequencer, options.hostname);
    if (config.vxlanEnabled || config.vxlanEnabledV6) this.#vteps = new VxlanResolver(this.#sequencer);
    this.#wirePolicy();
    this.#wireMembers();
    this.#wirePassthrough();
    this.#wireRoutes(config.routeSource === "WorkloadIPs");
    this.#wireConfig();
    this.#dispatcher.onStatus((status) => {
      if (status === "in-sync") this.#inSync = true;
    });
  }

  /** Takes a batch. Updates are trusted to be valid (the validation filter comes before); values are kept, not copied. */
  onUpdates(updates: readonly Update[]): void {
    for (const update of updates) this.#dispatcher.dispatch(update);
  }

  /** May move backwards; only the first in-sync opens the gate for endpoints, config and encapsulation. */
  onStatusUpdated(status: SyncStatus): void {
    this.#dispatcher.dispatchStatus(status);
  }

  /** Sends what changed since the last flush. */
  flush(): void {
    this.#rules.flush();
    this.#sets.flush();
    this.#routes?.flush();
    this.#vteps?.flush();
    if (this.#inSync) {
      this.#endpointData.flush(this.#rules, this.#resolver);
      this.#resolver.flush(this.#rules);
      this.#encapsulation.flush();
      this.#config.flush();
    }
    this.#sequencer.flush();
    if (!this.#inSync || this.#inSyncSent) return;
    this.#inSyncSent = true;
    this.#sink({ msg: "InSync" });
  }

  /** What an active IP set is made from; `undefined` for an id that is not in use. */
  describeIpSet(id: string): IpSetDescription | undefined {
    const spec = this.#sets.specOf(id);
    if (spec === undefined) return undefined;
    switch (spec.kind) {
      case "selector":
        return { kind: "selector", selector: spec.selector.text };
      case "named-port":
        return { kind: "named-port", selector: spec.selector.text, protocol: spec.protocol, port: spec.port };
      case "service":
        return { kind: "service", service: spec.service, withPorts: spec.withPorts };
    }
  }

  /** Profiles that local endpoints have and nobody defined: they deny all traffic of those endpoints. Sorted. */
  missingProfiles(): string[] {
    return this.#rules.missingProfiles();
  }

  /** How much of the graph is at work on this host. */
  get activity(): GraphActivity {
    return {
      localEndpoints: this.#rules.endpointCount,
      activePolicies: this.#sequencer.policies.sentCount,
      activeProfiles: this.#sequencer.profiles.sentCount,
      activeIpSets: this.#sets.size,
      indexedItems: this.#members.itemCount,
      indexedSelectors: this.#members.selectorCount,
      selectorEvaluations: this.#members.evaluations + this.#rules.evaluations,
    };
  }

  /** How big the cluster is. */
  get stats(): GraphStats {
    return this.#stats.stats;
  }

  #isLocal(hostname: string): boolean {
    return this.#hostname === "*" || this.#hostname === hostname;
  }

  #wirePolicy(): void {
    const rules = this.#rules;
    this.#dispatcher.on("Policy", (key, value, path) => {
      rules.setPolicy(key, path, value);
      this.#stats.setPolicy(path, value);
    });
    this.#dispatcher.on("ProfileRules", (key, value) => rules.setProfileRules(key.name, value));
    this.#dispatcher.on("Tier", (key, value) => {
      this.#resolver.setTier(key.name, value);
      this.#stats.setTier(key.name, value !== undefined);
    });
  }

  #wireMembers(): void {
    const members = this.#members;
    this.#dispatcher.on("WorkloadEndpoint", (key, value, path) => {
      const labels = this.#keys.makeSet(value?.labels ?? NO_MAP);
      if (this.#isLocal(key.hostname)) this.#setLocalEndpoint(path, key, value, labels);
      if (value === undefined) {
        if (members.removeItem(path)) this.#stats.onWorkload(key.hostname, -1);
        return;
      }
      const nets = hostNets(value.ipv4_nets ?? [], value.ipv6_nets ?? []);
      if (members.setItem(path, labels, value.profile_ids ?? NO_PROFILES, nets, value.ports ?? NO_PORTS))
        this.#stats.onWorkload(key.hostname, 1);
    });
    this.#dispatcher.on("HostEndpoint", (key, value, path) => {
      const labels = this.#keys.makeSet(value?.labels ?? NO_MAP);
      if (this.#isLocal(key.hostname)) this.#setLocalEndpoint(path, key, value, labels);
      if (value === undefined) {
        if (members.removeItem(path)) this.#stats.onHostEndpoint(key.hostname, -1);
        return;
      }
      const nets = hostNets(value.expected_ipv4_addrs ?? [], value.expected_ipv6_addrs ?? []);
      if (members.setItem(path, labels, value.profile_ids ?? NO_PROFILES, nets, value.ports ?? NO_PORTS))
        this.#stats.onHostEndpoint(key.hostname, 1);
    });
    this.#dispatcher.on("NetworkSet", (_key, value, path) => {
      if (value === undefined) members.removeItem(path);
      else {
        const nets = maskedNets(value.nets ?? []);
        members.setItem(
          path,
          this.#keys.makeSet(value.labels ?? NO_MAP),
          value.profile_ids ?? NO_PROFILES,
          nets,
          NO_PORTS,
        );
      }
    });
    this.#dispatcher.on("Resource", (key, value, path) => this.#onResource(key, value, path));
  }

  #setLocalEndpoint(...[path, key, value, labels]: Parameters<ActiveRules["setEndpoint"]>): void {
    this.#rules.setEndpoint(path, key, value, labels);
    this.#endpointData.onEndpointsChanged();
  }

  #onResource(key: ResourceKey, value: Resource | undefined, path: string): void {
    const { kind, namespace, name } = key;
    switch (kind) {
      case "Profile": {
        const map = profileLabels(value as ProfileResource | undefined);
        const change = this.#profileLabels.set(name, map && this.#keys.makeSet(map));
        if (change === "none") return;
        this.#rules.onProfileChanged(name);
        this.#members.onProfileChanged(name);
        this.#endpointData.onEndpointsChanged();
        this.#profiles.setProfile(name, map);
        return;
      }
      case "KubernetesEndpointSlice":
        this.#services.setSlice(`${namespace}/${name}`, value as EndpointSliceResource | undefined);
        return;
      case "KubernetesService":
        this.#passthrough.setService(namespace, name, value as ServiceResource | undefined);
        return;
      case "Node":
        this.#passthrough.setNode(name, value as NodeResource | undefined);
        this.#stats.setNode(name, value !== undefined);
        this.#routes?.setNode(path, name, value as NodeResource | undefined);
        this.#vteps?.setNode(name, value as NodeResource | undefined);
        if (name === this.#hostname) {
          const labels = value && new Map(Object.entries(value.metadata.labels ?? {}));
          this.#config.setNodeLabels(labels);
          this.#endpointData.setNodeLabels(labels);
        }
        return;
      case "BGPPeer":
        this.#endpointData.setPeer(name, value);
        return;
      case "BGPConfiguration":
        if (name === "default") this.#passthrough.setBgpConfiguration(value as BGPConfigurationResource | undefined);
        return;
      case "FelixConfiguration":
        this.#config.setScoped(name, value as FelixConfigurationResource | undefined);
        return;
      case "LiveMigration":
        this.#endpointData.setMigration(path, value);
        return;
      case "BGPFilter":
      case "CalicoNodeStatus":
    }
  }

  #wirePassthrough(): void {
    this.#dispatcher.on("IPPool", (key, value) => {
      this.#passthrough.setPool(key.cidr, value);
      this.#encapsulation.setPool(key.cidr, value);
    });
    this.#dispatcher.on("Wireguard", (key, value) => this.#passthrough.setWireguard(key.hostname, value));
  }

  #wireRoutes(ofAllWorkloads: boolean): void {
    const routes = this.#routes;
    const vteps = this.#vteps;
    if (vteps !== undefined)
      this.#dispatcher.on("HostConfig", (key, value) => vteps.setHostConfig(key.hostname, key.name, value));
    if (routes === undefined) return;
    this.#dispatcher.on("IPPool", (key, value) => routes.setPool(key.cidr, value));
    this.#dispatcher.on("WorkloadEndpoint", (key, value, path) => {
      if (!ofAllWorkloads && key.hostname !== this.#hostname) return;
      routes.setWorkload(path, key.hostname, hostNets(value?.ipv4_nets ?? [], value?.ipv6_nets ?? []));
    });
    if (!ofAllWorkloads) this.#dispatcher.on("Block", (key, value, path) => routes.setBlock(path, key.cidr, value));
  }

  #wireConfig(): void {
    this.#dispatcher.on("GlobalConfig", (key, value) => this.#config.setGlobal(key.name, value));
    this.#dispatcher.on("HostConfig", (key, value) => {
      this.#stats.setHostConfig(key.hostname, key.name, value !== undefined);
      if (key.hostname === this.#hostname) this.#config.setHost(key.name, value);
    });
    this.#dispatcher.on("ReadyFlag", (_key, value) => this.#config.setReady(value));
  }
}

function needsRoutes(config: CalcGraphConfig): boolean {
  const { programClusterRoutes: mode } = config;
  const programsIpip = config.ipipEnabled && (mode === "Enabled" || mode === "EnabledIPIPOnly");
  const programsVxlan = config.vxlanEnabled || config.vxlanEnabledV6;
  return programsIpip || programsVxlan || config.wireguardEnabled || config.noEncapNeeded;
}

function profileLabels(profile: ProfileResource | undefined): LabelMap | undefined {
  if (profile === undefined) return undefined;
  const labels = profile.spec?.labelsToApply ?? {};
  const out = new Map<string, string>();
  for (const name of Object.keys(labels)) out.set(name, labels[name] ?? "");
  return out;
}
