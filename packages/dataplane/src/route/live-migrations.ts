import { messageOf } from "@bulrush/base";
import { type Cidr, formatAddress, formatCidr, isHostCidr, parseCidr } from "@bulrush/ip";
import type { AnnouncementWatch } from "@bulrush/netlink";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import { type DeviceResult, type DeviceWork, NO_DEVICE_WORK } from "../device/device-work.ts";
import type { Kernel, RouteAccess } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { Listeners } from "../manager/listeners.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import type { LiveMigrationArrival } from "../status.ts";

/** How often the targets of migrations are listened to. */
const LISTEN_MS = 100;

/** What is known of the machine behind an interface. */
type Migration =
  /** It is to come here. */
  | { readonly kind: "target"; watch?: AnnouncementWatch; device?: number }
  /** It is to come here, and cannot be heard: its routes are as those of any other, for nobody would say when to make them. */
  | { readonly kind: "unheard" }
  /** It has said that it is here; others may not know yet. */
  | { readonly kind: "live" }
  /** The migration is over, and others may still believe in the old place. */
  | { readonly kind: "time-wait"; untilMs: number | undefined };

/**
 * Virtual machines that move here while they run: their routes must not come before they do, and must win over those of
 * their old host from then on until that one has heard of it.
 *
 *     role "target" ──> target: no routes ──machine announces itself──> live: elevated ──role goes──> time-wait: elevated
 *                         │ role goes (nobody had to wait)                  │ role "source", or the endpoint goes  │ 30 s
 *                         └────────────────────────> normal <───────────────┴──────────────────────────────────────┘
 *
 * A start finds by its elevated route that a machine has come already; what is left of time-wait it cuts short.
 * Invariant: a watch is open for targets only, on the interface's present device.
 */
export class LiveMigrations implements DeviceWork {
  /** An interface whose routes have another priority now. */
  readonly onChange: Listeners<string> = new Listeners();
  readonly #convergenceMs: number;
  readonly #elevated: DataplaneConfig["elevatedRoutePriority"];
  readonly #endpoints: WorkloadEndpoints;
  readonly #interfaces: Interfaces;
  readonly #migrations = new Map<string, Migration>();
  #arrivals: LiveMigrationArrival[] = [];

  constructor(config: DataplaneConfig, endpoints: WorkloadEndpoints, interfaces: Interfaces) {
    this.#convergenceMs = config.liveMigrationConvergenceMs;
    this.#elevated = config.elevatedRoutePriority;
    this.#endpoints = endpoints;
    this.#interfaces = interfaces;
    endpoints.onInterfaceChange.add((name) => this.#noteRole(name));
  }

  /** Which routes the addresses of an interface get. */
  priorityOf(name: string): "none" | "elevated" | "normal" {
    const kind = this.#migrations.get(name)?.kind;
    return kind === undefined || kind === "unheard" ? "normal" : kind === "target" ? "none" : "elevated";
  }

  /** The machines that have come since the last call. */
  takeArrivals(): readonly LiveMigrationArrival[] {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    return arrivals;
  }

  queueResync(): void {
    // Nothing of it is in the kernel.
  }

  apply(access: RouteAccess, nowMs: number, kernel: Pick<Kernel, "openAnnouncementWatch">): DeviceResult {
    if (this.#migrations.size === 0) return NO_DEVICE_WORK;
    const warnings: string[] = [];
    let againAtMs: number | undefined;
    const again = (atMs: number): void => {
      againAtMs = Math.min(againAtMs ?? atMs, atMs);
    };
    for (const [name, migration] of this.#migrations)
      if (migration.kind === "target") {
        again(nowMs + LISTEN_MS);
        const heard = this.#listen(name, migration, access, kernel, warnings);
        if (heard === "nothing") continue;
        migration.watch?.close();
        this.#migrations.set(name, { kind: heard === "the machine" ? "live" : "unheard" });
        if (heard === "the machine") this.#noteArrival(name);
        this.onChange.notify(name);
        again(nowMs);
      } else if (migration.kind === "time-wait") {
        migration.untilMs ??= nowMs + this.#convergenceMs;
        again(Math.max(nowMs, migration.untilMs));
        if (nowMs < migration.untilMs) continue;
        this.#migrations.delete(name);
        this.onChange.notify(name);
      }
    return { ...NO_DEVICE_WORK, warnings, againAtMs };
  }

  /** Closes what is open. */
  stop(): void {
    for (const migration of this.#migrations.values()) if (migration.kind === "target") migration.watch?.close();
    this.#migrations.clear();
  }

  /** An earlier process has heard the machine: it wrote routes that only one that has come gets. */
  #hasElevatedRoute(name: string, device: number, access: RouteAccess, warnings: string[]): boolean {
    const nets = new Set(this.#addressesOf(name).map(formatCidr));
    try {
      return access
        .routes({ device })
        .some(
          ({ destination, metric }) =>
            nets.has(destination) && metric === this.#elevated[destination.includes(":") ? 6 : 4],
        );
    } catch (error) {
      warnings.push(`List routes of ${name}, to which a machine moves: ${messageOf(error)}`);
      return false;
    }
  }

  #addressesOf(name: string): Cidr[] {
    const endpoint = this.#endpoints.ownerOf(name)?.endpoint;
    return [...(endpoint?.ipv4_nets ?? []), ...(endpoint?.ipv6_nets ?? [])].flatMap((net) => {
      const cidr = parseCidr(net);
      return cidr !== undefined && isHostCidr(cidr) ? [cidr] : [];
    });
  }

  #noteArrival(name: string): void {
    const workload = this.#endpoints.ownerOf(name);
    if (workload === undefined) return;
    const addresses = this.#addressesOf(name).map((cidr) => formatAddress(cidr));
    this.#arrivals.push({ msg: "LiveMigrationArrival", id: workload.id, addresses });
  }

  #noteRole(name: string): void {
    const role = this.#endpoints.ownerOf(name)?.endpoint.live_migration_role;
    const isThere = this.#endpoints.ownerOf(name) !== undefined;
    const known = this.#migrations.get(name);
    if (role === "target") {
      if (known === undefined || known.kind === "time-wait") this.#migrations.set(name, { kind: "target" });
      return;
    }
    if (known === undefined) return;
    if (known.kind === "target") known.watch?.close();
    if (known.kind !== "target" && known.kind !== "unheard" && isThere && role !== "source") {
      if (known.kind === "live") this.#migrations.set(name, { kind: "time-wait", untilMs: undefined });
      return;
    }
    this.#migrations.delete(name);
  }

  /** Whether the machine has announced itself, or never will be heard. */
  #listen(
    name: string,
    target: Extract<Migration, { kind: "target" }>,
    access: RouteAccess,
    kernel: Pick<Kernel, "openAnnouncementWatch">,
    warnings: string[],
  ): "nothing" | "the machine" | "cannot" {
    const device = this.#interfaces.get(name)?.index;
    if (device !== target.device) {
      target.watch?.close();
      delete target.watch;
      delete target.device;
    }
    if (device === undefined) return "nothing";
    if (target.device === undefined) {
      target.device = device;
      try {
        target.watch = kernel.openAnnouncementWatch(device);
      } catch (error) {
        warnings.push(
          `Listen for the machine that moves to ${name} (needs NET_RAW), its routes are made at once: ${messageOf(error)}`,
        );
        return "cannot";
      }
      if (this.#hasElevatedRoute(name, device, access, warnings)) return "the machine";
    }
    return target.watch?.heard() === true ? "the machine" : "nothing";
  }
}
