import {
  type BGPConfigurationResource,
  type IPPool,
  type NodeResource,
  sameValue,
  type ServiceResource,
  type Wireguard,
} from "@bulrush/model";
import type {
  GlobalBGPConfigUpdate,
  HostMetadataUpdate,
  IPAMPoolUpdate,
  ServiceUpdate,
  WireguardEndpointUpdate,
  WireguardEndpointV6Update,
} from "@bulrush/proto";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";
import type { PendingTable } from "../sequencer/pending-table.ts";
import { globalBgpMessage } from "./bgp-config-message.ts";
import { hostMetadata } from "./node-metadata.ts";
import { serviceMessage } from "./service-message.ts";

/**
 * One kind of object that goes to the dataplane as it is: what did not change in the dataplane's terms is not sent again.
 *
 * Invariant: `#last` holds what the table was last given.
 */
class Forwarder<U extends object, R> {
  readonly #table: PendingTable<U, R>;
  readonly #last = new Map<string, U>();

  constructor(table: PendingTable<U, R>) {
    this.#table = table;
  }

  set(id: string, message: U | undefined, remove: R): void {
    const last = this.#last.get(id);
    if (message === undefined) {
      if (!this.#last.delete(id)) return;
      this.#table.remove(id, remove);
    } else if (last === undefined || !sameValue(last, message)) {
      this.#last.set(id, message);
      this.#table.update(id, message);
    }
  }
}

/** Hands on what needs no calculation: pools, nodes' addresses, services, Wireguard keys, the default BGP settings. */
export class Passthrough {
  readonly #sequencer: EventSequencer;
  readonly #pools: Forwarder<IPAMPoolUpdate, { readonly msg: "IPAMPoolRemove"; readonly id: string }>;
  readonly #hosts: Forwarder<HostMetadataUpdate, { readonly msg: "HostMetadataRemove"; readonly hostname: string }>;
  readonly #services: Forwarder<
    ServiceUpdate,
    { readonly msg: "ServiceRemove"; readonly name: string; readonly namespace: string }
  >;
  readonly #wireguard: Forwarder<
    WireguardEndpointUpdate,
    { readonly msg: "WireguardEndpointRemove"; readonly hostname: string }
  >;
  readonly #wireguardV6: Forwarder<
    WireguardEndpointV6Update,
    { readonly msg: "WireguardEndpointV6Remove"; readonly hostname: string }
  >;
  #bgp: GlobalBGPConfigUpdate | undefined;

  constructor(sequencer: EventSequencer) {
    this.#sequencer = sequencer;
    this.#pools = new Forwarder(sequencer.pools);
    this.#hosts = new Forwarder(sequencer.hostMetadata);
    this.#services = new Forwarder(sequencer.services);
    this.#wireguard = new Forwarder(sequencer.wireguard);
    this.#wireguardV6 = new Forwarder(sequencer.wireguardV6);
  }

  setPool(cidr: string, pool: IPPool | undefined): void {
    const id = cidr.replace("/", "-");
    const message: IPAMPoolUpdate | undefined = pool && {
      msg: "IPAMPoolUpdate",
      id,
      pool: {
        cidr,
        masquerade: pool.masquerade ?? false,
        ipip_mode: pool.ipip_mode ?? "",
        vxlan_mode: pool.vxlan_mode ?? "",
        allowed_uses: pool.allowed_uses ?? [],
      },
    };
    this.#pools.set(id, message, { msg: "IPAMPoolRemove", id });
  }

  setNode(hostname: string, node: NodeResource | undefined): void {
    this.#hosts.set(hostname, hostMetadata(hostname, node), { msg: "HostMetadataRemove", hostname });
  }

  setService(namespace: string, name: string, service: ServiceResource | undefined): void {
    const message = service && serviceMessage(namespace, name, service);
    this.#services.set(`${namespace}/${name}`, message, { msg: "ServiceRemove", name, namespace });
  }

  /** Each family is an object of its own: a half without a key is no endpoint. */
  setWireguard(hostname: string, value: Wireguard | undefined): void {
    const v4: WireguardEndpointUpdate | undefined = value?.publicKey
      ? {
          msg: "WireguardEndpointUpdate",
          hostname,
          public_key: value.publicKey,
          interface_ipv4_addr: value.interfaceIPv4Addr ?? "",
        }
      : undefined;
    const v6: WireguardEndpointV6Update | undefined = value?.publicKeyV6
      ? {
          msg: "WireguardEndpointV6Update",
          hostname,
          public_key_v6: value.publicKeyV6,
          interface_ipv6_addr: value.interfaceIPv6Addr ?? "",
        }
      : undefined;
    this.#wireguard.set(hostname, v4, { msg: "WireguardEndpointRemove", hostname });
    this.#wireguardV6.set(hostname, v6, { msg: "WireguardEndpointV6Remove", hostname });
  }

  /** The BGPConfiguration named `default`. */
  setBgpConfiguration(config: BGPConfigurationResource | undefined): void {
    if (config === undefined && this.#bgp === undefined) return;
    const message = globalBgpMessage(config);
    if (sameValue(this.#bgp, message)) return;
    this.#bgp = message;
    this.#sequencer.onGlobalBgpConfig(message);
  }
}
