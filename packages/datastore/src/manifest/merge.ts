import { kindFacts, type Resource } from "@bulrush/model";
import type { Problem } from "../problem.ts";
import type { ManifestResource } from "./resource.ts";

export interface MergedManifests {
  readonly resources: readonly ManifestResource[];
  readonly problems: readonly Problem[];
}

/** What two resources must not share: kind (of either group), namespace and name. */
export function identityOf({ apiVersion, kind, metadata }: Resource): string {
  const version = kindFacts(apiVersion, kind)?.apiVersion ?? apiVersion;
  return `${version} ${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

/** The resources of all files in order; of two with one identity the first counts and the other is reported. */
export function mergeManifests(files: Iterable<readonly ManifestResource[]>): MergedManifests {
  const first = new Map<string, ManifestResource>();
  const problems: Problem[] = [];
  for (const entry of iterate(files)) {
    const identity = identityOf(entry.resource);
    const known = first.get(identity);
    if (known === undefined) {
      first.set(identity, entry);
      continue;
    }
    const { kind, metadata } = entry.resource;
    const { file, line } = known.source;
    problems.push({
      severity: "error",
      message: `Already defined in ${file}${line > 0 ? `:${line}` : ""}`,
      source: entry.source,
      kind,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      name: metadata.name,
      effect: "ignored",
    });
  }
  return { resources: [...first.values()], problems };
}

function* iterate(files: Iterable<readonly ManifestResource[]>): Iterable<ManifestResource> {
  for (const file of files) yield* file;
}
