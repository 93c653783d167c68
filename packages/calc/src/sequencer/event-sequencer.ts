import type {
  ActivePolicyRemove,
  ActivePolicyUpdate,
  ActiveProfileRemove,
  ActiveProfileUpdate,
  ConfigUpdate,
  Encapsulation,
  GlobalBGPConfigUpdate,
  HostEndpointRemove,
  HostEndpointUpdate,
  HostMetadataRemove,
  HostMetadataUpdate,
  IPAMPoolRemove,
  IPAMPoolUpdate,
  NamespaceRemove,
  NamespaceUpdate,
  RouteRemove,
  RouteUpdate,
  ServiceAccountRemove,
  ServiceAccountUpdate,
  ServiceRemove,
  ServiceUpdate,
  VXLANTunnelEndpointRemove,
  VXLANTunnelEndpointUpdate,
  WireguardEndpointRemove,
  WireguardEndpointUpdate,
  WireguardEndpointV6Remove,
  WireguardEndpointV6Update,
  WorkloadEndpointRemove,
  WorkloadEndpointUpdate,
} from "@bulrush/proto";
import type { CalcMessage } from "../graph/message.ts";
import { PendingIpSets } from "./pending-ip-sets.ts";
import { PendingTable } from "./pending-table.ts";

/**
 * Collects what the calculators decide and sends it, on flush, in an order in which nothing refers to what is not there:
 *
 * ```
 *   1  DatastoreNotReady          9  profile removes          17 route updates
 *   2  ConfigUpdate              10  policy removes           18 wireguard removes, updates
 *   3  new IP sets               11  IP set removes           19 host metadata removes, updates
 *   4  IP set deltas             12  service accounts         20 pool removes, updates
 *   5  policies                  13  namespaces               21 Encapsulation
 *   6  profiles                  14  route removes            22 global BGP configuration
 *   7  endpoint updates          15  VTEP removes             23 service removes, updates
 *   8  endpoint removes          16  VTEP updates
 * ```
 *
 * What others depend on is added first and removed last; a route never stands without its VTEP; where a place can be
 * occupied by one thing (12 on), removes go first. Configuration is first because it may restart the process.
 */
export class EventSequencer {
  readonly ipSets: PendingIpSets = new PendingIpSets();
  readonly policies: PendingTable<ActivePolicyUpdate, ActivePolicyRemove> = new PendingTable();
  readonly profiles: PendingTable<ActiveProfileUpdate, ActiveProfileRemove> = new PendingTable();
  readonly workloads: PendingTable<WorkloadEndpointUpdate, WorkloadEndpointRemove> = new PendingTable();
  readonly hosts: PendingTable<HostEndpointUpdate, HostEndpointRemove> = new PendingTable();
  readonly serviceAccounts: PendingTable<ServiceAccountUpdate, ServiceAccountRemove> = new PendingTable();
  readonly namespaces: PendingTable<NamespaceUpdate, NamespaceRemove> = new PendingTable();
  readonly routes: PendingTable<RouteUpdate, RouteRemove> = new PendingTable();
  readonly vteps: PendingTable<VXLANTunnelEndpointUpdate, VXLANTunnelEndpointRemove> = new PendingTable();
  readonly wireguard: PendingTable<WireguardEndpointUpdate, WireguardEndpointRemove> = new PendingTable();
  readonly wireguardV6: PendingTable<WireguardEndpointV6Update, WireguardEndpointV6Remove> = new PendingTable();
  readonly hostMetadata: PendingTable<HostMetadataUpdate, HostMetadataRemove> = new PendingTable();
  readonly pools: PendingTable<IPAMPoolUpdate, IPAMPoolRemove> = new PendingTable();
  readonly services: PendingTable<ServiceUpdate, ServiceRemove> = new PendingTable();
  #notReady = false;
  #config: ConfigUpdate | undefined;
  #encapsulation: Encapsulation | undefined;
  #globalBgp: GlobalBGPConfigUpdate | undefined;
  readonly #sink: (message: CalcMessage) => void;

  constructor(sink: (message: CalcMessage) => void) {
    this.#sink = sink;
  }

  onDatastoreNotReady(): void {
    this.#notReady = true;
  }

  onConfig(config: ConfigUpdate): void {
    this.#config = config;
  }

  onEncapsulation(encapsulation: Encapsulation): void {
    this.#encapsulation = encapsulation;
  }

  onGlobalBgpConfig(config: GlobalBGPConfigUpdate): void {
    this.#globalBgp = config;
  }

  flush(): void {
    const sink = this.#sink;
    if (this.#notReady) sink({ msg: "DatastoreNotReady" });
    this.#notReady = false;
    if (this.#config !== undefined) sink(this.#config);
    this.#config = undefined;
    this.ipSets.flushAdded(sink);
    this.ipSets.flushDeltas(sink);
    this.policies.flushUpdates(sink);
    this.profiles.flushUpdates(sink);
    this.workloads.flushUpdates(sink);
    this.hosts.flushUpdates(sink);
    this.workloads.flushRemoves(sink);
    this.hosts.flushRemoves(sink);
    this.profiles.flushRemoves(sink);
    this.policies.flushRemoves(sink);
    this.ipSets.flushRemoved(sink);
    this.serviceAccounts.flushRemoves(sink);
    this.serviceAccounts.flushUpdates(sink);
    this.namespaces.flushRemoves(sink);
    this.namespaces.flushUpdates(sink);
    this.routes.flushRemoves(sink);
    this.vteps.flushRemoves(sink);
    this.vteps.flushUpdates(sink);
    this.routes.flushUpdates(sink);
    this.wireguard.flushRemoves(sink);
    this.wireguard.flushUpdates(sink);
    this.wireguardV6.flushRemoves(sink);
    this.wireguardV6.flushUpdates(sink);
    this.hostMetadata.flushRemoves(sink);
    this.hostMetadata.flushUpdates(sink);
    this.pools.flushRemoves(sink);
    this.pools.flushUpdates(sink);
    if (this.#encapsulation !== undefined) sink(this.#encapsulation);
    this.#encapsulation = undefined;
    if (this.#globalBgp !== undefined) sink(this.#globalBgp);
    this.#globalBgp = undefined;
    this.services.flushRemoves(sink);
    this.services.flushUpdates(sink);
  }
}
