import { convertResources, type ManifestResource } from "@bulrush/datastore";
import { sameValue, type Update } from "@bulrush/model";

/** What is done to a datastore. */
export interface WorldChange {
  readonly apply: readonly ManifestResource[];
  readonly remove: readonly ManifestResource[];
}

/** The keys and values after the change: what is applied replaces what was, and what nobody names stays. */
export function changedUpdates(before: readonly Update[], change: WorldChange): readonly Update[] {
  const after = new Map(before.map((update) => [update.path, update]));
  for (const { path } of ownUpdates(change.remove)) after.delete(path);
  for (const update of ownUpdates(change.apply)) after.set(update.path, update);
  return [...after.values()];
}

/** What resources become, without what every datastore has besides. */
function ownUpdates(resources: readonly ManifestResource[]): readonly Update[] {
  const everywhere = new Map(convertResources([]).updates.map(({ path, value }) => [path, value]));
  return convertResources(resources).updates.filter(({ path, value }) => {
    const standard = everywhere.get(path);
    return standard === undefined || value === undefined || !sameValue(standard, value);
  });
}
