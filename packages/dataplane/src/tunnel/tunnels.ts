import type { ToDataplane, VXLANTunnelEndpointUpdate } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { type OwnEnd, type TunnelResult, VxlanTunnel } from "./vxlan-tunnel.ts";

/** The VXLAN tunnels of all families that are switched on, fed by the messages of the graph. */
export class Tunnels {
  readonly byFamily: ReadonlyMap<Family, VxlanTunnel>;
  readonly #hostname: string;

  constructor(families: Iterable<Family>, config: DataplaneConfig, interfaces: Interfaces) {
    this.#hostname = config.hostname;
    this.byFamily = new Map([...families].map((family) => [family, new VxlanTunnel(family, config, interfaces)]));
    const { interfacePrefixes } = config;
    // Workloads come and go; they are neither below a tunnel nor one.
    interfaces.onChange.add((name) => {
      if (!isWorkloadInterface(name, interfacePrefixes)) this.touch();
    });
  }

  /** To be told before those who ask the tunnels for their peers. */
  onUpdate(message: ToDataplane): void {
    switch (message.msg) {
      case "Encapsulation":
        this.byFamily.get(4)?.switch(message.vxlan_enabled);
        this.byFamily.get(6)?.switch(message.vxlan_enabled_v6);
        return;
      case "VXLANTunnelEndpointUpdate":
        for (const [family, tunnel] of this.byFamily) this.#setEnd(tunnel, message.node, endOf(message, family));
        return;
      case "VXLANTunnelEndpointRemove":
        for (const tunnel of this.byFamily.values()) this.#setEnd(tunnel, message.node, undefined);
        return;
      default:
    }
  }

  /** Everything is looked at again at the next apply. */
  touch(): void {
    for (const tunnel of this.byFamily.values()) tunnel.touch();
  }

  apply(access: RouteAccess, nowMs: number): readonly TunnelResult[] {
    return [...this.byFamily.values()].map((tunnel) => tunnel.apply(access, nowMs));
  }

  inspect(access: RouteAccess): DriftItem[] {
    return [...this.byFamily.values()].flatMap((tunnel) => tunnel.inspect(access));
  }

  #setEnd(tunnel: VxlanTunnel, node: string, end: OwnEnd | undefined): void {
    if (node === this.#hostname) tunnel.setOwn(end);
    else tunnel.setPeer(node, end);
  }
}

function endOf(message: VXLANTunnelEndpointUpdate, family: Family): OwnEnd | undefined {
  const end: OwnEnd =
    family === 4
      ? { address: message.ipv4_addr, mac: message.mac.toLowerCase(), host: message.parent_device_ip }
      : { address: message.ipv6_addr, mac: message.mac_v6.toLowerCase(), host: message.parent_device_ipv6 };
  return end.address === "" || end.host === "" || end.mac === "" ? undefined : end;
}
