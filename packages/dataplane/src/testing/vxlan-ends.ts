import type { ToDataplane } from "@bulrush/proto";
import { FakeHost } from "./fake-host.ts";
import { clusterRoute, encapsulation, tunnelEnd } from "./messages.ts";

/** Three hosts with a VXLAN end each, told to the first, oak; elm is in its subnet, fir is not. */

export const MAC_A = "66:00:00:00:00:0a";
export const MAC_B = "66:00:00:00:00:0b";
export const MAC_C = "66:00:00:00:00:0c";
export const OWN: ToDataplane = tunnelEnd("oak", `10.65.0.0, ${MAC_A}, 192.168.0.1`);
export const ELM: ToDataplane = tunnelEnd("elm", `10.65.1.0, ${MAC_B}, 192.168.0.2`);
export const FIR: ToDataplane = tunnelEnd("fir", `10.65.2.0, ${MAC_C}, 172.16.0.3`);
/** A pool asks for VXLAN. */
export const ON: ToDataplane = encapsulation({ vxlan_enabled: true });
/** Of a route: it leads to elm. */
export const toElm = { dst_node_name: "elm", dst_node_ip: "192.168.0.2" } as const;
export const ELM_BLOCK: ToDataplane = clusterRoute("10.65.1.0/26", toElm);

/** The first of them, with its way to the others. */
export function oakHost(): FakeHost {
  const host = new FakeHost();
  host.routes.setLink(2, "eth0");
  host.routes.addAddress(2, "192.168.0.1/24");
  return host;
}
