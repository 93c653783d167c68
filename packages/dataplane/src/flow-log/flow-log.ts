import { type CancelTimer, type Clock, messageOf } from "@bulrush/base";
import type { LogMonitor, LogPacket } from "@bulrush/netlink";
import type { Kernel } from "../kernel/kernel.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import type { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { FLOW_LOG_GROUPS, type FlowSource, parseFlowPrefix } from "./flow-prefix.ts";
import type { FlowBatch, FlowRecord } from "./flow-record.ts";

/** Packets of one flow and rule within this time are one record. */
const SPAN_MS = 1000;
/** Flows of one span; packets of more are counted as lost. */
const MAX_FLOWS = 1000;
const RETRY_MS = 10_000;

/** IANA numbers of the protocols that policies name. */
const PROTOCOLS: ReadonlyMap<number, string> = new Map([
  [1, "icmp"],
  [6, "tcp"],
  [17, "udp"],
  [58, "icmpv6"],
  [132, "sctp"],
  [136, "udplite"],
]);

export interface FlowLogOptions {
  readonly kernel: Pick<Kernel, "openLogMonitor">;
  readonly clock: Clock;
  readonly interfaces: Interfaces;
  readonly endpoints: WorkloadEndpoints;
  readonly onFlows: (batch: FlowBatch) => void;
  readonly onWarning: (message: string, fields: Readonly<Record<string, unknown>>) => void;
}

/**
 * Makes records of flows out of the packets that our rules hand up.
 *
 *     rule (10 packets a second) ──> kernel buffer ──> by flow and rule, for a second ──> onFlows
 *
 * Groups that another program holds are asked for again every 10 s.
 * Invariant: `#flows` is not empty, or `#lost` not 0, exactly while the flush timer is set.
 */
export class FlowLog {
  readonly #options: FlowLogOptions;
  #monitor: LogMonitor | undefined;
  #retry: CancelTimer | undefined;
  #flush: CancelTimer | undefined;
  #stopped = false;
  readonly #flows = new Map<string, { record: FlowRecord; packets: number }>();
  #lost = 0;
  #warned = false;

  constructor(options: FlowLogOptions) {
    this.#options = options;
  }

  start(): void {
    this.#retry = undefined;
    try {
      this.#monitor = this.#options.kernel.openLogMonitor({
        groups: Object.values(FLOW_LOG_GROUPS),
        onPackets: (packets) => {
          for (const packet of packets) this.#take(packet);
        },
        onLost: () => this.#lose(),
        onError: (error) => this.#fail(error),
      });
      this.#warned = false;
    } catch (error) {
      this.#fail(error);
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.();
    this.#flush?.();
    await this.#monitor?.close();
  }

  #fail(error: unknown): void {
    this.#monitor = undefined;
    if (this.#stopped) return;
    // The same failure every ten seconds is said once.
    if (!this.#warned)
      this.#options.onWarning("Take the packet log, will try again every 10 s", { error: messageOf(error) });
    this.#warned = true;
    this.#retry = this.#options.clock.after(RETRY_MS, () => this.start());
  }

  #take(packet: LogPacket): void {
    const source = parseFlowPrefix(packet.prefix);
    if (source === undefined) return;
    const key = [
      packet.prefix,
      packet.source,
      packet.destination,
      packet.protocol,
      packet.sourcePort,
      packet.destinationPort,
      packet.icmp?.type,
      packet.icmp?.code,
    ].join(" ");
    const known = this.#flows.get(key);
    if (known !== undefined) known.packets++;
    else if (this.#flows.size >= MAX_FLOWS) this.#lose();
    else this.#flows.set(key, { record: this.#record(packet, source), packets: 1 });
    this.#arm();
  }

  #lose(): void {
    this.#lost++;
    this.#arm();
  }

  #arm(): void {
    this.#flush ??= this.#options.clock.after(SPAN_MS, () => {
      this.#flush = undefined;
      const flows = [...this.#flows.values()].map(({ packets, record }) => ({ ...record, packets }));
      const lost = this.#lost;
      this.#flows.clear();
      this.#lost = 0;
      this.#options.onFlows({ flows, lost });
    });
  }

  #record(packet: LogPacket, source: FlowSource): FlowRecord {
    const { clock, endpoints, interfaces } = this.#options;
    // What comes to an endpoint goes out by its interface, and what leaves it came in by it.
    const device = source.direction === "ingress" ? packet.outDevice : packet.inDevice;
    // A host endpoint's packets have the one device of their hook.
    const name = interfaces.byIndex(device ?? packet.inDevice ?? packet.outDevice ?? 0)?.name ?? "";
    const workload = endpoints.ownerOf(name);
    return {
      ...source,
      atMs: clock.nowMs(),
      endpoint: workload?.id.workload ?? name,
      interfaceName: name,
      source: packet.source,
      destination: packet.destination,
      protocol: PROTOCOLS.get(packet.protocol) ?? String(packet.protocol),
      ...(packet.sourcePort === undefined ? {} : { sourcePort: packet.sourcePort }),
      ...(packet.destinationPort === undefined ? {} : { destinationPort: packet.destinationPort }),
      ...(packet.icmp === undefined ? {} : { icmp: packet.icmp }),
      packets: 1,
    };
  }
}
