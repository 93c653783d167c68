/** Something in a value that is not plain data. */
export interface PlainDataIssue {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** How deep lists and objects may nest in a resource: those of Kubernetes and Calico stay under 16. */
export const MAX_RESOURCE_NESTING = 32;

/**
 * The first thing in a value that is not plain data (null, booleans, numbers, strings, lists, objects, maps), or that
 * stands deeper than `maxNesting` containers; undefined when there is none. Whoever walks a value after it needs no
 * care for its depth, and every codec can carry it. Never throws.
 */
export function plainDataIssue(value: unknown, maxNesting: number): PlainDataIssue | undefined {
  return walk(value, maxNesting, []);
}

function walk(value: unknown, left: number, path: (string | number)[]): PlainDataIssue | undefined {
  if (typeof value !== "object" || value === null) {
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint")
      return { path: [...path], message: `Expected plain data, found a ${typeof value}` };
    return undefined;
  }
  const isPlain =
    Array.isArray(value) || value instanceof Map || Object.prototype.toString.call(value) === "[object Object]";
  if (!isPlain) return { path: [...path], message: `Expected plain data, found a ${value.constructor.name}` };
  if (left === 0) return { path: [...path], message: "Nested too deep" };
  for (const [key, item] of entriesOf(value)) {
    // The fast way for leaves; most of them are strings.
    if (typeof item === "string" || typeof item === "number" || typeof item === "boolean") continue;
    path.push(key);
    const issue = walk(item, left - 1, path);
    if (issue !== undefined) return issue;
    path.pop();
  }
  return undefined;
}

function entriesOf(value: object): Iterable<readonly [string | number, unknown]> {
  if (Array.isArray(value)) return value.entries();
  return value instanceof Map ? (value as Map<string, unknown>).entries() : Object.entries(value);
}
