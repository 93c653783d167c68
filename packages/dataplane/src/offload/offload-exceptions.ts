import { formatAddress, parseCidr } from "@bulrush/ip";
import type { DataplaneHostEndpoint, ToDataplane } from "@bulrush/proto";
import type { DesiredTables } from "../desired/tables.ts";
import type { Manager } from "../manager/manager.ts";
import type { LocalWorkload, WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { flowTable, offloadExceptions } from "../render/flow-offload.ts";
import { qosLimits } from "../render/qos-rules.ts";
import { addressKey } from "../render/statements.ts";

/**
 * The flow tables, and whose flows stay out of them: addresses of endpoints that have a DSCP, a bound of connections or a
 * bound of packets, and of workloads that are down by their owner's wish. All of those are rules that judge each packet. (A
 * bound of bandwidth is a queue at the device, which a flow table does not pass by.)
 */
export class OffloadExceptions implements Manager {
  readonly #tables: DesiredTables;
  readonly #endpoints: WorkloadEndpoints;
  readonly #hosts = new Map<string, DataplaneHostEndpoint>();
  #isStale = true;

  constructor(tables: DesiredTables, endpoints: WorkloadEndpoints) {
    this.#tables = tables;
    this.#endpoints = endpoints;
    endpoints.onInterfaceChange.add(() => {
      this.#isStale = true;
    });
    for (const [family, table] of tables) table.offerFlowtable(flowTable(family));
  }

  onUpdate(message: ToDataplane): void {
    if (message.msg === "HostEndpointUpdate") this.#hosts.set(message.id, message.endpoint);
    else if (message.msg !== "HostEndpointRemove" || !this.#hosts.delete(message.id)) return;
    this.#isStale = true;
  }

  completeDeferredWork(): void {
    if (!this.#isStale) return;
    this.#isStale = false;
    const addresses = this.#collect();
    for (const [family, table] of this.#tables) {
      const name = offloadExceptions(family);
      const wanted = [...addresses].filter((address) => address.includes(":") === (family === 6));
      const set = table.set(name, [addressKey(family)], false);
      if (wanted.length === set.size && wanted.every((address) => set.has(address))) continue;
      set.replace(wanted);
      table.touchSet(name);
    }
  }

  #collect(): Set<string> {
    const nets: string[] = [];
    for (const workload of this.#endpoints.all())
      if (mustMeetRules(workload)) nets.push(...workload.endpoint.ipv4_nets, ...workload.endpoint.ipv6_nets);
    for (const { expected_ipv4_addrs: v4, expected_ipv6_addrs: v6, qos_policies: policies } of this.#hosts.values())
      if (policies.length > 0) nets.push(...v4, ...v6);
    const addresses = new Set<string>();
    for (const net of nets) {
      const cidr = parseCidr(net);
      if (cidr !== undefined) addresses.add(formatAddress(cidr));
    }
    return addresses;
  }
}

function mustMeetRules({ endpoint }: LocalWorkload): boolean {
  const limits = (["ingress", "egress"] as const).map((direction) => qosLimits(endpoint.qos_controls, direction));
  return (
    endpoint.state !== "active" ||
    endpoint.qos_policies.length > 0 ||
    limits.some(({ connections, packets }) => connections !== undefined || packets !== undefined)
  );
}
