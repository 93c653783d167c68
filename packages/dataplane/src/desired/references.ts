import type { ChainState, Statement, VerdictMapState } from "@bulrush/nftables";

/** An object of a table by kind and name: "chain filter-cali-INPUT", "set cali40s-...", "map ...", "flowtable ...". */
export type ObjectKey = string;

/** Keys that are remembered of each kind; beyond it they are made anew. */
const MAX_KNOWN = 16_384;

/** The same text for the same name, so that it is put together and hashed once. */
function keysOf(kind: "chain" | "set" | "map" | "flowtable"): (name: string) => ObjectKey {
  const known = new Map<string, ObjectKey>();
  return (name) => {
    let key = known.get(name);
    if (key === undefined) {
      key = `${kind} ${name}`;
      if (known.size >= MAX_KNOWN) known.clear();
      known.set(name, key);
    }
    return key;
  };
}

export const chainKey: (name: string) => ObjectKey = keysOf("chain");
export const setKey: (name: string) => ObjectKey = keysOf("set");
export const mapKey: (name: string) => ObjectKey = keysOf("map");
export const flowtableKey: (name: string) => ObjectKey = keysOf("flowtable");

/** What the chain needs to be there before it can be loaded. */
export function chainReferences(chain: ChainState): Set<ObjectKey> {
  const keys = new Set<ObjectKey>();
  for (const { statements } of chain.rules) for (const statement of statements) addReference(statement, keys);
  return keys;
}

export function mapReferences(map: VerdictMapState): Set<ObjectKey> {
  const keys = new Set<ObjectKey>();
  for (const verdict of map.elements.values())
    if (verdict.kind === "jump" || verdict.kind === "goto") keys.add(chainKey(verdict.chain));
  return keys;
}

function addReference(statement: Statement, keys: Set<ObjectKey>): void {
  switch (statement.kind) {
    case "match":
      if (statement.right.kind === "set") keys.add(setKey(statement.right.name));
      return;
    case "verdict":
      if (statement.verdict.kind === "jump" || statement.verdict.kind === "goto")
        keys.add(chainKey(statement.verdict.chain));
      return;
    case "vmap":
      keys.add(mapKey(statement.map));
      return;
    case "set-element":
      keys.add(setKey(statement.set));
      return;
    case "flow-offload":
      keys.add(flowtableKey(statement.flowtable));
      return;
    default:
  }
}
