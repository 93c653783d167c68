import { compareStrings } from "@bulrush/base";
import type { DataplaneWorkloadEndpoint, ToDataplane, WorkloadEndpointID } from "@bulrush/proto";
import { canBeInterface } from "./interface-name.ts";
import { Listeners } from "./listeners.ts";

/** A local workload endpoint as the last message told it. */
export interface LocalWorkload {
  readonly id: WorkloadEndpointID;
  readonly endpoint: DataplaneWorkloadEndpoint;
}

/** One text for an id; ids in order of these texts are in order of orchestrator, workload, endpoint. */
export function workloadKey(id: WorkloadEndpointID): string {
  return `${id.orchestrator}\u0000${id.workload}\u0000${id.endpoint}`;
}

/**
 * The local workload endpoints, and which of them owns its interface: where several claim one name, the lowest id; the
 * next one follows when it goes. A name that no interface can have is nobody's.
 *
 * Invariant: `#claims` lists the keys of all endpoints of an interface name, sorted, and no empty list.
 */
export class WorkloadEndpoints {
  /** An interface name whose owner, or whose owner's contents, changed. */
  readonly onInterfaceChange: Listeners<string> = new Listeners();
  readonly #byKey = new Map<string, LocalWorkload>();
  readonly #claims = new Map<string, string[]>();

  onUpdate(message: ToDataplane): void {
    if (message.msg === "WorkloadEndpointUpdate") this.#put({ id: message.id, endpoint: message.endpoint });
    else if (message.msg === "WorkloadEndpointRemove") this.#remove(workloadKey(message.id));
  }

  /** The endpoint that owns the interface name. */
  ownerOf(interfaceName: string): LocalWorkload | undefined {
    const key = this.#claims.get(interfaceName)?.[0];
    return key === undefined ? undefined : this.#byKey.get(key);
  }

  /** Names with an owner. */
  interfaceNames(): Iterable<string> {
    return this.#claims.keys();
  }

  /** Every endpoint, owner of its interface or not. */
  all(): Iterable<LocalWorkload> {
    return this.#byKey.values();
  }

  get size(): number {
    return this.#byKey.size;
  }

  #put(workload: LocalWorkload): void {
    const key = workloadKey(workload.id);
    const { name } = workload.endpoint;
    const before = this.#byKey.get(key);
    if (before !== undefined && before.endpoint.name !== name) this.#remove(key);
    this.#byKey.set(key, workload);
    if (!canBeInterface(name)) return;
    const claims = this.#claims.get(name) ?? [];
    if (!claims.includes(key)) {
      claims.push(key);
      claims.sort(compareStrings);
    }
    this.#claims.set(name, claims);
    this.onInterfaceChange.notify(name);
  }

  #remove(key: string): void {
    const workload = this.#byKey.get(key);
    if (workload === undefined) return;
    this.#byKey.delete(key);
    const { name } = workload.endpoint;
    if (!canBeInterface(name)) return;
    const claims = (this.#claims.get(name) ?? []).filter((other) => other !== key);
    if (claims.length === 0) this.#claims.delete(name);
    else this.#claims.set(name, claims);
    this.onInterfaceChange.notify(name);
  }
}
