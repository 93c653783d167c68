import { assert, messageOf } from "@bulrush/base";
import { failedWith, type FlowtableReadback, type NftConnection, type TableRef, Transaction } from "@bulrush/nftables";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DesiredTables } from "../desired/tables.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK, type NftWriter } from "../device/device-work.ts";
import type { Kernel, RouteAccess } from "../kernel/kernel.ts";
import type { HostEndpointsManager } from "../manager/host-endpoints-manager.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { flowTable } from "../render/flow-offload.ts";
import type { Family } from "../render/statements.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { IPIP_DEVICE } from "../tunnel/ipip-device.ts";
import type { DataplaneStatus } from "../status.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";

/** A device that the kernel says it does not have, though we know it: asked for again so often, so much later. */
const MAX_TRIES = 5;
const RETRY_MS = 5000;

export interface FlowtableDevicesInputs {
  readonly config: DataplaneConfig;
  readonly tables: DesiredTables;
  readonly endpoints: WorkloadEndpoints;
  readonly interfaces: Interfaces;
  readonly hostEndpoints: HostEndpointsManager;
}

/**
 * The devices at which packets of offloaded flows are picked up: interfaces of active workloads, tunnels, and the host's own
 * interfaces whose names match, all while they are up. Not those with do-not-track policy, which judges each packet. One
 * transaction changes them all; where the kernel misses a device that has just gone, each is added by itself.
 *
 * Invariant: `#missing` counts the tries of each wanted device that the kernel said it does not have.
 */
export class FlowtableDevices implements DeviceWork {
  readonly #inputs: FlowtableDevicesInputs;
  readonly #missing = new Map<string, number>();
  #retryAtMs: number | undefined;
  #isDirty = true;
  #devices = 0;

  constructor(inputs: FlowtableDevicesInputs) {
    this.#inputs = inputs;
    const touch = (): void => {
      this.#isDirty = true;
    };
    inputs.endpoints.onInterfaceChange.add(touch);
    inputs.hostEndpoints.onMatchChange.add(touch);
    inputs.interfaces.onChange.add((name) => {
      this.#missing.delete(name);
      touch();
    });
  }

  counts(): DataplaneStatus["counters"]["flowtableDevices"] {
    return { present: this.#devices, missing: this.#missing.size };
  }

  /** They are looked at with each apply. */
  queueResync(): void {}

  apply(_access: RouteAccess, nowMs: number, { nft }: Kernel, write: NftWriter): DeviceResult {
    if (!this.#inputs.config.flowOffload) return NO_DEVICE_WORK;
    const wasAsked = this.#isDirty;
    const isRetry = this.#retryAtMs !== undefined && nowMs >= this.#retryAtMs;
    if (isRetry) this.#retryAtMs = undefined;
    const wanted = this.#wanted(isRetry);
    const { interfaces } = this.#inputs;
    for (const name of this.#missing.keys()) if (interfaces.get(name)?.up !== true) this.#missing.delete(name);
    try {
      const changes = this.#changes(wanted, nft);
      const writes = this.#bring(changes, write);
      this.#isDirty = false;
      if (this.#missing.size > 0 && [...this.#missing.values()].some((tries) => tries < MAX_TRIES))
        this.#retryAtMs ??= nowMs + RETRY_MS;
      const repaired = wasAsked || isRetry ? [] : changes.flatMap((change) => driftOf(this.#withoutMissing(change)));
      return { writes, drift: repaired.length, repaired, failures: [], againAtMs: this.#retryAtMs };
    } catch (error) {
      this.#isDirty = true;
      return { ...NO_DEVICE_WORK, failures: [`Set devices of flow tables: ${messageOf(error)}`] };
    }
  }

  /** A flow table that is gone is its ruleset's. */
  inspect(_access: RouteAccess, { nft }: Kernel): readonly DriftItem[] {
    if (!this.#inputs.config.flowOffload || this.#isDirty) return [];
    return this.#changes(this.#wanted(false), nft).flatMap(driftOf);
  }

  #changes(wanted: ReadonlySet<string>, nft: NftConnection): Change[] {
    return [...this.#inputs.tables].flatMap(([family, table]) => {
      const present = nft.flowtables(table.family, table.name).find(({ name }) => name === flowTable(family).name);
      return present === undefined ? [] : [changeOf(family, table, present, wanted)];
    });
  }

  #bring(changes: readonly Change[], write: NftWriter): number {
    this.#devices = changes.reduce((sum, { present }) => sum + present.length, 0);
    const open = changes.filter(({ added, removed }) => added.length + removed.length > 0);
    if (open.length === 0) return 0;
    const transaction = new Transaction();
    for (const { added, flowtable, removed, table } of open) {
      transaction.deleteFlowtableDevices(table, { name: flowtable, devices: removed });
      if (added.length > 0) transaction.addFlowtable(table, { name: flowtable, devices: added });
    }
    const gone = new Set<string>();
    if (tolerates(() => write(transaction))) this.#book(open, gone);
    else {
      for (const { added, flowtable, removed, table } of open) {
        for (const device of removed)
          tolerates(() =>
            write(new Transaction().deleteFlowtableDevices(table, { name: flowtable, devices: [device] })),
          );
        for (const device of added)
          if (!tolerates(() => write(new Transaction().addFlowtable(table, { name: flowtable, devices: [device] }))))
            gone.add(device);
      }
      for (const device of gone) this.#missing.set(device, (this.#missing.get(device) ?? 0) + 1);
      this.#book(open, gone);
    }
    return open.reduce((sum, { added, removed }) => sum + added.length + removed.length, 0);
  }

  #book(done: readonly Change[], gone: ReadonlySet<string>): void {
    for (const { added, removed } of done) {
      this.#devices += added.filter((name) => !gone.has(name)).length - removed.length;
      for (const name of added) if (!gone.has(name)) this.#missing.delete(name);
    }
    assert(this.#devices >= 0, "A flow table has fewer devices than none");
  }

  /** A device that is just going is nobody's doing. */
  #withoutMissing(change: Change): Change {
    return { ...change, added: change.added.filter((name) => !this.#missing.has(name)) };
  }

  /** Those that the kernel did not have last time are left out, but for a retry. */
  #wanted(isRetry: boolean): Set<string> {
    const { config, endpoints, hostEndpoints, interfaces } = this.#inputs;
    const tunnels = new Set<string>([
      ...Object.values(VXLAN_DEVICE),
      IPIP_DEVICE,
      ...([4, 6] as const).filter((family) => config.wireguard[family]).map((family) => config.wireguardDevice[family]),
    ]);
    const wanted = new Set<string>();
    for (const { name, up } of interfaces.all()) {
      if (!up || hostEndpoints.hasUntrackedPolicy(name)) continue;
      const tries = this.#missing.get(name) ?? 0;
      if (tries >= MAX_TRIES || (tries > 0 && !isRetry)) continue;
      if (isWorkloadInterface(name, config.interfacePrefixes)) {
        if (endpoints.ownerOf(name)?.endpoint.state === "active") wanted.add(name);
      } else if (tunnels.has(name) || config.flowOffloadInterfaces.test(name)) wanted.add(name);
    }
    return wanted;
  }
}

interface Change {
  readonly table: TableRef;
  readonly flowtable: string;
  readonly present: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

function changeOf(
  family: Family,
  { family: nftFamily, name }: TableRef,
  { devices }: FlowtableReadback,
  wanted: ReadonlySet<string>,
): Change {
  return {
    table: { family: nftFamily, name },
    flowtable: flowTable(family).name,
    present: devices,
    added: [...wanted].filter((device) => !devices.includes(device)).sort(),
    removed: devices.filter((device) => !wanted.has(device)),
  };
}

function driftOf({ added, removed, table: { family } }: Change): DriftItem[] {
  const item = (device: string, what: DriftItem["what"]): DriftItem => ({
    kind: "device",
    name: `${device} in the flow table of ${family}`,
    what,
    detail: "",
  });
  return [...added.map((name) => item(name, "missing")), ...removed.map((name) => item(name, "unknown"))];
}

/** False when the write was refused since something is not there. */
function tolerates(write: () => void): boolean {
  try {
    write();
    return true;
  } catch (error) {
    if (failedWith(error, "ENOENT")) return false;
    throw error;
  }
}
