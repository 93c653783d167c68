import { type Cidr, compareCidrs, containsCidr, formatCidr, maskCidr, parseCidr } from "@bulrush/ip";
import type { ManifestResource } from "@bulrush/datastore";
import { isObject } from "@bulrush/model";
import type { LintContext } from "../context.ts";
import type { Warning } from "../warning.ts";

interface Pool {
  readonly entry: ManifestResource;
  readonly cidr: Cidr;
}

/** Pools that share addresses: Calico's API refuses to create the second one. */
export function* poolWarnings({ resources }: LintContext): Iterable<Warning> {
  const pools = resources.flatMap((entry): Pool[] => {
    const { kind, spec } = entry.resource;
    const text = kind === "IPPool" && isObject(spec) ? spec["cidr"] : undefined;
    const cidr = typeof text === "string" ? parseCidr(text) : undefined;
    return cidr === undefined ? [] : [{ entry, cidr: maskCidr(cidr) }];
  });
  // Of networks that overlap one holds the other: in order, each comes after all that hold it.
  const around: Pool[] = [];
  for (const pool of pools.sort((a, b) => compareCidrs(a.cidr, b.cidr))) {
    while (around.length > 0 && !holds(around.at(-1), pool)) around.pop();
    const outer = around.at(-1);
    if (outer !== undefined) {
      const { name } = outer.entry.resource.metadata;
      const message = `It overlaps with IPPool "${name}" (${formatCidr(outer.cidr)}): addresses may be given out twice`;
      yield { code: "overlapping-pools", entry: pool.entry, field: "spec.cidr", message };
    }
    around.push(pool);
  }
}

function holds(outer: Pool | undefined, inner: Pool): boolean {
  return outer !== undefined && containsCidr(outer.cidr, inner.cidr);
}
