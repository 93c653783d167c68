import { hasCode, messageOf } from "@bulrush/base";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import type { Sysctls } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { LocalWorkload, WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { sysctlDrift, type SysctlsResult } from "./sysctl-drift.ts";

/** A kernel setting of one interface. */
interface Setting {
  readonly path: string;
  readonly value: string;
  /** The endpoint is of use without it. */
  readonly optional?: boolean;
}

/**
 * Kernel settings of workload interfaces that are up: the host answers ARP and NDP for the gateway, forwards, and takes
 * no router advertisements from workloads.
 *
 * Invariant: `#configured` has the index under which an interface was configured without an error.
 */
export class InterfaceSysctls {
  readonly #config: DataplaneConfig;
  readonly #endpoints: WorkloadEndpoints;
  readonly #interfaces: Interfaces;
  readonly #configured = new Map<string, number>();
  readonly #dirty = new Set<string>();
  #isResync = false;

  constructor(config: DataplaneConfig, endpoints: WorkloadEndpoints, interfaces: Interfaces) {
    this.#config = config;
    this.#endpoints = endpoints;
    this.#interfaces = interfaces;
    endpoints.onInterfaceChange.add((name) => {
      this.#configured.delete(name);
      this.#dirty.add(name);
    });
    interfaces.onChange.add((name) => this.#dirty.add(name));
  }

  /** True when the settings of the interface are in place. */
  isConfigured(name: string): boolean {
    const index = this.#configured.get(name);
    return index !== undefined && index === this.#interfaces.get(name)?.index;
  }

  /** Reads everything back at the next call. */
  queueResync(): void {
    this.#isResync = true;
  }

  /** What is other than meant at the moment, of interfaces that were configured. Throws when it cannot be read. */
  inspect(sysctls: Sysctls): DriftItem[] {
    return [...this.#configured.keys()].flatMap((name) => this.#differences(name, sysctls));
  }

  #differences(name: string, sysctls: Sysctls): DriftItem[] {
    const workload = this.#endpoints.ownerOf(name);
    if (workload === undefined || this.#dirty.has(name) || !this.isConfigured(name)) return [];
    return sysctlDrift(
      sysctls,
      this.#settings(name, workload, sysctls).filter(({ optional }) => optional !== true),
    );
  }

  #readBack(sysctls: Sysctls): DriftItem[] {
    const drift: DriftItem[] = [];
    for (const name of this.#configured.keys()) {
      const items = this.#differences(name, sysctls);
      if (items.length === 0) continue;
      drift.push(...items);
      this.#configured.delete(name);
      this.#dirty.add(name);
    }
    return drift;
  }

  /** Configures what is new, or was changed. */
  apply(sysctls: Sysctls, onWarning: (message: string) => void): SysctlsResult {
    const failures: string[] = [];
    const drift: DriftItem[] = [];
    if (this.#isResync)
      try {
        drift.push(...this.#readBack(sysctls));
        this.#isResync = false;
      } catch (error) {
        failures.push(`Read settings of interfaces: ${messageOf(error)}`);
      }
    for (const name of this.#dirty) {
      const known = this.#interfaces.get(name);
      const workload = this.#endpoints.ownerOf(name);
      if (known?.up !== true || workload === undefined) {
        this.#configured.delete(name);
        this.#dirty.delete(name);
      } else if (this.#configured.get(name) === known.index) this.#dirty.delete(name);
      else if (this.#configure(name, workload, sysctls, failures, onWarning)) {
        this.#configured.set(name, known.index);
        this.#dirty.delete(name);
      }
    }
    return { failures, drift };
  }

  #configure(
    name: string,
    workload: LocalWorkload,
    sysctls: Sysctls,
    failures: string[],
    onWarning: (message: string) => void,
  ): boolean {
    let settings: readonly Setting[];
    try {
      settings = this.#settings(name, workload, sysctls);
    } catch (error) {
      failures.push(`Read settings for ${name}: ${messageOf(error)}`);
      return false;
    }
    for (const { optional, path, value } of settings) {
      try {
        const current = sysctls.read(path);
        // No such setting: the interface is gone again, or the family is off. Its end comes as an event.
        if (current !== undefined && current !== value) sysctls.write(path, value);
      } catch (error) {
        // It went between the two. Its end comes as an event; until then the endpoint is down.
        if (hasCode(error, "ENOENT")) return false;
        const message = `Set ${path} to ${value}: ${messageOf(error)}`;
        if (optional === true) onWarning(message);
        else {
          failures.push(message);
          return false;
        }
      }
    }
    return true;
  }

  #settings(name: string, { endpoint }: LocalWorkload, sysctls: Sysctls): Setting[] {
    const v4 = `net/ipv4/conf/${name}`;
    const v6 = `net/ipv6/conf/${name}`;
    const spoofs = this.#config.allowSpoofedSources && endpoint.allow_spoofed_source_prefixes.length > 0;
    // Our own check (raw-PREROUTING) stands for the kernel's, which stays at what the system has by default.
    const rpFilter = spoofs ? "0" : sysctls.read("net/ipv4/conf/default/rp_filter");
    const settings: Setting[] = [{ path: `${v6}/accept_ra`, value: "0" }];
    if (endpoint.ipv4_nets.length > 0) {
      settings.push(
        { path: `${v4}/route_localnet`, value: "1" },
        { path: `net/ipv4/neigh/${name}/proxy_delay`, value: "0", optional: true },
        { path: `${v4}/proxy_arp`, value: "1" },
        { path: `${v4}/forwarding`, value: "1" },
      );
      if (rpFilter !== undefined) settings.push({ path: `${v4}/rp_filter`, value: rpFilter });
    }
    if (endpoint.ipv6_nets.length > 0 && this.#config.ipv6Support)
      settings.push({ path: `${v6}/proxy_ndp`, value: "1" }, { path: `${v6}/forwarding`, value: "1" });
    return settings;
  }
}
