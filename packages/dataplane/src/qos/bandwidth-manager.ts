import { messageOf } from "@bulrush/base";
import { hasErrno, type Link, type Qdisc, type RouteOperation } from "@bulrush/netlink";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import { deviceDrift } from "../drift/device-drift.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { type Bandwidth, planBandwidth, QUEUE_DEVICE_PREFIX, queueDeviceOf } from "./bandwidth-plan.ts";
import { tokenBucketOf } from "./token-bucket.ts";

/** The queue device is made in the first round, and set up in the second. */
const ROUNDS = 2;

const UNLIMITED: Bandwidth = { ingress: undefined, egress: undefined };

/**
 * The bandwidth of workloads. Interfaces without a limit cost nothing: the kernel's queues are listed at the start, with
 * each refresh, and when an interface changes that has a limit or had one.
 *
 * Invariant: `#limited` holds every interface that may have a queue of ours in the kernel, once everything was listed.
 */
export class BandwidthManager implements DeviceWork {
  readonly #endpoints: WorkloadEndpoints;
  readonly #prefixes: readonly string[];
  readonly #dirty = new Set<string>();
  readonly #limited = new Set<string>();
  #isResync = true;
  #listedOnce = false;

  constructor(endpoints: WorkloadEndpoints, interfaces: Interfaces, prefixes: readonly string[]) {
    this.#endpoints = endpoints;
    this.#prefixes = prefixes;
    endpoints.onInterfaceChange.add((name) => this.#dirty.add(name));
    interfaces.onChange.add((name) => this.#noteInterface(name));
  }

  queueResync(): void {
    this.#isResync = true;
  }

  apply(access: RouteAccess, _nowMs: number): DeviceResult {
    const isResync = this.#isResync;
    const names = new Set([...this.#dirty].filter((name) => this.#limited.has(name) || this.#hasLimit(name)));
    if (!isResync && names.size === 0) {
      this.#dirty.clear();
      return NO_DEVICE_WORK;
    }
    const asked = new Set(this.#dirty);
    /** Interfaces of which a write has failed: the next rounds are those of the others. */
    const stuck = new Set<string>();
    const failures: string[] = [];
    let writes = 0;
    let drift = 0;
    const repaired: DriftItem[] = [];
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const { operations, owners } = without(stuck, this.#plan(access, isResync, names));
        if (operations.length === 0) break;
        writes += operations.length;
        const isDrift = (name: string): boolean => this.#listedOnce && round === 0 && !asked.has(name);
        const drifted = owners.filter(isDrift);
        drift += drifted.length;
        repaired.push(...driftOf(new Set(drifted), operations, owners));
        const failed = access.apply(operations).filter(({ error }) => !hasErrno(error, "ENODEV", "ENOENT"));
        for (const { error, index } of failed) {
          failures.push(error.message);
          stuck.add(owners[index] ?? "");
        }
      }
    } catch (error) {
      failures.push(`Set bandwidth: ${messageOf(error)}`);
    }
    this.#isResync = failures.length > 0;
    if (failures.length === 0) {
      this.#listedOnce = true;
      this.#dirty.clear();
    }
    return { writes, drift, repaired, failures };
  }

  inspect(access: RouteAccess): readonly DriftItem[] {
    const limited = [...this.#limited];
    const { operations, owners } = this.#plan(access, true, new Set());
    // What a plan has noted is true of the kernel once it was carried out.
    this.#limited.clear();
    for (const name of limited) this.#limited.add(name);
    return driftOf(new Set(owners), operations, owners);
  }

  /** A queue device that somebody takes away is wanted by the interface that it is named after. */
  #noteInterface(name: string): void {
    if (!name.startsWith(QUEUE_DEVICE_PREFIX)) {
      if (this.#limited.has(name) || this.#hasLimit(name)) this.#dirty.add(name);
      return;
    }
    for (const limited of this.#limited) if (queueDeviceOf(limited) === name) this.#dirty.add(limited);
  }

  #hasLimit(name: string): boolean {
    const { egress, ingress } = this.#wanted(name, 0);
    return ingress !== undefined || egress !== undefined;
  }

  #wanted(name: string, mtu: number): Bandwidth {
    const controls = this.#endpoints.ownerOf(name)?.endpoint.qos_controls;
    if (controls === undefined) return UNLIMITED;
    return { ingress: tokenBucketOf(controls, "ingress", mtu), egress: tokenBucketOf(controls, "egress", mtu) };
  }

  #plan(access: RouteAccess, isResync: boolean, names: ReadonlySet<string>): Plan {
    const links = access.links();
    const byName = new Map(links.map((link) => [link.name, link]));
    const qdiscs = qdiscsByDevice(access.qdiscs());
    const operations: RouteOperation[] = [];
    const owners: string[] = [];
    const add = (name: string, more: readonly RouteOperation[]): void => {
      operations.push(...more);
      for (const _ of more) owners.push(name);
    };
    const wantedDevices = new Set<string>();
    for (const link of links) {
      if (!isWorkloadInterface(link.name, this.#prefixes)) continue;
      const wanted = this.#wanted(link.name, link.mtu);
      const isLimited = wanted.ingress !== undefined || wanted.egress !== undefined;
      const queueDevice = byName.get(queueDeviceOf(link.name));
      if (queueDevice !== undefined || isLimited) wantedDevices.add(queueDeviceOf(link.name));
      if (!isResync && !names.has(link.name)) continue;
      if (isLimited) this.#limited.add(link.name);
      else this.#limited.delete(link.name);
      const own = [...(qdiscs.get(link.index) ?? []), ...(qdiscs.get(queueDevice?.index ?? 0) ?? [])];
      const filters = own.some(({ kind }) => kind === "ingress") ? access.ingressFilters(link.index) : [];
      add(link.name, planBandwidth(wanted, { link, queueDevice, qdiscs: own, filters }));
    }
    const ownerOf = new Map([...this.#limited].map((name) => [queueDeviceOf(name), name]));
    for (const name of this.#limited) if (!byName.has(name)) this.#limited.delete(name);
    for (const link of stale(links, wantedDevices))
      add(ownerOf.get(link.name) ?? link.name, [{ kind: "delete-link", link: link.index }]);
    return { operations, owners };
  }
}

interface Plan {
  readonly operations: readonly RouteOperation[];
  /** For each operation, the workload interface that it is about. */
  readonly owners: readonly string[];
}

/** Queue devices whose interface is gone. */
function stale(links: readonly Link[], wanted: ReadonlySet<string>): Link[] {
  return links.filter(({ kind, name }) => kind === "ifb" && name.startsWith(QUEUE_DEVICE_PREFIX) && !wanted.has(name));
}

function qdiscsByDevice(qdiscs: readonly Qdisc[]): Map<number, Qdisc[]> {
  const byDevice = new Map<number, Qdisc[]>();
  for (const qdisc of qdiscs) {
    const list = byDevice.get(qdisc.device);
    if (list === undefined) byDevice.set(qdisc.device, [qdisc]);
    else list.push(qdisc);
  }
  return byDevice;
}

function without(stuck: ReadonlySet<string>, { operations, owners }: Plan): Plan {
  if (stuck.size === 0) return { operations, owners };
  const isLeft = (_: unknown, i: number): boolean => !stuck.has(owners[i] ?? "");
  return { operations: operations.filter(isLeft), owners: owners.filter(isLeft) };
}

/** What the operations of these interfaces say, each with the interface that it is about in `owners`. */
function driftOf(
  names: ReadonlySet<string>,
  operations: readonly RouteOperation[],
  owners: readonly string[],
): DriftItem[] {
  return [...names].flatMap((name) =>
    deviceDrift(
      name,
      operations.filter((_, i) => owners[i] === name),
    ),
  );
}
