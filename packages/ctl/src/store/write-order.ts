import type { Resource } from "@bulrush/model";

/** Writes under way at the same time. */
export const WRITES_AT_ONCE = 32;

/** What others refer to comes first. */
const FIRST: readonly (readonly string[])[] = [["Namespace"], ["Tier", "Profile", "ServiceAccount", "Node", "IPPool"]];

/** Groups to be written one after the other; delete them from the last to the first. Within one, the order stays. */
export function inOrderOfNeed(resources: readonly Resource[]): readonly (readonly Resource[])[] {
  const rank = ({ kind }: Resource): number => {
    const at = FIRST.findIndex((kinds) => kinds.includes(kind));
    return at < 0 ? FIRST.length : at;
  };
  const groups = Map.groupBy(resources, rank);
  return [...groups.keys()].sort((a, b) => a - b).map((key) => groups.get(key) ?? []);
}
