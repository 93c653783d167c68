import { canonicalCidr } from "@bulrush/ip";
import type { RouteType, RouteUpdate, ToDataplane } from "@bulrush/proto";
import type { Family } from "../render/statements.ts";

/** A key of all zeros: the sender has none. */
const NO_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

const NETWORKS: ReadonlySet<RouteType> = new Set([
  "LOCAL_WORKLOAD",
  "REMOTE_WORKLOAD",
  "LOCAL_TUNNEL",
  "REMOTE_TUNNEL",
]);
const HOSTS: ReadonlySet<RouteType> = new Set(["LOCAL_HOST", "REMOTE_HOST"]);

/** Another host that packets go to encrypted. */
export interface WireguardHost {
  readonly publicKey: string;
  /** "192.0.2.1:51820" */
  readonly endpoint: string;
  /** Canonical CIDRs. */
  readonly networks: readonly string[];
}

/** What is wanted of WireGuard in one family, once this host's own key is known. */
export interface WireguardPlan {
  readonly hosts: readonly WireguardHost[];
  /** The datastore has told our key to the others: from now on packets go encrypted. */
  readonly isTold: boolean;
  /** Networks of everybody else, this host included: packets to them take the way that they took without WireGuard. */
  readonly plain: readonly string[];
}

export interface WireguardHostsOptions {
  readonly family: Family;
  readonly hostname: string;
  readonly port: number;
  /** What hosts send themselves is encrypted too. */
  readonly encryptsHosts: boolean;
}

/**
 * What the graph tells of hosts, their keys and their networks, in one family.
 *
 *     network of another host ──> its key is known, nobody else's, and not ours, and its address is known,
 *                                 and the datastore has told our own key to the others: encrypted
 *                             └─> anything else: plain
 *
 * Two hosts with one key: both plain, as nobody knows whom a packet would reach.
 */
export class WireguardHosts {
  readonly #options: WireguardHostsOptions;
  readonly #keys = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  readonly #routes = new Map<string, string>();
  #ownAddress = "";
  #isStale = true;

  constructor(options: WireguardHostsOptions) {
    this.#options = options;
  }

  /** The key of this host that the datastore has; "" for none. */
  get publishedKey(): string {
    return this.#keys.get(this.#options.hostname) ?? "";
  }

  /** This host's address on the device; "" for none. */
  get ownAddress(): string {
    return this.#ownAddress;
  }

  /** True since something changed, until it is asked. */
  takeStale(): boolean {
    const isStale = this.#isStale;
    this.#isStale = false;
    return isStale;
  }

  onUpdate(message: ToDataplane): void {
    const { family } = this.#options;
    switch (message.msg) {
      case "WireguardEndpointUpdate":
        if (family === 4) this.#setKey(message.hostname, message.public_key, message.interface_ipv4_addr);
        return;
      case "WireguardEndpointV6Update":
        if (family === 6) this.#setKey(message.hostname, message.public_key_v6, message.interface_ipv6_addr);
        return;
      case "WireguardEndpointRemove":
        if (family === 4) this.#setKey(message.hostname, "", "");
        return;
      case "WireguardEndpointV6Remove":
        if (family === 6) this.#setKey(message.hostname, "", "");
        return;
      case "HostMetadataUpdate":
        this.#set(this.#addresses, message.hostname, family === 4 ? message.ipv4_addr : message.ipv6_addr);
        return;
      case "HostMetadataRemove":
        this.#set(this.#addresses, message.hostname, "");
        return;
      case "RouteUpdate":
        this.#setRoute(message);
        return;
      case "RouteRemove":
        this.#set(this.#routes, message.dst, "");
        return;
      default:
    }
  }

  /** `ownKey`: the public key of this host's device; "" for none. */
  plan(ownKey: string): WireguardPlan {
    const { hostname } = this.#options;
    const claims = new Map<string, number>();
    for (const key of this.#keys.values()) claims.set(key, (claims.get(key) ?? 0) + 1);
    const isTold = ownKey !== "" && this.publishedKey === ownKey && claims.get(ownKey) === 1;
    const networks = new Map<string, string[]>();
    for (const [network, host] of this.#routes) {
      const known = networks.get(host);
      if (known === undefined) networks.set(host, [network]);
      else known.push(network);
    }
    // Peers are known before our own key is told: they may know it earlier than we know that.
    const hosts: WireguardHost[] = [];
    for (const [host, publicKey] of this.#keys) {
      const endpoint = this.#endpoint(host);
      if (host === hostname || publicKey === ownKey || claims.get(publicKey) !== 1 || endpoint === undefined) continue;
      hosts.push({ publicKey, endpoint, networks: (networks.get(host) ?? []).sort() });
      if (isTold) networks.delete(host);
    }
    return { hosts, isTold, plain: [...networks.values()].flat().sort() };
  }

  #endpoint(host: string): string | undefined {
    const address = this.#addresses.get(host)?.replace(/\/.*$/, "");
    if (address === undefined) return undefined;
    return this.#options.family === 4 ? `${address}:${this.#options.port}` : `[${address}]:${this.#options.port}`;
  }

  #setKey(host: string, key: string, address: string): void {
    this.#set(this.#keys, host, key === NO_KEY ? "" : key);
    if (host !== this.#options.hostname || address === this.#ownAddress) return;
    this.#ownAddress = address;
    this.#isStale = true;
  }

  #setRoute({ dst, dst_node_name: host, types }: RouteUpdate): void {
    const network = canonicalCidr(dst);
    if (network === undefined || network.includes(":") !== (this.#options.family === 6)) return;
    const isOf = types.some((type) => NETWORKS.has(type) || (this.#options.encryptsHosts && HOSTS.has(type)));
    this.#set(this.#routes, dst, isOf ? host : "");
  }

  #set(map: Map<string, string>, name: string, value: string): void {
    if ((map.get(name) ?? "") === value) return;
    if (value === "") map.delete(name);
    else map.set(name, value);
    this.#isStale = true;
  }
}
