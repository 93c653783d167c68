import type { Random } from "@bulrush/base";
import type { BaseChain, ChainState, RuleState, SetState, TableState, VerdictMapState } from "../state.ts";
import type { Statement, Verdict } from "../statement.ts";

const CHAINS = ["c0", "c1", "c2", "c3", "c4"];
const BASES = ["b0", "b1"];
const SETS = ["s0", "s1", "s2"];
const MAPS = ["m0", "m1"];

/**
 * A random table of family ip, small and dense, so that two of them share names with other contents. Its references are
 * all valid: rules jump only to later chains, only base chains use maps (so that nothing leads in circles), and only what
 * exists is looked into.
 */
export function arbitraryTable(random: Random): TableState {
  const some = <T>(items: readonly T[]): T[] => items.filter(() => random() < 0.7);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random() * items.length)];
  const chains = some(CHAINS);
  const sets = some(SETS).map((name) => arbitrarySet(name, random));
  const maps = some(MAPS).map((name): VerdictMapState => {
    const keys = some(["eth0", "eth1", "cali1", "cali2"]);
    return {
      name,
      key: "ifname",
      elements: new Map(keys.map((key) => [key, arbitraryVerdict(random, chains)])),
    };
  });

  function arbitraryRule(targets: readonly string[], usesMaps: boolean): RuleState {
    const set = pick(sets);
    const map = pick(maps);
    const choices: Statement[] = [
      { kind: "counter" },
      { kind: "verdict", verdict: arbitraryVerdict(random, targets) },
      { kind: "set-mark", mask: 1, value: random() < 0.5 ? 0 : 1 },
    ];
    if (set !== undefined)
      choices.push({
        kind: "match",
        left: { kind: "payload", field: "ip saddr" },
        op: random() < 0.5 ? "==" : "!=",
        right: { kind: "set", name: set.name },
      });
    if (map !== undefined && usesMaps)
      choices.push({ kind: "vmap", key: { kind: "meta", key: "iifname" }, map: map.name });
    const ports = some([80, 443, 8080]);
    if (ports.length > 0)
      choices.push(
        { kind: "match", left: { kind: "meta", key: "l4proto" }, op: "==", right: { kind: "value", value: "tcp" } },
        {
          kind: "match",
          left: { kind: "payload", field: "th dport" },
          op: "==",
          right: { kind: "anonymous", elements: ports },
        },
      );
    const statement = pick(choices);
    const statements = statement === undefined ? [] : [statement];
    return { statements, ...(random() < 0.5 ? { comment: `comment ${Math.floor(random() * 3)}` } : {}) };
  }

  const rules = (targets: readonly string[], usesMaps: boolean): RuleState[] =>
    Array.from({ length: Math.floor(random() * 4) }, () => arbitraryRule(targets, usesMaps));
  const states = new Map<string, ChainState>();
  for (const name of some(BASES)) states.set(name, { name, base: arbitraryBase(random), rules: rules(chains, true) });
  for (const [i, name] of chains.entries()) states.set(name, { name, rules: rules(chains.slice(i + 1), false) });
  return {
    family: "ip",
    name: "t",
    chains: states,
    sets: new Map(sets.map((set) => [set.name, set])),
    maps: new Map(maps.map((map) => [map.name, map])),
  };
}

function arbitrarySet(name: string, random: Random): SetState {
  const interval = random() < 0.5;
  // No two of these overlap.
  const elements = interval
    ? ["10.0.0.0/25", "10.0.0.128/25", "10.1.0.0/16", "192.0.2.1"]
    : ["10.0.0.1", "10.0.0.2", "10.0.0.3"];
  return {
    name,
    key: ["ipv4_addr"],
    interval,
    ...(random() < 0.2 ? { size: 64 } : {}),
    elements: new Set(elements.filter(() => random() < 0.6)),
  };
}

function arbitraryBase(random: Random): BaseChain {
  return {
    type: "filter",
    hook: random() < 0.5 ? "input" : "forward",
    priority: random() < 0.5 ? 0 : -5,
    policy: random() < 0.5 ? "accept" : "drop",
  };
}

function arbitraryVerdict(random: Random, targets: readonly string[]): Verdict {
  const target = targets[Math.floor(random() * targets.length)];
  if (target !== undefined && random() < 0.6) return { kind: random() < 0.5 ? "jump" : "goto", chain: target };
  return { kind: random() < 0.5 ? "accept" : "drop" };
}
