import { isObject } from "@bulrush/model";

/**
 * Values under resource paths keep their Kubernetes shape in memory, with plain objects for user-named keys. On the
 * wire those are Maps, like every label map: an object there would make one record shape for each set of labels.
 */
const RESOURCE_PREFIX = "/calico/resources/";

/** Where a resource has objects whose keys users choose. */
const MAP_PATHS: readonly (readonly [string, string])[] = [
  ["metadata", "labels"],
  ["metadata", "annotations"],
  ["spec", "labelsToApply"],
  ["spec", "selector"],
];

export function isResourcePath(path: string): boolean {
  return path.startsWith(RESOURCE_PREFIX);
}

/** The wire form; the value itself is not changed. Anything but an object passes as it is. */
export function resourceToWire(value: unknown): unknown {
  return convert(value, (field) => (isObject(field) ? new Map(Object.entries(field)) : field));
}

/** The form in memory. */
export function resourceFromWire(value: unknown): unknown {
  return convert(value, (field) => (field instanceof Map ? Object.fromEntries(field as Map<string, unknown>) : field));
}

function convert(value: unknown, change: (field: unknown) => unknown): unknown {
  if (!isObject(value)) return value;
  let out = value;
  for (const [parentName, name] of MAP_PATHS) {
    const parent = out[parentName];
    if (!isObject(parent) || parent[name] === undefined) continue;
    const changed = change(parent[name]);
    if (changed !== parent[name]) out = { ...out, [parentName]: { ...parent, [name]: changed } };
  }
  return out;
}
