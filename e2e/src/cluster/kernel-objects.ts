import { openRouteConnection } from "@bulrush/netlink";
import { openNftConnection } from "@bulrush/nftables";
import type { NetNamespace } from "../lab/namespace.ts";

/** What an agent keeps in a host's kernel, counted over both families. */
export interface KernelObjects {
  readonly chains: number;
  readonly rules: number;
  readonly sets: number;
  readonly elements: number;
  readonly routes: number;
  readonly neighbours: number;
}

export function countKernelObjects(namespace: NetNamespace): KernelObjects {
  const nft = openNftConnection({ namespace: namespace.path });
  const routes = namespace.run(() => openRouteConnection());
  try {
    const tables = (["ip", "ip6"] as const).flatMap((family) => nft.readTable(family, "calico") ?? []);
    const sum = (count: (table: (typeof tables)[number]) => number): number =>
      tables.reduce((total, table) => total + count(table), 0);
    const sizes = (collections: Iterable<{ readonly elements: Iterable<unknown> }>): number =>
      [...collections].reduce((total, { elements }) => total + [...elements].length, 0);
    return {
      chains: sum(({ chains }) => chains.size),
      rules: sum(({ chains }) => [...chains.values()].reduce((total, { rules }) => total + rules.length, 0)),
      sets: sum(({ sets, maps }) => sets.size + maps.size),
      elements: sum(({ sets, maps }) => sizes(sets.values()) + sizes(maps.values())),
      routes: routes.routes().length,
      neighbours: routes.neighbours().length,
    };
  } finally {
    routes.close();
    nft.close();
  }
}
