import { sha1 } from "@bulrush/base";
import { type NodeResource, sameValue } from "@bulrush/model";
import type { VXLANTunnelEndpointUpdate } from "@bulrush/proto";
import type { EventSequencer } from "../sequencer/event-sequencer.ts";
import { nodeAddresses } from "./node-addresses.ts";

/** Host settings that say where a node's tunnel ends. */
const SETTINGS = ["IPv4VXLANTunnelAddr", "IPv6VXLANTunnelAddr", "VXLANTunnelMACAddr", "VXLANTunnelMACAddrV6"] as const;
type Setting = (typeof SETTINGS)[number];

/** First byte of derived addresses: locally administered, unicast. */
const MAC_PREFIX = 0x66;

interface Node {
  ipv4: string;
  ipv6: string;
  readonly settings: Map<Setting, string>;
}

/**
 * The ends of the VXLAN tunnels: a node has one for each family in which both its own and its tunnel's address are
 * known. This host's own is among them.
 *
 * Invariant: `#sent` is what the sequencer was last given.
 */
export class VxlanResolver {
  readonly #sequencer: EventSequencer;
  readonly #nodes = new Map<string, Node>();
  readonly #dirty = new Set<string>();
  readonly #sent = new Map<string, VXLANTunnelEndpointUpdate>();

  constructor(sequencer: EventSequencer) {
    this.#sequencer = sequencer;
  }

  setNode(name: string, resource: NodeResource | undefined): void {
    const addresses = resource && nodeAddresses(resource);
    const node = this.#node(name);
    node.ipv4 = addresses?.ipv4 ?? "";
    node.ipv6 = addresses?.ipv6 ?? "";
    this.#dirty.add(name);
  }

  /** Settings that are not of tunnels are passed over. */
  setHostConfig(hostname: string, name: string, value: string | undefined): void {
    const setting = SETTINGS.find((one) => one === name);
    if (setting === undefined) return;
    const { settings } = this.#node(hostname);
    if (value) settings.set(setting, value);
    else settings.delete(setting);
    this.#dirty.add(hostname);
  }

  flush(): void {
    for (const name of this.#dirty) {
      const node = this.#nodes.get(name);
      const vtep = node && endpointOf(name, node);
      if (node !== undefined && node.ipv4 === "" && node.ipv6 === "" && node.settings.size === 0)
        this.#nodes.delete(name);
      const sent = this.#sent.get(name);
      if (vtep === undefined) {
        if (sent === undefined) continue;
        this.#sent.delete(name);
        this.#sequencer.vteps.remove(name, { msg: "VXLANTunnelEndpointRemove", node: name });
      } else if (sent === undefined || !sameValue(sent, vtep)) {
        this.#sent.set(name, vtep);
        this.#sequencer.vteps.update(name, vtep);
      }
    }
    this.#dirty.clear();
  }

  #node(name: string): Node {
    let node = this.#nodes.get(name);
    if (node === undefined) this.#nodes.set(name, (node = { ipv4: "", ipv6: "", settings: new Map() }));
    return node;
  }
}

/** `undefined` while neither family is complete. */
function endpointOf(name: string, { ipv4, ipv6, settings }: Node): VXLANTunnelEndpointUpdate | undefined {
  const tunnel4 = settings.get("IPv4VXLANTunnelAddr");
  const tunnel6 = settings.get("IPv6VXLANTunnelAddr");
  const has4 = ipv4 !== "" && tunnel4 !== undefined;
  const has6 = ipv6 !== "" && tunnel6 !== undefined;
  if (!has4 && !has6) return undefined;
  return {
    msg: "VXLANTunnelEndpointUpdate",
    node: name,
    mac: has4 ? (settings.get("VXLANTunnelMACAddr") ?? derivedMac(name)) : "",
    ipv4_addr: has4 ? tunnel4 : "",
    parent_device_ip: has4 ? ipv4 : "",
    mac_v6: has6 ? (settings.get("VXLANTunnelMACAddrV6") ?? derivedMac(`${name}-v6`)) : "",
    ipv6_addr: has6 ? tunnel6 : "",
    parent_device_ipv6: has6 ? ipv6 : "",
  };
}

/** The same on every host, without anybody storing it. */
function derivedMac(name: string): string {
  const bytes = [MAC_PREFIX, ...sha1(name).subarray(0, 5)];
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(":");
}
