import type { Policy, Update, WorkloadEndpoint } from "@bulrush/model";
import { fresh, newUpdate, nthAddress, profileUpdates } from "./workload.ts";

export interface SnapshotSize {
  readonly remoteEndpoints: number;
  readonly tagPolicies: number;
  readonly netSetPolicies: number;
}

const LOCAL_ENDPOINTS = 200;
const NAMESPACES = 100;
const NET_SET_SIZES = [1, 1, 1, 1, 2, 3, 4, 5, 100, 1000] as const;
const NAMES = ["FizzBuzz", "BoffBip", "Bazzle", "Razzle", "DoopDeeDoo", "SOME_LABEL", "BORED_NOW"];

function markerFamily(prefix: string): string[] {
  return [`${prefix}FOO_BAR`, `${prefix}BIFF_BOP`, ...NAMES.map((name) => `${prefix}calico/${name}`)];
}

/** 31 places, 29 names: the first stands twice, and so does the last. */
const MARKERS: readonly string[] = [
  "FOO_BAR",
  ...markerFamily(""),
  "MyMarkerLabel",
  ...markerFamily("x"),
  "yxMyMarkerLabel",
  ...markerFamily("yx"),
  "yxMyMarkerLabel",
];

/** Circular: any place of the list. */
export function markerAt(place: number): string {
  return MARKERS[place % MARKERS.length] as string;
}

export function snapshotEndpoint(index: number, seed: number, hostname: string, address: string): Update {
  const labels = new Map<string, string>();
  for (const n of [10, 11, 20, 30, 40]) labels.set(fresh(`one-in-${n}`), fresh(`value-${seed % n}`));
  labels.set(fresh(markerAt(seed)), fresh("true"));
  const isIPv6 = address.includes(":");
  const nets = [fresh(`${address}/${isIPv6 ? 128 : 32}`)];
  const value: WorkloadEndpoint = {
    state: "active",
    name: fresh(`cali${index}`),
    profile_ids: [fresh(`kns.namespace-${index % NAMESPACES}`)],
    ipv4_nets: isIPv6 ? [] : nets,
    ipv6_nets: isIPv6 ? nets : [],
    labels,
  };
  const workload = fresh(`wep-${index}`);
  return newUpdate({ type: "WorkloadEndpoint", hostname, orchestrator: "k8s", workload, endpoint: "eth0" }, value);
}

export function tagPolicy(i: number, selector: string = `has(${markerAt(i)})`): Update {
  const inbound = [0, 1, 2, 3, 4].map((j) => ({ action: "allow" as const, src_selector: `has(${markerAt(i + j)})` }));
  return globalPolicy(`policy-${i}`, selector, inbound);
}

function globalPolicy(name: string, selector: string, inbound: Policy["inbound_rules"]): Update {
  const value: Policy = { tier: "default", selector: fresh(selector), inbound_rules: inbound, outbound_rules: [] };
  return newUpdate({ type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: fresh(name) }, value);
}

/** The cluster of the reference's snapshot benchmarks, in their order. */
export function snapshotUpdates(size: SnapshotSize): Update[] {
  const out: Update[] = [];
  let addresses = 0;
  const nextAddress = (): string => nthAddress(++addresses);
  for (let i = 0; i < size.tagPolicies; i++) out.push(tagPolicy(i));
  for (let i = 0; i < NAMESPACES; i++)
    out.push(...profileUpdates(`kns.namespace-${i}`, { "pcns.projectcalico.org/name": `namespace-${i}` }));
  let seed = 0;
  for (let i = 0; i < size.remoteEndpoints; i++) out.push(snapshotEndpoint(i, ++seed, "remotehost", nextAddress()));
  for (let i = 0; i < size.netSetPolicies; i++) {
    const name = `network-set-${i}`;
    const nets: string[] = [];
    const count = NET_SET_SIZES[i % NET_SET_SIZES.length] as number;
    for (let n = 0; n < count; n++) nets.push(fresh(`${nextAddress()}/128`));
    out.push(newUpdate({ type: "NetworkSet", name }, { nets, labels: new Map([["network-set-name", name]]) }));
    const selector = `network-set-name == '${name}'`;
    out.push(globalPolicy(`policy-${name}`, "all()", [{ action: "allow", src_selector: selector }]));
  }
  for (let i = 0; i < LOCAL_ENDPOINTS; i++) out.push(snapshotEndpoint(i, ++seed, "localhost", nextAddress()));
  return out;
}
