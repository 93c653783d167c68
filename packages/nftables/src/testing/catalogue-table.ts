import type { BaseChain, ChainState, RuleState, SetState, TableFamily, TableState, VerdictMapState } from "../state.ts";
import type { CatalogueEntry } from "./catalogue-entry.ts";
import { RULE_CATALOGUE } from "./rule-catalogue.ts";

const BASES: Readonly<Record<NonNullable<CatalogueEntry["hook"]>, BaseChain>> = {
  "nat-prerouting": { type: "nat", hook: "prerouting", priority: -100, policy: "accept" },
  "nat-postrouting": { type: "nat", hook: "postrouting", priority: 110, policy: "accept" },
  "filter-input": { type: "filter", hook: "input", priority: 0, policy: "accept" },
};

function sets(family: TableFamily): SetState[] {
  const elements = (...texts: string[]): ReadonlySet<string> => new Set(texts);
  const four: SetState[] = [
    {
      name: "nets4",
      key: ["ipv4_addr"],
      interval: true,
      elements: elements("10.0.0.0/25", "10.0.0.128/25", "10.1.0.0/16", "192.0.2.1", "255.255.255.255", "0.0.0.0/8"),
    },
    { name: "hosts4", key: ["ipv4_addr"], interval: false, size: 1024, elements: elements("10.0.0.2", "10.0.0.1") },
    {
      name: "ports4",
      key: ["ipv4_addr", "inet_proto", "inet_service"],
      interval: false,
      elements: elements("10.0.0.1 . tcp . 80", "10.0.0.1 . udp . 80", "10.0.0.1 . sctp . 80"),
    },
    { name: "seen4", key: ["ipv4_addr"], interval: false, size: 512, dynamic: true, elements: elements() },
    {
      name: "flows4",
      key: ["ipv4_addr", "inet_proto", "inet_service"],
      interval: false,
      size: 64,
      dynamic: true,
      elements: elements(),
    },
    { name: "pairs4", key: ["ipv4_addr", "ipv4_addr"], interval: false, elements: elements("10.0.0.1 . 10.0.0.2") },
  ];
  const six: SetState[] = [
    { name: "hosts6", key: ["ipv6_addr"], interval: false, elements: elements("fd00::1", "::2") },
    { name: "seen6", key: ["ipv6_addr"], interval: false, size: 512, dynamic: true, elements: elements() },
    { name: "nets6", key: ["ipv6_addr"], interval: true, elements: elements("fd00::/64", "fe80::/10", "::1") },
    {
      name: "ports6",
      key: ["ipv6_addr", "inet_proto", "inet_service"],
      interval: false,
      elements: elements("fd00::1 . tcp . 80"),
    },
  ];
  const any: SetState[] = [
    { name: "services", key: ["inet_service"], interval: false, elements: elements("80", "443") },
    { name: "marks", key: ["mark"], interval: false, elements: elements("0x00010000") },
    { name: "names", key: ["ifname"], interval: false, elements: elements("eth0", "cali123456789ab") },
  ];
  if (family === "ip") return [...four, ...any];
  return family === "ip6" ? [...six, ...any] : family === "inet" ? [...four, ...six, ...any] : [];
}

/** A table with every rule of the catalogue that the family can have, each with a comment, and sets and a map. */
export function catalogueTable(family: TableFamily): TableState {
  const chains = new Map<string, ChainState>();
  const add = (name: string, rules: readonly RuleState[], base?: BaseChain): void => {
    chains.set(name, { name, rules, ...(base === undefined ? {} : { base }) });
  };
  const rulesOf = (hook: CatalogueEntry["hook"]): RuleState[] =>
    RULE_CATALOGUE.filter((entry) => entry.families.includes(family) && entry.hook === hook).map((entry, i) => ({
      statements: entry.statements,
      comment: `rule ${i}: a_b @%+=:,./-`,
    }));
  add("target", []);
  add("plain", rulesOf(undefined));
  for (const hook of ["nat-prerouting", "nat-postrouting", "filter-input"] as const) {
    const rules = rulesOf(hook);
    if (rules.length > 0) add(hook, rules, BASES[hook]);
  }
  if (family !== "arp") {
    add("raw", [], { type: "filter", hook: "prerouting", priority: -300, policy: "drop" });
    add("reroute", [], { type: "route", hook: "output", priority: -150, policy: "accept" });
    add("odd", [], { type: "filter", hook: "forward", priority: -42, policy: "accept" });
  } else add("arp-output", [], { type: "filter", hook: "output", priority: 0, policy: "accept" });
  const dispatch: VerdictMapState = {
    name: "dispatch",
    key: "ifname",
    elements: new Map([
      ["cali1", { kind: "goto", chain: "target" }],
      ["cali123456789ab", { kind: "drop" }],
    ]),
  };
  return {
    family,
    name: "catalogue",
    chains,
    sets: new Map(sets(family).map((set) => [set.name, set])),
    maps: new Map(family === "arp" ? [] : [["dispatch", dispatch]]),
  };
}
