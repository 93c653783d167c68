import { type Cidr, cidrOf, maskCidr, parseAddress, parseCidr } from "@bulrush/ip";
import type { EndpointPort, LabelMap } from "@bulrush/model";
import { type Contents, entriesOf, resourcesOf } from "./contents.ts";

/** Anything that selectors of rules find: a workload endpoint, a host endpoint, a network set. */
export interface Item {
  readonly labels: LabelMap;
  readonly nets: readonly Cidr[];
  readonly ports: readonly EndpointPort[];
}

/** Own labels win; else the first profile in the list that has the label gives its value. */
export function labelsOf(contents: Contents, own: LabelMap, profileIds: readonly string[] = []): Map<string, string> {
  const labels = new Map(own);
  for (const id of profileIds)
    for (const [key, profile] of resourcesOf(contents, "Profile")) {
      if (key.name !== id) continue;
      const spec = (profile.spec ?? {}) as { labelsToApply?: Record<string, string> };
      for (const [name, value] of Object.entries(spec.labelsToApply ?? {}))
        if (!labels.has(name)) labels.set(name, value);
    }
  return labels;
}

const known = new WeakMap<Contents, readonly Item[]>();

/** Everything on all hosts that has labels and addresses. Contents never change: those of another moment are others. */
export function itemsOf(contents: Contents): readonly Item[] {
  let items = known.get(contents);
  if (items === undefined) known.set(contents, (items = findItems(contents)));
  return items;
}

function findItems(contents: Contents): readonly Item[] {
  const items: Item[] = [];
  for (const [, value] of entriesOf(contents, "WorkloadEndpoint"))
    items.push({
      labels: labelsOf(contents, value.labels, value.profile_ids),
      nets: [...value.ipv4_nets, ...value.ipv6_nets].map(mustHost),
      ports: value.ports ?? [],
    });
  for (const [, value] of entriesOf(contents, "HostEndpoint"))
    items.push({
      labels: labelsOf(contents, value.labels, value.profile_ids),
      nets: [...value.expected_ipv4_addrs, ...value.expected_ipv6_addrs].map(mustHost),
      ports: value.ports ?? [],
    });
  for (const [, value] of entriesOf(contents, "NetworkSet"))
    items.push({
      labels: labelsOf(contents, value.labels, value.profile_ids),
      nets: value.nets.flatMap((net) => halves(mustCidr(net))),
      ports: [],
    });
  return items;
}

/** A network of the contents, masked. */
export function mustCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new Error(`Not a network: ${text}`);
  return maskCidr(cidr);
}

/** The one address of an endpoint's network, as a network. */
function mustHost(text: string): Cidr {
  const address = parseAddress(text.split("/")[0] ?? "");
  if (address === undefined) throw new Error(`Not an address: ${text}`);
  return cidrOf(address);
}

/** A network of everything is given to the kernel as two halves. */
function halves(cidr: Cidr): Cidr[] {
  if (cidr.prefixLength > 0) return [cidr];
  const high = cidr.words.map((_, i) => (i === 0 ? 0x8000_0000 : 0));
  return [
    { ...cidr, prefixLength: 1 },
    { ...cidr, words: high, prefixLength: 1 },
  ];
}
