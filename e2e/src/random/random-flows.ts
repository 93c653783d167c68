import type { Choices } from "./choices.ts";
import type { RandomPod } from "./random-world.ts";
import { FIRST_SOURCE_PORT, LAST_SOURCE_PORT, SERVED_PORTS } from "./vocabulary.ts";

/** One connection to try, in terms that `explain` and a probe both take. */
export interface RandomFlow {
  readonly from: string;
  readonly to: string;
  readonly family: 4 | 6;
  readonly address: string;
  readonly protocol: "TCP" | "UDP" | "SCTP" | "ICMP";
  /** 0 for ICMP. */
  readonly port: number;
  /** Absent for ICMP. */
  readonly sourcePort?: number;
  /** More than fits a link's packet: the flow comes in fragments. */
  readonly payloadBytes?: number;
}

/** Longer than a packet of a link may be. */
const FRAGMENTED_BYTES = 4000;

/**
 * Picks flows between the pods that are there, each from a source port of its own: a kernel that remembers a flow lets
 * its later packets through without asking the policies of the day.
 */
export class FlowPicker {
  #nextPort = FIRST_SOURCE_PORT;
  readonly #lowPortsUsed = new Set<string>();

  pick(choices: Choices, pods: readonly RandomPod[], count: number): RandomFlow[] {
    const flows: RandomFlow[] = [];
    for (let i = 0; i < count; i++) {
      const flow = this.#one(choices, pods);
      if (flow !== undefined) flows.push(flow);
    }
    return flows;
  }

  /** The same flow from another port: for a closer look at one that was wrong. */
  again(flow: RandomFlow): RandomFlow[] {
    if (flow.sourcePort === undefined || flow.sourcePort < FIRST_SOURCE_PORT) return [flow];
    return [{ ...flow, sourcePort: this.#freePort() }];
  }

  #one(choices: Choices, pods: readonly RandomPod[]): RandomFlow | undefined {
    const [from, to] = choices.some(pods, 2, 2);
    if (from === undefined || to === undefined) return undefined;
    const address = choices.pick(to.addresses);
    const family = address.includes(":") ? 6 : 4;
    const own = from.addresses.find((text) => text.includes(":") === (family === 6));
    if (own === undefined) return undefined;
    const ends = { from: from.name, to: to.name, family, address } as const;
    const large = choices.chance(0.1) ? { payloadBytes: FRAGMENTED_BYTES } : {};
    if (choices.chance(0.12)) return { ...ends, protocol: "ICMP", port: 0, ...large };
    const { protocol, port } = choices.pick(SERVED_PORTS);
    const lowPort = protocol === "TCP" && choices.chance(0.1) ? choices.pick([80, 81]) : undefined;
    // A second UDP socket on a port that is listened to would take the listener's datagrams: low ports are for TCP.
    const isFree = lowPort !== undefined && this.#takeLowPort(`${own} ${lowPort}`, `${address} ${port}`);
    const sourcePort = isFree ? lowPort : this.#freePort();
    return { ...ends, protocol, port, sourcePort, ...(protocol === "UDP" ? large : {}) };
  }

  /** A port that the pod listens on, and that may have a name: once for the two ends, whichever of them starts. */
  #takeLowPort(from: string, to: string): boolean {
    const ends = [from, to].sort().join(" ");
    if (this.#lowPortsUsed.has(ends)) return false;
    this.#lowPortsUsed.add(ends);
    return true;
  }

  #freePort(): number {
    if (this.#nextPort > LAST_SOURCE_PORT) this.#nextPort = FIRST_SOURCE_PORT;
    return this.#nextPort++;
  }
}

/** The flow in words. */
export function describeRandomFlow(flow: RandomFlow): string {
  const from = flow.sourcePort === undefined ? flow.from : `${flow.from}:${flow.sourcePort}`;
  const size = flow.payloadBytes === undefined ? "" : `, ${flow.payloadBytes} bytes`;
  const port = flow.protocol === "ICMP" ? "" : `/${flow.port}`;
  return `${from} -> ${flow.to} (${flow.address}) ${flow.protocol}${port}${size}`;
}
