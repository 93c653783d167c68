import { assert, must, unreachable } from "@bulrush/base";
import type {
  ConfigUpdate,
  DataplaneHostEndpoint,
  DataplanePolicy,
  DataplaneProfile,
  DataplaneWorkloadEndpoint,
  Encapsulation,
  GlobalBGPConfigUpdate,
  HostMetadataUpdate,
  IPAMPoolUpdate,
  IPSetDeltaUpdate,
  NamespaceUpdate,
  PolicyID,
  RouteUpdate,
  ServiceAccountUpdate,
  ServiceUpdate,
  TierInfo,
  ToDataplane,
  VXLANTunnelEndpointUpdate,
  WireguardEndpointUpdate,
  WireguardEndpointV6Update,
  WorkloadEndpointID,
} from "@bulrush/proto";
import { policyIdText, workloadIdText } from "./id-text.ts";
import { IpSetMembers } from "./ip-set-members.ts";
import { ipSetsOfRules, policiesOfTiers, ReferenceCounts } from "./references.ts";

/** A policy as sent. */
export interface StatePolicy {
  readonly id: PolicyID;
  readonly policy: DataplanePolicy;
}

/** A workload endpoint as sent. */
export interface StateWorkload {
  readonly id: WorkloadEndpointID;
  readonly endpoint: DataplaneWorkloadEndpoint;
}

/**
 * What a dataplane knows after the messages that it got. `apply` throws an AssertionError when a message breaks a
 * guarantee of the graph: a reference to what was not sent, a remove of what is in use or unknown, a member added
 * twice. (That no endpoint comes before in-sync only the caller can tell: the message InSync follows the endpoints of
 * its flush.)
 *
 * The maps are the state itself: read them, never change them.
 *
 * Invariant: what a policy, profile or endpoint here refers to is here too.
 */
export class DataplaneState {
  /** Set by the first InSync. */
  inSync = false;
  /** Undefined until it was sent, as the two below. */
  config: ConfigUpdate | undefined;
  encapsulation: Encapsulation | undefined;
  globalBgpConfig: GlobalBGPConfigUpdate | undefined;
  /** By id. */
  readonly ipSets: Map<string, IpSetMembers> = new Map();
  /** By {@link policyIdText}. */
  readonly policies: Map<string, StatePolicy> = new Map();
  /** By name. */
  readonly profiles: Map<string, DataplaneProfile> = new Map();
  /** By {@link workloadIdText}. */
  readonly workloadEndpoints: Map<string, StateWorkload> = new Map();
  /** By id. */
  readonly hostEndpoints: Map<string, DataplaneHostEndpoint> = new Map();
  /** By host name, as tunnel ends and WireGuard's. */
  readonly hostMetadata: Map<string, HostMetadataUpdate> = new Map();
  readonly ipamPools: Map<string, IPAMPoolUpdate> = new Map();
  /** By `namespace/name`. */
  readonly serviceAccounts: Map<string, ServiceAccountUpdate> = new Map();
  readonly namespaces: Map<string, NamespaceUpdate> = new Map();
  /** By `dst`. */
  readonly routes: Map<string, RouteUpdate> = new Map();
  readonly vteps: Map<string, VXLANTunnelEndpointUpdate> = new Map();
  readonly wireguard: Map<string, WireguardEndpointUpdate> = new Map();
  readonly wireguardV6: Map<string, WireguardEndpointV6Update> = new Map();
  /** By `namespace/name`. */
  readonly services: Map<string, ServiceUpdate> = new Map();
  readonly #workloadsByName = new Map<string, Set<string>>();
  readonly #workloadsByAddress = new Map<string, Set<string>>();
  readonly #setUsers = new ReferenceCounts();
  readonly #policyUsers = new ReferenceCounts();
  readonly #profileUsers = new ReferenceCounts();

  apply(message: ToDataplane): void {
    switch (message.msg) {
      case "InSync":
        assert(!this.inSync, "InSync was sent twice");
        this.inSync = true;
        return;
      case "ConfigUpdate":
        this.config = message;
        return;
      case "IPSetUpdate": {
        let set = this.ipSets.get(message.id);
        if (set === undefined) this.ipSets.set(message.id, (set = new IpSetMembers(message.id, message.type)));
        set.replace(message.type, message.members);
        assert(set.members.size === message.members.length, () => `IP set ${message.id} was sent with a member twice`);
        return;
      }
      case "IPSetDeltaUpdate":
        this.#applyDelta(message);
        return;
      case "IPSetRemove":
        assert(!this.#setUsers.has(message.id), () => `IP set ${message.id} was removed while a rule uses it`);
        remove(this.ipSets, message.id, "IP set");
        return;
      case "ActivePolicyUpdate": {
        const text = policyIdText(message.id);
        this.#useSets(text, ipSetsOfRules(message.policy));
        this.policies.set(text, { id: message.id, policy: message.policy });
        return;
      }
      case "ActivePolicyRemove": {
        const text = policyIdText(message.id);
        assert(!this.#policyUsers.has(text), () => `Policy ${text} was removed while an endpoint lists it`);
        remove(this.policies, text, "policy");
        this.#setUsers.set(text, new Set());
        return;
      }
      case "ActiveProfileUpdate":
        this.#useSets(`profile/${message.id}`, ipSetsOfRules(message.profile));
        this.profiles.set(message.id, message.profile);
        return;
      case "ActiveProfileRemove":
        assert(!this.#profileUsers.has(message.id), () => `Profile ${message.id} was removed while an endpoint has it`);
        remove(this.profiles, message.id, "profile");
        this.#setUsers.set(`profile/${message.id}`, new Set());
        return;
      case "WorkloadEndpointUpdate": {
        const text = workloadIdText(message.id);
        this.#useEndpoint(`workload/${text}`, message.endpoint.profile_ids, message.endpoint.tiers);
        this.#indexWorkload(text, false);
        this.workloadEndpoints.set(text, { id: message.id, endpoint: message.endpoint });
        this.#indexWorkload(text, true);
        return;
      }
      case "WorkloadEndpointRemove": {
        const text = workloadIdText(message.id);
        this.#indexWorkload(text, false);
        remove(this.workloadEndpoints, text, "workload endpoint");
        this.#dropEndpoint(`workload/${text}`);
        return;
      }
      case "HostEndpointUpdate": {
        const { endpoint } = message;
        const { tiers, untracked_tiers, pre_dnat_tiers, forward_tiers } = endpoint;
        const owner = `host/${message.id}`;
        this.#useEndpoint(owner, endpoint.profile_ids, tiers, untracked_tiers, pre_dnat_tiers, forward_tiers);
        this.hostEndpoints.set(message.id, endpoint);
        return;
      }
      case "HostEndpointRemove":
        remove(this.hostEndpoints, message.id, "host endpoint");
        this.#dropEndpoint(`host/${message.id}`);
        return;
      default:
        this.#applyRest(message);
    }
  }

  /** The endpoints of a workload (`namespace/pod`), by {@link workloadIdText}, in order. */
  endpointsOfWorkload(workload: string): readonly StateWorkload[] {
    return this.#list(this.#workloadsByName.get(workload));
  }

  /** The endpoints that have an address, in canonical text; more than one where an address is just being reused. */
  endpointsWithAddress(address: string): readonly StateWorkload[] {
    return this.#list(this.#workloadsByAddress.get(address));
  }

  #list(texts: ReadonlySet<string> | undefined): readonly StateWorkload[] {
    const out: StateWorkload[] = [];
    for (const text of [...(texts ?? [])].sort()) out.push(must(this.workloadEndpoints.get(text), text));
    return out;
  }

  #indexWorkload(text: string, add: boolean): void {
    const known = this.workloadEndpoints.get(text);
    if (known === undefined) return;
    const { id, endpoint } = known;
    change(this.#workloadsByName, id.workload, text, add);
    for (const net of [...endpoint.ipv4_nets, ...endpoint.ipv6_nets])
      change(this.#workloadsByAddress, net.slice(0, net.indexOf("/")), text, add);
  }

  #applyRest(message: Exclude<ToDataplane, { msg: PolicyMessage }>): void {
    switch (message.msg) {
      case "HostMetadataUpdate":
        this.hostMetadata.set(message.hostname, message);
        return;
      case "HostMetadataRemove":
        remove(this.hostMetadata, message.hostname, "host metadata");
        return;
      case "IPAMPoolUpdate":
        this.ipamPools.set(message.id, message);
        return;
      case "IPAMPoolRemove":
        remove(this.ipamPools, message.id, "pool");
        return;
      case "ServiceAccountUpdate":
        this.serviceAccounts.set(`${message.id.namespace}/${message.id.name}`, message);
        return;
      case "ServiceAccountRemove":
        remove(this.serviceAccounts, `${message.id.namespace}/${message.id.name}`, "service account");
        return;
      case "NamespaceUpdate":
        this.namespaces.set(message.id, message);
        return;
      case "NamespaceRemove":
        remove(this.namespaces, message.id, "namespace");
        return;
      case "RouteUpdate":
        this.routes.set(message.dst, message);
        return;
      case "RouteRemove":
        remove(this.routes, message.dst, "route");
        return;
      case "VXLANTunnelEndpointUpdate":
        this.vteps.set(message.node, message);
        return;
      case "VXLANTunnelEndpointRemove":
        remove(this.vteps, message.node, "VTEP");
        return;
      case "WireguardEndpointUpdate":
        this.wireguard.set(message.hostname, message);
        return;
      case "WireguardEndpointRemove":
        remove(this.wireguard, message.hostname, "wireguard endpoint");
        return;
      case "WireguardEndpointV6Update":
        this.wireguardV6.set(message.hostname, message);
        return;
      case "WireguardEndpointV6Remove":
        remove(this.wireguardV6, message.hostname, "IPv6 wireguard endpoint");
        return;
      case "GlobalBGPConfigUpdate":
        this.globalBgpConfig = message;
        return;
      case "Encapsulation":
        this.encapsulation = message;
        return;
      case "ServiceUpdate":
        this.services.set(`${message.namespace}/${message.name}`, message);
        return;
      case "ServiceRemove":
        remove(this.services, `${message.namespace}/${message.name}`, "service");
        return;
      default:
        unreachable(message);
    }
  }

  #applyDelta(message: IPSetDeltaUpdate): void {
    const set = this.ipSets.get(message.id);
    assert(set !== undefined, () => `Members came for IP set ${message.id}, which was not sent`);
    for (const member of message.removed_members)
      assert(set.delete(member), () => `${member} was removed from IP set ${message.id}, where it is not`);
    for (const member of message.added_members) {
      assert(!set.members.has(member), () => `${member} was added to IP set ${message.id}, where it is already`);
      set.add(member);
    }
  }

  #useSets(owner: string, ids: ReadonlySet<string>): void {
    for (const id of ids) assert(this.ipSets.has(id), () => `${owner} refers to IP set ${id}, which was not sent`);
    this.#setUsers.set(owner, ids);
  }

  #useEndpoint(owner: string, profiles: readonly string[], ...tiers: readonly (readonly TierInfo[])[]): void {
    const policies = policiesOfTiers(...tiers);
    for (const id of policies) assert(this.policies.has(id), () => `${owner} lists policy ${id}, which was not sent`);
    for (const id of profiles) assert(this.profiles.has(id), () => `${owner} has profile ${id}, which was not sent`);
    this.#policyUsers.set(owner, policies);
    this.#profileUsers.set(owner, new Set(profiles));
  }

  #dropEndpoint(owner: string): void {
    this.#policyUsers.set(owner, new Set());
    this.#profileUsers.set(owner, new Set());
  }
}

type PolicyMessage =
  | "InSync"
  | "ConfigUpdate"
  | "IPSetUpdate"
  | "IPSetDeltaUpdate"
  | "IPSetRemove"
  | "ActivePolicyUpdate"
  | "ActivePolicyRemove"
  | "ActiveProfileUpdate"
  | "ActiveProfileRemove"
  | "WorkloadEndpointUpdate"
  | "WorkloadEndpointRemove"
  | "HostEndpointUpdate"
  | "HostEndpointRemove";

function remove(map: Map<string, unknown>, id: string, what: string): void {
  assert(map.delete(id), () => `A remove came for ${what} ${id}, which was not sent`);
}

function change(index: Map<string, Set<string>>, key: string, text: string, add: boolean): void {
  const texts = index.get(key) ?? new Set();
  if (add) texts.add(text);
  else texts.delete(text);
  if (texts.size === 0) index.delete(key);
  else index.set(key, texts);
}
