import type { HostEndpointsManager } from "../manager/host-endpoints-manager.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { type LocalWorkload, type WorkloadEndpoints, workloadKey } from "../manager/workload-endpoints.ts";
import type { EndpointStatus, FromDataplane } from "../status.ts";
import type { InterfaceSysctls } from "./interface-sysctls.ts";
import type { WorkloadEndpointID } from "@bulrush/proto";

export interface EndpointStatusInputs {
  readonly endpoints: WorkloadEndpoints;
  readonly hostEndpoints: HostEndpointsManager;
  readonly interfaces: Interfaces;
  readonly sysctls: InterfaceSysctls;
}

/** Works out what each endpoint's status is, and tells what changed since it told last. */
export class EndpointStatuses {
  readonly #inputs: EndpointStatusInputs;
  readonly #workloads = new Map<string, { readonly id: WorkloadEndpointID; readonly status: EndpointStatus }>();
  readonly #hosts = new Map<string, EndpointStatus>();

  constructor(inputs: EndpointStatusInputs) {
    this.#inputs = inputs;
  }

  /** Called after a clean apply: "up" promises that policy and settings are in the kernel. */
  changes(): FromDataplane[] {
    return [...this.#workloadChanges(), ...this.#hostChanges()];
  }

  /** The workloads that were told to be up. */
  *up(): Generator<LocalWorkload> {
    for (const workload of this.#inputs.endpoints.all())
      if (this.#workloads.get(workloadKey(workload.id))?.status === "up") yield workload;
  }

  #workloadChanges(): FromDataplane[] {
    const { endpoints, interfaces, sysctls } = this.#inputs;
    const messages: FromDataplane[] = [];
    const seen = new Set<string>();
    for (const workload of endpoints.all()) {
      const key = workloadKey(workload.id);
      seen.add(key);
      const { name, state } = workload.endpoint;
      const owns = endpoints.ownerOf(name) === workload;
      const up = owns && state === "active" && interfaces.get(name)?.up === true && sysctls.isConfigured(name);
      const status: EndpointStatus = up ? "up" : "down";
      if (this.#workloads.get(key)?.status === status) continue;
      this.#workloads.set(key, { id: workload.id, status });
      messages.push({ msg: "WorkloadEndpointStatusUpdate", id: workload.id, status });
    }
    for (const [key, { id }] of this.#workloads)
      if (!seen.has(key)) {
        this.#workloads.delete(key);
        messages.push({ msg: "WorkloadEndpointStatusRemove", id });
      }
    return messages;
  }

  #hostChanges(): FromDataplane[] {
    const { hostEndpoints } = this.#inputs;
    const messages: FromDataplane[] = [];
    const seen = new Set(hostEndpoints.ids());
    for (const id of seen) {
      const status = this.#hostStatus(id);
      if (this.#hosts.get(id) === status) continue;
      this.#hosts.set(id, status);
      messages.push({ msg: "HostEndpointStatusUpdate", id, status });
    }
    for (const id of this.#hosts.keys())
      if (!seen.has(id)) {
        this.#hosts.delete(id);
        messages.push({ msg: "HostEndpointStatusRemove", id });
      }
    return messages;
  }

  /** The wildcard is always up; one that rules no interface, or one that does not exist, is in error. */
  #hostStatus(id: string): EndpointStatus {
    const { hostEndpoints, interfaces } = this.#inputs;
    const { byInterface, wildcard } = hostEndpoints.match;
    if (wildcard === id) return "up";
    let status: EndpointStatus = "error";
    for (const [name, owner] of byInterface) {
      const known = owner === id ? interfaces.get(name) : undefined;
      if (known?.up === true) return "up";
      if (known !== undefined) status = "down";
    }
    return status;
  }
}
