import type { Resource } from "@bulrush/model";

type Path = readonly (string | number)[];

/** What a slip, a broken tool or an attacker may put in the place of any value. */
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  1.5,
  1e300,
  "",
  "x",
  "\u0000",
  "a ==",
  "1.2.3.4/99",
  "::/0",
  "constructor",
  [],
  [null],
  ["x"],
  [[]],
  [7],
  {},
  { a: 1 },
  [{}],
  "x".repeat(5000),
];

export interface Mutation {
  readonly resource: Resource;
  /** `GlobalNetworkPolicy p: spec.order = "x"`. */
  readonly name: string;
}

/** Every place of a value, from the outside in. */
function* placesOf(value: unknown, at: Path = []): Generator<Path> {
  if (at.length > 0) yield at;
  if (typeof value !== "object" || value === null) return;
  for (const [key, item] of Object.entries(value))
    yield* placesOf(item, [...at, Array.isArray(value) ? Number(key) : key]);
}

function withValueAt(resource: Resource, place: Path, value: unknown): Resource {
  const copy = structuredClone(resource);
  let container = copy as unknown as Record<string | number, unknown>;
  for (const step of place.slice(0, -1)) container = container[step] as Record<string | number, unknown>;
  container[place.at(-1) ?? ""] = value;
  return copy;
}

/** Of a place: the same for all items of a list. */
function shapeOf({ apiVersion, kind }: Resource, place: Path): string {
  return [apiVersion, kind, ...place.map((step) => (typeof step === "number" ? "[]" : step))].join(" ");
}

/**
 * Each resource with each of its values below `field` (all, where it is "") replaced by each odd value; places of one
 * shape once. `share` of them, as `random` picks.
 */
export function* mutationsOf(
  resources: readonly Resource[],
  field: string,
  share: number,
  random: () => number,
): Generator<Mutation & { readonly of: Resource }> {
  const seen = new Set<string>();
  for (const resource of resources) {
    for (const place of placesOf(resource)) {
      if (field !== "" && place[0] !== field) continue;
      const shape = shapeOf(resource, place);
      if (seen.has(shape)) continue;
      seen.add(shape);
      for (const value of ODD_VALUES) {
        if (random() >= share) continue;
        const name = `${resource.kind} ${resource.metadata.name}: ${place.join(".")} = ${JSON.stringify(value).slice(0, 40)}`;
        yield { of: resource, resource: withValueAt(resource, place, value), name };
      }
    }
  }
}

/** Numbers in [0, 1) from a seed. */
export function seededRandom(seed: number): () => number {
  let state = (seed % 0x7fff_fffe) + 1;
  return () => (state = (state * 48_271) % 0x7fff_ffff) / 0x7fff_ffff;
}
