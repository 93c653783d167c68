import type { DataplaneState, FlowEnd, StateWorkload } from "@bulrush/calc";
import { type Address, parseAddress } from "@bulrush/ip";
import type { DataplaneHostEndpoint } from "@bulrush/proto";
import { outsideAddresses } from "./outside-addresses.ts";
import { type Direction, type JudgingLists, listNames, type StatePair, type Touched } from "./touched.ts";
import type { Traits } from "./traits.ts";

/** Ends that no rule, before or after, can tell from one another. */
export interface EndClass {
  /** The one that stands for all, as people write it. */
  readonly name: string;
  readonly end: FlowEnd;
  /** Another of them, for flows among themselves. */
  readonly other?: { readonly name: string; readonly end: FlowEnd };
  readonly count: number;
  readonly families: readonly (4 | 6)[];
  /** The directions in which something that judges it is not as it was. */
  readonly touched: readonly Direction[];
  /** The policies and profiles that judge it, before or after. */
  readonly lists: readonly string[];
}

export interface Ends {
  readonly classes: readonly EndClass[];
  /** Endpoints that are there only after, or only before: their flows have nothing to be compared with. */
  readonly fresh: readonly string[];
  readonly gone: readonly string[];
}

interface Candidate {
  readonly name: string;
  readonly end: FlowEnd;
  readonly before: JudgingLists;
  readonly after: JudgingLists;
  readonly addresses: readonly Address[];
  /** What else makes a difference to flows. */
  readonly place: string;
}

/** Every end of flows that policy may judge: workloads, host endpoints, and addresses that rules tell apart. */
export function findEnds(pair: StatePair, traits: Traits, touched: Touched): Ends {
  const fresh: string[] = [];
  const gone: string[] = [];
  const candidates = [
    ...both(pair.before.workloadEndpoints, pair.after.workloadEndpoints, fresh, gone).map(([id, a, b]) =>
      workloadCandidate(pair, id, a, b),
    ),
    ...both(pair.before.hostEndpoints, pair.after.hostEndpoints, fresh, gone).map(([id, a, b]) =>
      hostCandidate(id, a, b),
    ),
  ];
  const byKey = Map.groupBy(candidates, (one) => keyOf(one, traits));
  const classes = [...byKey.values()].map((members): EndClass => {
    const [first, second] = members as [Candidate, ...Candidate[]];
    return {
      name: first.name,
      end: first.end,
      ...(second !== undefined && { other: { name: second.name, end: second.end } }),
      count: members.length,
      families: familiesOf(first),
      touched: touched.of(first.before, first.after),
      lists: [...new Set([...listNames(first.before), ...listNames(first.after)])],
    };
  });
  const known = new Set<string>();
  for (const state of [pair.before, pair.after]) for (const text of addressesOf(state)) known.add(text);
  for (const { address, network, isElsewhere } of outsideAddresses(traits, (text) => known.has(text)))
    classes.push({
      name: isElsewhere ? `elsewhere (${address})` : network === undefined ? address : `${address} (in ${network})`,
      end: { address },
      count: 1,
      families: [address.includes(":") ? 6 : 4],
      touched: [],
      lists: [],
    });
  return { classes, fresh, gone };
}

/** What is in both maps; the names of what is in one only are added to the lists. */
function both<V>(
  before: ReadonlyMap<string, V>,
  after: ReadonlyMap<string, V>,
  fresh: string[],
  gone: string[],
): (readonly [id: string, before: V, after: V])[] {
  const out: (readonly [string, V, V])[] = [];
  for (const [id, a] of before) {
    const b = after.get(id);
    if (b === undefined) gone.push(id);
    else out.push([id, a, b]);
  }
  for (const id of after.keys()) if (!before.has(id)) fresh.push(id);
  return out.sort(([a], [b]) => (a < b ? -1 : 1));
}

function workloadCandidate(pair: StatePair, id: string, before: StateWorkload, after: StateWorkload): Candidate {
  const host = before.id.hostname ?? "";
  const isAlone = pair.after.endpointsOfWorkload(before.id.workload).length === 1;
  return {
    name: isAlone ? before.id.workload : id,
    end: { endpoint: before.id },
    before: workloadLists(pair.before, before),
    after: workloadLists(pair.after, after),
    addresses: firstAddresses(before),
    // Host endpoints judge what leaves their host, so it matters where an end is. One that moves is like no other.
    place: JSON.stringify([
      hasHostEndpoint(pair, host) ? host : "",
      before.endpoint.state,
      after.endpoint.state,
      addressText(before) === addressText(after) ? "" : id,
    ]),
  };
}

function workloadLists(state: DataplaneState, { id, endpoint }: StateWorkload): JudgingLists {
  const ofHost = [...state.hostEndpoints]
    .filter(([host]) => host.startsWith(`${id.hostname ?? ""}/`))
    .flatMap(([, { untracked_tiers, pre_dnat_tiers, forward_tiers }]) => [
      ...untracked_tiers,
      ...pre_dnat_tiers,
      ...forward_tiers,
    ]);
  const rest = JSON.stringify([endpoint.state, endpoint.ipv4_nets[0], endpoint.ipv6_nets[0]]);
  return { tiers: [...endpoint.tiers, ...ofHost], profiles: endpoint.profile_ids, rest };
}

function addressText({ endpoint }: StateWorkload): string {
  return `${endpoint.ipv4_nets[0] ?? ""} ${endpoint.ipv6_nets[0] ?? ""}`;
}

function hostCandidate(id: string, before: DataplaneHostEndpoint, after: DataplaneHostEndpoint): Candidate {
  return {
    name: `hostendpoint:${id}`,
    end: { hostEndpoint: id },
    before: hostLists(before),
    after: hostLists(after),
    addresses: [...before.expected_ipv4_addrs, ...before.expected_ipv6_addrs]
      .map(parseAddress)
      .filter((address) => address !== undefined),
    place: id,
  };
}

function hostLists(endpoint: DataplaneHostEndpoint): JudgingLists {
  const { tiers, untracked_tiers, pre_dnat_tiers, forward_tiers } = endpoint;
  return {
    tiers: [...untracked_tiers, ...pre_dnat_tiers, ...tiers, ...forward_tiers],
    profiles: endpoint.profile_ids,
    // Which policy stands in which list.
    rest: JSON.stringify([untracked_tiers.length, pre_dnat_tiers.length, tiers.length, forward_tiers.length]),
  };
}

function hasHostEndpoint({ before, after }: StatePair, host: string): boolean {
  return [before, after].some((state) => [...state.hostEndpoints.keys()].some((id) => id.startsWith(`${host}/`)));
}

/** The first address of each family, which flows use. */
function firstAddresses({ endpoint }: StateWorkload): Address[] {
  return [endpoint.ipv4_nets[0], endpoint.ipv6_nets[0]]
    .map((net) => (net === undefined ? undefined : parseAddress(net.split("/")[0] ?? "")))
    .filter((address) => address !== undefined);
}

/** IPv4 where no address is known: rules without networks judge it all the same. */
function familiesOf({ addresses }: Candidate): readonly (4 | 6)[] {
  const found = ([4, 6] as const).filter((family) => addresses.some((address) => address.family === family));
  return found.length === 0 ? [4] : found;
}

function keyOf({ before, after, addresses, place }: Candidate, traits: Traits): string {
  const state = (lists: JudgingLists): unknown => [lists.tiers, lists.profiles];
  const families = addresses.map((address) => `${address.family} ${traits.of(address)}`);
  return JSON.stringify([state(before), state(after), families, place]);
}

function* addressesOf(state: DataplaneState): Iterable<string> {
  for (const { endpoint } of state.workloadEndpoints.values())
    for (const net of [...endpoint.ipv4_nets, ...endpoint.ipv6_nets]) yield net.split("/")[0] ?? "";
  for (const endpoint of state.hostEndpoints.values())
    yield* [...endpoint.expected_ipv4_addrs, ...endpoint.expected_ipv6_addrs];
}
