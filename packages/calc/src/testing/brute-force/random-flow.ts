import { formatAddress, parseAddress } from "@bulrush/ip";
import { PROTOCOL_NUMBERS, type WorkloadEndpoint, type WorkloadEndpointKey } from "@bulrush/model";
import type { Flow, FlowEnd } from "../../explain/flow.ts";
import { type Contents, entriesOf } from "./contents.ts";
import type { Dice } from "./dice.ts";
import type { Packet } from "./packet.ts";
import { V4, V6 } from "./random-endpoint.ts";
import { PORT_NUMBERS } from "./random-rule.ts";

/** A flow as it is asked about, with what it is in full. */
export interface RandomFlow {
  readonly flow: Flow;
  readonly packet: Packet;
  /** The workloads that judge it. */
  readonly source: WorkloadEndpoint | undefined;
  readonly destination: WorkloadEndpoint | undefined;
}

interface End {
  readonly asked: FlowEnd;
  readonly workload: WorkloadEndpoint | undefined;
  /** The first of each family. */
  readonly addresses: { readonly 4: string | undefined; readonly 6: string | undefined };
}

/** A flow between two workloads, or a workload and any address; undefined where the ends have no family in common. */
export function randomFlow(d: Dice, contents: Contents): RandomFlow | undefined {
  const workloads = entriesOf(contents, "WorkloadEndpoint");
  if (workloads.length === 0) return undefined;
  const one = workloadEnd(d.pick(workloads));
  const other = d.chance(0.7) ? workloadEnd(d.pick(workloads)) : addressEnd(d, workloads);
  const [source, destination] = d.chance(0.5) ? [one, other] : [other, one];
  const families = ([4, 6] as const).filter(
    (family) => source.addresses[family] !== undefined && destination.addresses[family] !== undefined,
  );
  const [first] = families;
  if (first === undefined) return undefined;
  const isExplicit = d.chance(0.4);
  const ipVersion = isExplicit ? d.pick(families) : first;
  const words = randomProtocol(d, ipVersion);
  const at = (end: End): Packet["src"]["address"] => {
    const address = parseAddress(end.addresses[ipVersion] ?? "");
    if (address === undefined) throw new Error("a workload without a readable address");
    return address;
  };
  return {
    flow: {
      source: source.asked,
      destination: destination.asked,
      ...words,
      ...(isExplicit && { ipVersion }),
    },
    packet: {
      ipVersion,
      protocol: typeof words.protocol === "number" ? words.protocol : (PROTOCOL_NUMBERS.get(words.protocol) ?? 0),
      src: { address: at(source), port: words.sourcePort },
      dst: { address: at(destination), port: words.port },
      icmp: words.icmp && { type: words.icmp.type, code: words.icmp.code ?? 0 },
    },
    source: source.workload,
    destination: destination.workload,
  };
}

function randomProtocol(
  d: Dice,
  ipVersion: 4 | 6,
): Pick<Flow, "protocol" | "port" | "sourcePort" | "icmp"> & {
  readonly protocol: string | number;
} {
  if (d.chance(0.2))
    return {
      protocol: ipVersion === 4 ? d.pick(["icmp", 1]) : d.pick(["icmpv6", 58]),
      ...(d.chance(0.8) && { icmp: { type: d.pick([0, 8, 3]), ...(d.chance(0.7) && { code: d.pick([0, 3]) }) } }),
    };
  if (d.chance(0.1)) return { protocol: 47 };
  return {
    protocol: d.pick(["tcp", "tcp", "tcp", 6, 6, "udp", 17, "sctp"]),
    port: d.pick([...PORT_NUMBERS, 9]),
    ...(d.chance(0.4) && { sourcePort: d.pick([...PORT_NUMBERS, 40_000]) }),
  };
}

function workloadEnd([key, value]: readonly [WorkloadEndpointKey, WorkloadEndpoint]): End {
  const { hostname, orchestrator, workload, endpoint } = key;
  return {
    asked: { endpoint: { hostname, orchestrator, workload, endpoint } },
    workload: value,
    addresses: { 4: value.ipv4_nets[0]?.split("/")[0], 6: value.ipv6_nets[0]?.split("/")[0] },
  };
}

/** An address that nobody has, or one workload; of more, it could not be said who is meant. */
function addressEnd(d: Dice, workloads: readonly (readonly [WorkloadEndpointKey, WorkloadEndpoint])[]): End {
  const text = d.pick([...V4, ...V6, "192.168.0.1", "8.8.8.8", "2001:db8::1"]);
  const owners = workloads.filter(([, { ipv4_nets, ipv6_nets }]) =>
    [...ipv4_nets, ...ipv6_nets].some((net) => net.split("/")[0] === text),
  );
  if (owners.length > 1) return addressEnd(d, workloads);
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`not an address: ${text}`);
  return {
    asked: { address: formatAddress(address) },
    workload: owners[0]?.[1],
    addresses: address.family === 4 ? { 4: text, 6: undefined } : { 4: undefined, 6: text },
  };
}
