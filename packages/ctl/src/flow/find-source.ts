import type { FlowVerdict, HostVerdict, SideVerdict } from "@bulrush/calc";
import { DatastoreError, type ResourceId } from "@bulrush/datastore";
import type { CommandIo } from "../cli/io.ts";
import { policyIdOf } from "../input/policy-kinds.ts";
import type { World } from "../input/world.ts";
import { withWriter } from "../store/with-writer.ts";
import { type RuleSource, type SourcedRule, sourcedRules, type WrittenPolicy } from "./rule-source.ts";

/** A side of a verdict, with where its rule was written. */
export type Sourced<S> = S & { readonly source?: RuleSource };

export interface SourcedVerdict extends Omit<FlowVerdict, "egress" | "ingress" | "hosts"> {
  readonly egress?: Sourced<SideVerdict>;
  readonly ingress?: Sourced<SideVerdict>;
  readonly hosts?: readonly Sourced<HostVerdict>[];
}

/** The policy of an id as its author wrote it; undefined where it is not there, or cannot be read. */
export type PolicyReader = (id: ResourceId) => Promise<WrittenPolicy | undefined>;

/** Out of manifests. Of two of one name the first counts, as everywhere. */
export function manifestReader({ resources }: Pick<World, "resources">): PolicyReader {
  return (id) => {
    const found = resources.find(
      ({ resource: { apiVersion, kind, metadata } }) =>
        apiVersion === id.apiVersion &&
        kind === id.kind &&
        metadata.name === id.name &&
        (metadata.namespace ?? "") === id.namespace,
    );
    return Promise.resolve(found);
  };
}

/** Out of the datastore of the environment. What it does not give away has no source, and no verdict depends on it. */
export function storeReader(io: CommandIo): PolicyReader {
  return async (id) => {
    try {
      return await withWriter(io, (writer, signal) => writer.get(id, signal));
    } catch (error) {
      if (!(error instanceof DatastoreError)) throw error;
      return undefined;
    }
  };
}

/** Each verdict with the sources of the rules that decide it. A policy is read once. */
export async function withSources(
  verdicts: readonly FlowVerdict[],
  read: PolicyReader,
): Promise<readonly SourcedVerdict[]> {
  const known = new Map<string, readonly SourcedRule[]>();
  const sourced = async <S extends SideVerdict | HostVerdict>(
    side: S,
    direction: "ingress" | "egress",
  ): Promise<Sourced<S>> => {
    const id = side.rule === null ? undefined : policyIdOf(side.policy);
    if (id === undefined) return side;
    let rules = known.get(side.policy);
    if (rules === undefined) {
      const written = await read(id);
      known.set(side.policy, (rules = written === undefined ? [] : sourcedRules(written)));
    }
    const source = rules.find((one) => one.direction === direction && one.rule === side.rule)?.source;
    return source === undefined ? side : { ...side, source };
  };
  const out: SourcedVerdict[] = [];
  for (const { egress, ingress, hosts, ...rest } of verdicts) {
    const judged: Sourced<HostVerdict>[] = [];
    for (const host of hosts ?? []) judged.push(await sourced(host, host.direction));
    out.push({
      ...rest,
      ...(egress !== undefined && { egress: await sourced(egress, "egress") }),
      ...(ingress !== undefined && { ingress: await sourced(ingress, "ingress") }),
      ...(hosts !== undefined && { hosts: judged }),
    });
  }
  return out;
}
