import { messageOf } from "@bulrush/base";
import { hasErrno, type Link, type RouteOperation } from "@bulrush/netlink";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import { deviceDrift } from "../drift/device-drift.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { hostMtu, tunnelMtu } from "./host-mtu.ts";
import { isOwnIpipAddress } from "./own-ipip-address.ts";

/** The device of IP in IP that the kernel makes with its module, and never gives up. IPv4 only. */
export const IPIP_DEVICE = "tunl0";

/** The device is looked at this often. */
const CHECK_MS = 10_000;

/** The kernel has no such device. */
const NOT_THERE = ["EOPNOTSUPP", "ENOENT"] as const;

/**
 * The device of IP in IP: up, with the MTU that is left, and this host's address in the tunnel, whoever writes the routes.
 *
 *     unknown ──Encapsulation──> off: addresses of a device that is there are taken away, once
 *                           └──> on: made where it is missing, MTU, up, its one address; looked at every 10 s
 */
export class IpipDevice implements DeviceWork {
  readonly #config: DataplaneConfig;
  readonly #interfaces: Interfaces;
  /** This host's networks in the tunnel, as the graph tells them: one, but for the moment of a change. */
  readonly #addresses = new Set<string>();
  #enabled: boolean | undefined;
  #isDirty = true;
  /** To be looked at, though nothing else is wanted: what is found then is somebody else's doing. */
  #isDue = false;
  #nextCheckMs = 0;
  #isMissing = false;

  constructor(config: DataplaneConfig, interfaces: Interfaces) {
    this.#config = config;
    this.#interfaces = interfaces;
    interfaces.onChange.add((name) => {
      if (name === IPIP_DEVICE) this.#isDue = true;
      else if (config.mtuInterfacePattern.test(name)) this.#isDirty = true;
    });
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "Encapsulation") {
      this.#isDirty ||= message.ipip_enabled !== this.#enabled;
      this.#enabled = message.ipip_enabled;
    } else if (message.msg === "RouteUpdate") {
      const isOwn = isOwnIpipAddress(message);
      if (isOwn === this.#addresses.has(message.dst)) return;
      if (isOwn) this.#addresses.add(message.dst);
      else this.#addresses.delete(message.dst);
      this.#isDirty = true;
    } else if (message.msg === "RouteRemove") this.#isDirty = this.#addresses.delete(message.dst) || this.#isDirty;
  }

  queueResync(): void {
    this.#isDue = true;
  }

  apply(access: RouteAccess, nowMs: number): DeviceResult {
    const again = (): Pick<DeviceResult, "againAtMs"> =>
      this.#enabled === true ? { againAtMs: this.#nextCheckMs } : {};
    if (this.#enabled === undefined || this.#config.routeSyncDisabled) return NO_DEVICE_WORK;
    const isDue = this.#isDue || (this.#enabled && nowMs >= this.#nextCheckMs);
    if (!this.#isDirty && !isDue) return { ...NO_DEVICE_WORK, ...again() };
    const wasAsked = this.#isDirty;
    this.#isDue = false;
    this.#nextCheckMs = nowMs + CHECK_MS;
    const written: RouteOperation[] = [];
    let isMissing = false;
    const failures: string[] = [];
    try {
      for (const operations of this.#rounds(access)) {
        written.push(...operations);
        for (const { error, operation } of access.apply(operations))
          if (operation.kind === "add-link" && hasErrno(error, ...NOT_THERE)) isMissing = true;
          else failures.push(error.message);
      }
    } catch (error) {
      failures.push(`Look at ${IPIP_DEVICE}: ${messageOf(error)}`);
    }
    this.#isDirty = failures.length > 0;
    const warnings = isMissing && !this.#isMissing ? [`This kernel has no IP in IP: ${IPIP_DEVICE} is missing`] : [];
    const wasMissing = this.#isMissing;
    this.#isMissing = isMissing;
    const writes = written.length;
    const isOwnWork = wasAsked || isMissing || wasMissing;
    const repaired = isOwnWork ? [] : deviceDrift(IPIP_DEVICE, written);
    return { writes, drift: isOwnWork ? 0 : writes, repaired, failures, warnings, ...again() };
  }

  inspect(access: RouteAccess): readonly DriftItem[] {
    if (this.#enabled === undefined || this.#config.routeSyncDisabled || this.#isMissing) return [];
    // Only the first round: the next is about what this one would have made.
    for (const operations of this.#rounds(access)) return deviceDrift(IPIP_DEVICE, operations);
    return [];
  }

  /** What is to be written, each round worked out when the one before is done. */
  *#rounds(access: RouteAccess): Generator<readonly RouteOperation[]> {
    const find = (): Link | undefined => access.links().find(({ name }) => name === IPIP_DEVICE);
    const mtu = tunnelMtu("ipip", 4, this.#config, hostMtu(this.#interfaces, this.#config.mtuInterfacePattern));
    let link = find();
    if (link === undefined && this.#enabled === true) {
      yield [{ kind: "add-link", plain: { name: IPIP_DEVICE, kind: "ipip", mtu, up: true } }];
      link = find();
    }
    if (link === undefined) return;
    const operations: RouteOperation[] = [];
    if (this.#enabled === true && (link.mtu !== mtu || !link.up))
      operations.push({ kind: "change-link", link: link.index, change: { mtu, up: true } });
    const wanted = new Set(this.#enabled === true ? this.#addresses : []);
    const stale: RouteOperation[] = [];
    for (const known of access.addresses())
      if (known.device === link.index && !known.address.includes(":") && !wanted.delete(known.address))
        stale.push({ kind: "delete-address", address: known });
    for (const address of wanted)
      operations.push({ kind: "replace-address", address: { device: link.index, address } });
    // Last: with the last address of a device, the kernel drops all of its routes.
    operations.push(...stale);
    if (operations.length > 0) yield operations;
  }
}
