import type { ChainState, Statement, VerdictMapState } from "@bulrush/nftables";

/** An object of a table by kind and name: "chain filter-cali-INPUT", "set cali40s-...", "map ...", "flowtable ...". */
export type ObjectKey = string;

export function chainKey(name: string): ObjectKey {
  return `chain ${name}`;
}

export function setKey(name: string): ObjectKey {
  return `set ${name}`;
}

export function mapKey(name: string): ObjectKey {
  return `map ${name}`;
}

export function flowtableKey(name: string): ObjectKey {
  return `flowtable ${name}`;
}

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
    case "flow-offload":
      keys.add(flowtableKey(statement.flowtable));
      return;
    default:
  }
}
