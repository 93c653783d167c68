import { parseCidr } from "@bulrush/ip";
import type { Encapsulation, RouteUpdate, ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Manager } from "../manager/manager.ts";
import type { Family } from "../render/statements.ts";
import { NO_INTERFACE, type RouteClass, type RouteTarget } from "../route/route-class.ts";
import type { RouteTable } from "../route/route-table.ts";
import { hostMtu, tunnelMtu } from "./host-mtu.ts";
import { IPIP_DEVICE } from "./ipip-device.ts";
import { LOOPBACK, type VxlanTunnel } from "./vxlan-tunnel.ts";
import { OWN_PROTOCOL } from "../route/own-protocol.ts";

const BOOT_PROTOCOL = 3;

/** A route and where it goes. */
interface Placed {
  readonly routeClass: RouteClass;
  readonly interfaceName: string;
  readonly target: RouteTarget;
}

/**
 * Routes to workloads of other hosts, and blackholes for the blocks of this one, from what the graph says of networks:
 *
 *     block or address of another host
 *       VXLAN pool     same subnet and parent device known: by the host's address on the parent device
 *                      else by the tunnel's other end, on the tunnel device
 *       IPIP pool      the same, with tunl0
 *       no tunnel      by the host's address on the parent device, where that is ours to write
 *     end of another host's tunnel     on the tunnel device
 *     block of this host               blackhole: what no workload has must not leave again
 *
 * Invariant: `#placed` is what the tables were told, by network; networks whose answer may be another now are in
 * `#dirty`.
 */
export class ClusterRoutes implements Manager {
  readonly #config: DataplaneConfig;
  readonly #interfaces: Interfaces;
  readonly #tables: ReadonlyMap<Family, RouteTable>;
  readonly #tunnels: ReadonlyMap<Family, VxlanTunnel>;
  readonly #routes = new Map<string, RouteUpdate>();
  readonly #placed = new Map<string, Placed>();
  readonly #byNode = new Map<string, Set<string>>();
  readonly #dirty = new Set<string>();
  readonly #ownHost = new Map<Family, string>();
  /** The interface that has this host's address, by family, as of the last look. */
  readonly #parents = new Map<Family, string | undefined>();
  /** What is left by each kind of tunnel, as of the last look. */
  #mtus: TunnelMtus;
  #encapsulation: Encapsulation | undefined;
  #parentsStale = true;

  constructor(
    config: DataplaneConfig,
    interfaces: Interfaces,
    tables: ReadonlyMap<Family, RouteTable>,
    tunnels: ReadonlyMap<Family, VxlanTunnel>,
  ) {
    this.#config = config;
    this.#interfaces = interfaces;
    this.#tables = tables;
    this.#tunnels = tunnels;
    this.#mtus = tunnelMtus(config, interfaces);
    interfaces.onChange.add(() => {
      this.#parentsStale = true;
    });
  }

  onUpdate(message: ToDataplane): void {
    switch (message.msg) {
      case "RouteUpdate":
        this.#forget(message.dst);
        this.#remember(message);
        return;
      case "RouteRemove":
        this.#forget(message.dst);
        return;
      case "VXLANTunnelEndpointUpdate":
      case "VXLANTunnelEndpointRemove":
        for (const dst of this.#byNode.get(message.node) ?? []) this.#dirty.add(dst);
        if (message.node === this.#config.hostname) this.#parentsStale = true;
        return;
      case "Encapsulation":
        this.#encapsulation = message;
        this.#markAll();
        return;
      default:
    }
  }

  completeDeferredWork(): void {
    if (this.#parentsStale) {
      this.#findParents();
      this.#findMtus();
    }
    for (const dst of this.#dirty) this.#place(dst);
    this.#dirty.clear();
  }

  #remember(route: RouteUpdate): void {
    this.#routes.set(route.dst, route);
    const nets = this.#byNode.get(route.dst_node_name) ?? new Set();
    this.#byNode.set(route.dst_node_name, nets.add(route.dst));
    this.#dirty.add(route.dst);
    if (!route.types.includes("LOCAL_HOST") || route.dst_node_ip === "") return;
    this.#ownHost.set(familyOf(route.dst), route.dst_node_ip);
    this.#parentsStale = true;
  }

  #forget(dst: string): void {
    const route = this.#routes.get(dst);
    if (route === undefined) return;
    this.#routes.delete(dst);
    const nets = this.#byNode.get(route.dst_node_name);
    nets?.delete(dst);
    if (nets?.size === 0) this.#byNode.delete(route.dst_node_name);
    this.#dirty.add(dst);
  }

  #markAll(): void {
    for (const dst of this.#routes.keys()) this.#dirty.add(dst);
  }

  #findParents(): void {
    this.#parentsStale = false;
    for (const [family, tunnel] of this.#tunnels) {
      const host = tunnel.own?.host ?? this.#ownHost.get(family);
      const owner = host === undefined ? undefined : this.#interfaceWith(host);
      // No other host is on the loopback device.
      const parent = owner === LOOPBACK ? undefined : owner;
      if (parent === this.#parents.get(family)) continue;
      this.#parents.set(family, parent);
      tunnel.touch();
      this.#markAll();
    }
  }

  #findMtus(): void {
    const mtus = tunnelMtus(this.#config, this.#interfaces);
    const { ipip, vxlan } = this.#mtus;
    if (mtus.ipip === ipip && mtus.vxlan[4] === vxlan[4] && mtus.vxlan[6] === vxlan[6]) return;
    this.#mtus = mtus;
    this.#markAll();
  }

  #interfaceWith(address: string): string | undefined {
    const own = new Set([...this.#tunnels.values()].map(({ deviceName }) => deviceName));
    for (const { addresses, name } of this.#interfaces.all()) if (addresses.has(address) && !own.has(name)) return name;
    return undefined;
  }

  #place(dst: string): void {
    const family = familyOf(dst);
    const table = this.#tables.get(family);
    if (table === undefined) return;
    const route = this.#routes.get(dst);
    const next = route === undefined ? undefined : this.#placeOf(route, family);
    const before = this.#placed.get(dst);
    if (before !== undefined && (next === undefined || !isSamePlace(before, next)))
      table.dropRoute(before.routeClass, before.interfaceName, before.target);
    if (next === undefined) {
      this.#placed.delete(dst);
      return;
    }
    table.putRoute(next.routeClass, next.interfaceName, next.target);
    this.#placed.set(dst, next);
  }

  #placeOf(route: RouteUpdate, family: Family): Placed | undefined {
    const { ip_pool_type: poolType, types } = route;
    const tunnel = this.#tunnels.get(family);
    if (types.includes("REMOTE_TUNNEL") && route.tunnel_type.vxlan && tunnel?.isOn === true)
      return this.#onTunnel(route, tunnel, {});
    // Also another tunnel's end that its host borrowed: the block around it leads to the wrong one.
    if (types.includes("REMOTE_WORKLOAD") && !this.#isHere(route))
      switch (poolType) {
        case "VXLAN":
          return this.#byVxlan(route, family, tunnel);
        case "IPIP":
          return this.#byIpip(route, family);
        case "NO_ENCAP":
          return this.#writesPlain() ? this.#byParent("no-encap", route, family) : undefined;
        default:
          return undefined;
      }
    if (!types.includes("LOCAL_WORKLOAD") || route.local_workload || isOneAddress(route.dst)) return undefined;
    if (poolType === "VXLAN" && tunnel?.isOn === true) return this.#blackhole("blackhole-vxlan", route);
    if (poolType === "IPIP" && this.#writesIpip()) return this.#blackhole("blackhole-ipip", route);
    if (poolType === "NO_ENCAP" && this.#writesPlain()) return this.#blackhole("blackhole-no-encap", route);
    return undefined;
  }

  /** An address that was borrowed from the block of another host is of both, and here all the same. */
  #isHere({ dst_node_name: node, local_workload: isLocal }: RouteUpdate): boolean {
    return isLocal || (node !== "" && node === this.#config.hostname);
  }

  #byVxlan(route: RouteUpdate, family: Family, tunnel: VxlanTunnel | undefined): Placed | undefined {
    if (tunnel?.isOn !== true) return undefined;
    const direct = route.same_subnet ? this.#byParent("vxlan-same-subnet", route, family) : undefined;
    if (direct !== undefined) return direct;
    const peer = tunnel.peer(route.dst_node_name);
    return peer === undefined
      ? undefined
      : this.#onTunnel(route, tunnel, { via: peer.address, onlink: true, scope: "universe" });
  }

  #byIpip(route: RouteUpdate, family: Family): Placed | undefined {
    if (family === 6 || !this.#writesIpip() || route.dst_node_ip === "") return undefined;
    const direct = route.same_subnet ? this.#byParent("ipip-same-subnet", route, family) : undefined;
    const via = { via: route.dst_node_ip, onlink: true, scope: "universe", mtu: this.#mtus.ipip } as const;
    return direct ?? { routeClass: "ipip-tunnel", interfaceName: IPIP_DEVICE, target: this.#target(route, via) };
  }

  #byParent(routeClass: RouteClass, route: RouteUpdate, family: Family): Placed | undefined {
    const parent = this.#parents.get(family);
    if (parent === undefined || route.dst_node_ip === "") return undefined;
    const via = { via: route.dst_node_ip, onlink: true, scope: "universe" } as const;
    return { routeClass, interfaceName: parent, target: this.#target(route, via) };
  }

  #onTunnel(route: RouteUpdate, tunnel: VxlanTunnel, fields: Partial<RouteTarget>): Placed {
    const mtu = this.#mtus.vxlan[familyOf(route.dst)];
    return {
      routeClass: "vxlan-tunnel",
      interfaceName: tunnel.deviceName,
      target: this.#target(route, { ...fields, mtu }),
    };
  }

  #blackhole(routeClass: RouteClass, route: RouteUpdate): Placed {
    const target = this.#target(route, { type: "blackhole", scope: "universe" });
    return { routeClass, interfaceName: NO_INTERFACE, target };
  }

  #target(route: RouteUpdate, fields: Partial<RouteTarget>): RouteTarget {
    const { deviceRouteProtocol } = this.#config;
    return {
      destination: route.dst,
      // The kernel's default tells nothing.
      protocol: deviceRouteProtocol === BOOT_PROTOCOL ? OWN_PROTOCOL : deviceRouteProtocol,
      // What the kernel makes of no metric.
      metric: familyOf(route.dst) === 4 ? 0 : 1024,
      type: "unicast",
      scope: "link",
      ...fields,
    };
  }

  #writesIpip(): boolean {
    return this.#config.clusterRoutes.ipip && this.#encapsulation?.ipip_enabled === true;
  }

  #writesPlain(): boolean {
    return this.#config.clusterRoutes.noEncap && this.#encapsulation?.no_encap_needed === true;
  }
}

interface TunnelMtus {
  readonly ipip: number;
  readonly vxlan: Readonly<Record<Family, number>>;
}

function tunnelMtus(config: DataplaneConfig, interfaces: Interfaces): TunnelMtus {
  const host = hostMtu(interfaces, config.mtuInterfacePattern);
  return {
    ipip: tunnelMtu("ipip", 4, config, host),
    vxlan: { 4: tunnelMtu("vxlan", 4, config, host), 6: tunnelMtu("vxlan", 6, config, host) },
  };
}

function familyOf(cidr: string): Family {
  return cidr.includes(":") ? 6 : 4;
}

function isOneAddress(text: string): boolean {
  const cidr = parseCidr(text);
  return cidr?.prefixLength === (cidr?.family === 4 ? 32 : 128);
}

function isSamePlace(a: Placed, b: Placed): boolean {
  return a.routeClass === b.routeClass && a.interfaceName === b.interfaceName;
}
