import { messageOf } from "@bulrush/base";
import { isNotFound, type RouteOperation } from "@bulrush/netlink";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { deviceDrift } from "../drift/device-drift.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interface, Interfaces } from "../manager/interfaces.ts";
import type { Family } from "../render/statements.ts";
import { hostMtu, tunnelMtu } from "./host-mtu.ts";
import { deletion, planVxlanDevice, VXLAN_DEVICE, type VxlanDevice } from "./vxlan-device.ts";
import { planPeers, type VxlanPeer } from "./vxlan-peers.ts";

/** Hosts that are routed to by several links have their address there. */
export const LOOPBACK = "lo";

/** The device and its entries are looked at this often, and so soon after a failure. */
const CHECK_MS = 10_000;
const RETRY_MS = 1000;

/** This host's own end. */
export interface OwnEnd {
  readonly address: string;
  readonly mac: string;
  /** The address of this host that the tunnel goes by. */
  readonly host: string;
}

export interface TunnelResult {
  readonly writes: number;
  /** Differences found by a look that nothing had asked for. */
  /** The device that it is about. */
  readonly name: string;
  readonly drift: number;
  readonly failures: readonly string[];
  readonly againAtMs: number | undefined;
}

/**
 * The VXLAN device of one family with its neighbours and forwarding entries.
 *
 *     unknown ──Encapsulation──> off: a device that is there is deleted
 *                           └──> on: no own end ──> as when off
 *                                    own end and parent device known ──> device, address, entries; looked at every 10 s
 */
export class VxlanTunnel {
  readonly #family: Family;
  readonly #config: DataplaneConfig;
  readonly #interfaces: Interfaces;
  readonly #peers = new Map<string, VxlanPeer>();
  #own: OwnEnd | undefined;
  #enabled: boolean | undefined;
  #isDirty = true;
  #nextCheckMs = 0;

  constructor(family: Family, config: DataplaneConfig, interfaces: Interfaces) {
    this.#family = family;
    this.#config = config;
    this.#interfaces = interfaces;
  }

  get deviceName(): string {
    return VXLAN_DEVICE[this.#family];
  }

  /** True when the pools ask for it. */
  get isOn(): boolean {
    return this.#enabled === true;
  }

  get own(): OwnEnd | undefined {
    return this.#own;
  }

  peer(node: string): VxlanPeer | undefined {
    return this.#peers.get(node);
  }

  peers(): Iterable<VxlanPeer> {
    return this.#peers.values();
  }

  switch(enabled: boolean): void {
    this.#enabled = enabled;
    this.touch();
  }

  setOwn(own: OwnEnd | undefined): void {
    this.#own = own;
    this.touch();
  }

  setPeer(node: string, peer: VxlanPeer | undefined): void {
    if (peer === undefined) this.#peers.delete(node);
    else this.#peers.set(node, peer);
    this.touch();
  }

  /** Something may be other than it was: look at the next {@link apply}. */
  touch(): void {
    this.#isDirty = true;
  }

  /** The interface that has this host's end: outer packets leave by it. `undefined` while none has it. */
  parent(): Interface | undefined {
    const host = this.#own?.host;
    if (host === undefined) return undefined;
    for (const known of this.#interfaces.all())
      if (known.name !== this.deviceName && known.addresses.has(host)) return known;
    return undefined;
  }

  /** Makes the kernel's device what is wanted. Never throws: what fails is tried again in a second. */
  apply(access: RouteAccess, nowMs: number): TunnelResult {
    if (this.#enabled === undefined || (!this.#isDirty && nowMs < this.#nextCheckMs))
      return { name: this.deviceName, writes: 0, drift: 0, failures: [], againAtMs: this.#againAt() };
    const wasAsked = this.#isDirty;
    const failures: string[] = [];
    let writes = 0;
    try {
      for (const operations of this.#rounds(access)) {
        writes += operations.length;
        failures.push(...write(access, operations));
      }
    } catch (error) {
      failures.push(`Look at ${this.deviceName}: ${messageOf(error)}`);
    }
    // On or off: it is not as wanted until all of it has worked.
    this.#isDirty = failures.length > 0;
    this.#nextCheckMs = nowMs + (failures.length > 0 ? RETRY_MS : CHECK_MS);
    return { name: this.deviceName, writes, drift: wasAsked ? 0 : writes, failures, againAtMs: this.#againAt() };
  }

  /** What is other than meant at the moment. Writes nothing; throws when a listing fails. */
  inspect(access: RouteAccess): DriftItem[] {
    if (this.#enabled === undefined) return [];
    const items: DriftItem[] = [];
    for (const operations of this.#rounds(access)) {
      items.push(...deviceDrift(this.deviceName, operations));
      // The next round is about what this one would have made.
      if (operations.some(({ kind }) => kind === "add-vxlan" || kind === "delete-link")) break;
    }
    return items;
  }

  #againAt(): number | undefined {
    return this.isOn ? this.#nextCheckMs : undefined;
  }

  /** What is to be written, each round worked out when the one before is done. */
  *#rounds(access: RouteAccess): Generator<readonly RouteOperation[]> {
    const find = () => access.links().find(({ name }) => name === this.deviceName);
    // Without an end of its own the address on a device that is left may be another host's by now.
    if (!this.isOn || this.#own === undefined) {
      if (find()?.kind === "vxlan") yield [deletion(this.deviceName)];
      return;
    }
    const wanted = this.#device();
    if (wanted === undefined) return;
    let plan = planVxlanDevice(wanted, find(), access.addresses(), this.#family);
    yield plan.operations;
    if (plan.kind === "make") {
      plan = planVxlanDevice(wanted, find(), access.addresses(), this.#family);
      if (plan.kind === "make") throw new Error("The kernel made it other than asked for");
      yield plan.operations;
    }
    const { index: device } = plan;
    const neighbours = access.neighbours({ family: this.#family, device });
    const forwarding = access.neighbours({ device, forwarding: true });
    yield planPeers(device, this.#peers.values(), neighbours, forwarding);
  }

  #device(): VxlanDevice | undefined {
    const parent = this.parent();
    const own = this.#own;
    if (own === undefined || parent === undefined) return undefined;
    const { mtuInterfacePattern, vxlanPort, vxlanVni } = this.#config;
    return {
      name: this.deviceName,
      mac: own.mac.toLowerCase(),
      mtu: tunnelMtu("vxlan", this.#family, this.#config, hostMtu(this.#interfaces, mtuInterfacePattern)),
      vni: vxlanVni,
      port: vxlanPort,
      local: own.host,
      ...(parent.name === LOOPBACK ? {} : { parent: parent.index }),
      address: own.address,
    };
  }
}

function write(access: RouteAccess, operations: readonly RouteOperation[]): string[] {
  if (operations.length === 0) return [];
  return access
    .apply(operations)
    .filter(({ error, operation }) => !(operation.kind === "delete-neighbour" && isNotFound(error)))
    .map(({ error }) => error.message);
}
