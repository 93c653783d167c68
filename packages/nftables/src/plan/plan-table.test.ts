import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeNft } from "../fake/fake-nft.ts";
import { describeOperation } from "../operation.ts";
import type { TableReadback } from "../readback.ts";
import type {
  BaseChain,
  ChainState,
  FlowtableState,
  RuleState,
  SetState,
  TableState,
  VerdictMapState,
} from "../state.ts";
import type { Verdict } from "../statement.ts";
import { planCompliance } from "../testing/plan-compliance.ts";
import { planTable } from "./plan-table.ts";

planCompliance(() => new FakeNft(), 20, 20);

const INPUT: BaseChain = { type: "filter", hook: "input", priority: 0, policy: "accept" };

function chain(name: string, rules: readonly RuleState[], base?: BaseChain): ChainState {
  return { name, rules, ...(base === undefined ? {} : { base }) };
}

function set(name: string, ...elements: string[]): SetState {
  return { name, key: ["ipv4_addr"], interval: false, elements: new Set(elements) };
}

function map(name: string, ...elements: [string, Verdict][]): VerdictMapState {
  return { name, key: "ifname", elements: new Map(elements) };
}

function table(parts: {
  readonly chains?: readonly ChainState[];
  readonly sets?: readonly SetState[];
  readonly maps?: readonly VerdictMapState[];
  readonly flowtables?: readonly FlowtableState[];
}): TableState {
  const byName = <T extends { readonly name: string }>(items: readonly T[] = []): Map<string, T> =>
    new Map(items.map((item) => [item.name, item]));
  return {
    family: "ip",
    name: "t",
    chains: byName(parts.chains),
    sets: byName(parts.sets),
    maps: byName(parts.maps),
    flowtables: byName(parts.flowtables),
  };
}

function verdict(value: Verdict): RuleState {
  return { statements: [{ kind: "verdict", verdict: value }] };
}

const inSet: RuleState = {
  statements: [
    { kind: "match", left: { kind: "payload", field: "ip saddr" }, op: "==", right: { kind: "set", name: "s" } },
  ],
};
const accept = verdict({ kind: "accept" });
const drop = verdict({ kind: "drop" });
const goB: Verdict = { kind: "goto", chain: "b" };

/** "kind name" of each operation. */
function plan(desired: TableState, current: TableState | TableReadback | undefined): string[] {
  return planTable(desired, current).operations.map((operation) => describeOperation(operation).replace(" ip t", ""));
}

/** The same from a read-back. */
function planFromRead(desired: TableState, current: TableState): string[] {
  const nft = new FakeNft();
  nft.run(planTable(current, undefined));
  return planTable(desired, nft.readTable("ip", "t")).operations.map((operation) =>
    describeOperation(operation).replace(" ip t", ""),
  );
}

test("planTable() of a new table makes everything, chains before what refers to them", () => {
  const desired = table({
    chains: [chain("a", [inSet, verdict(goB)], INPUT), chain("b", [])],
    sets: [set("s", "10.0.0.1")],
    maps: [map("m", ["x", goB])],
  });
  assert.deepEqual(plan(desired, undefined), [
    "add-table",
    "add-chain a",
    "add-chain b",
    "add-set s",
    "add-map m",
    "add-elements s (1)",
    "add-map-elements m (1)",
    "add-rule a",
    "add-rule a",
  ]);
});

test("planTable() writes only the differences of a set", () => {
  const before = table({ sets: [set("s", "10.0.0.1", "10.0.0.2"), set("same", "10.0.0.1")] });
  const after = table({ sets: [set("s", "10.0.0.2", "10.0.0.3"), set("same", "10.0.0.1")] });
  const wanted = ["delete-elements s (1)", "add-elements s (1)"];
  assert.deepEqual(plan(after, before), wanted);
  assert.deepEqual(planFromRead(after, before), wanted);
});

test("planTable() appends to a chain without touching what is there", () => {
  const before = table({ chains: [chain("a", [accept])] });
  const after = table({ chains: [chain("a", [accept, drop])] });
  assert.deepEqual(plan(after, before), ["add-rule a"]);
  assert.deepEqual(planFromRead(after, before), ["add-rule a"]);
});

test("planTable() rewrites a changed chain, from the first difference where it knows the handles", () => {
  const before = table({ chains: [chain("a", [accept, drop, accept]), chain("b", [accept])] });
  const after = table({ chains: [chain("a", [accept, accept]), chain("b", [accept])] });
  assert.deepEqual(plan(after, before), ["flush-chain a", "add-rule a", "add-rule a"]);
  assert.deepEqual(planFromRead(after, before), ["delete-rule a handle 2", "delete-rule a handle 3", "add-rule a"]);
});

test("planTable() sees a comment that differs", () => {
  const before = table({ chains: [chain("a", [{ ...accept, comment: "1" }])] });
  const after = table({ chains: [chain("a", [{ ...accept, comment: "2" }])] });
  assert.deepEqual(plan(after, before), ["flush-chain a", "add-rule a"]);
});

test("planTable() takes references away before what they refer to", () => {
  const before = table({
    chains: [
      chain("a", [verdict(goB), inSet], INPUT),
      chain("b", [verdict({ kind: "jump", chain: "c" })]),
      chain("c", []),
    ],
    sets: [set("s")],
    maps: [map("m", ["x", goB])],
  });
  const after = table({ chains: [chain("a", [], INPUT)] });
  assert.deepEqual(plan(after, before), [
    "flush-chain a",
    "flush-chain b",
    "delete-map m",
    "delete-set s",
    "delete-chain b",
    "delete-chain c",
  ]);
});

test("planTable() changes a verdict by a delete and an add", () => {
  const before = table({ chains: [chain("b", [])], maps: [map("m", ["x", goB], ["y", goB])] });
  const after = table({ chains: [chain("b", [])], maps: [map("m", ["x", { kind: "drop" }], ["y", goB])] });
  const wanted = ["delete-map-elements m (1)", "add-map-elements m (1)"];
  assert.deepEqual(plan(after, before), wanted);
  assert.deepEqual(planFromRead(after, before), wanted);
});

test("planTable() makes a set of another type anew, with the rules that use it", () => {
  const before = table({ chains: [chain("a", [inSet]), chain("b", [accept])], sets: [set("s", "10.0.0.1")] });
  const after = table({
    chains: [chain("a", [inSet]), chain("b", [accept])],
    sets: [{ ...set("s", "10.0.0.0/8"), interval: true }],
  });
  const wanted = ["flush-chain a", "delete-set s", "add-set s", "add-elements s (1)", "add-rule a"];
  assert.deepEqual(plan(after, before), wanted);
  assert.deepEqual(planFromRead(after, before), wanted);
});

test("planTable() makes a set of another size anew", () => {
  const before = table({ sets: [{ ...set("s", "10.0.0.1"), size: 8 }] });
  const after = table({ sets: [{ ...set("s", "10.0.0.1"), size: 16 }] });
  assert.deepEqual(plan(after, before), ["delete-set s", "add-set s", "add-elements s (1)"]);
});

test("planTable() only sets a policy that differs, and remakes a base chain of another priority", () => {
  const before = table({ chains: [chain("a", [accept], INPUT)] });
  assert.deepEqual(plan(table({ chains: [chain("a", [accept], { ...INPUT, policy: "drop" })] }), before), [
    "add-chain a",
  ]);
  assert.deepEqual(plan(table({ chains: [chain("a", [accept], { ...INPUT, priority: 1 })] }), before), [
    "flush-chain a",
    "delete-chain a",
    "add-chain a",
    "add-rule a",
  ]);
});

test("planTable() deletes a set of a type that is none of ours and makes the wanted one", () => {
  const desired = table({ sets: [set("s", "10.0.0.1")] });
  const foreign = { name: "s", key: undefined, interval: false, elements: new Set<string>() };
  const current = {
    ...table({}),
    kind: "readback" as const,
    generation: 1,
    asleep: false,
    chains: new Map(),
    maps: new Map(),
    flowtables: new Map(),
    sets: new Map([["s", foreign]]),
  };
  assert.deepEqual(
    planTable(desired, current).operations.map(({ kind }) => kind),
    ["delete-set", "add-set", "add-elements"],
  );
});

test("planTable() removes members of a form that nobody wants", () => {
  const wanted = table({ sets: [{ ...set("s", "10.0.0.0/8"), interval: true }] });
  const nft = new FakeNft();
  nft.run(planTable(wanted, undefined));
  nft.edit((tx) => tx.addElements(wanted, { name: "s", key: ["ipv4_addr"], interval: true }, ["192.0.2.1-192.0.2.3"]));
  nft.run(planTable(wanted, nft.readTable("ip", "t")));
  assert.deepEqual([...(nft.readTable("ip", "t")?.sets.get("s")?.elements ?? [])], ["10.0.0.0/8"]);
});

const offload: RuleState = { statements: [{ kind: "flow-offload", flowtable: "f" }] };
const FORWARD: BaseChain = { ...INPUT, hook: "forward" };

test("planTable() makes a flow table ahead of the rules that use it, and takes it away after them", () => {
  const with_ = table({ chains: [chain("fw", [offload, accept], FORWARD)], flowtables: [{ name: "f" }] });
  const without = table({ chains: [chain("fw", [accept], FORWARD)] });
  const made = ["flush-chain fw", "add-flowtable f (0)", "add-rule fw", "add-rule fw"];
  assert.deepEqual(plan(with_, without), made);
  const gone = ["flush-chain fw", "delete-flowtable f", "add-rule fw"];
  assert.deepEqual(plan(without, with_), gone);
  assert.deepEqual(planFromRead(without, with_), gone);
  assert.deepEqual(planFromRead(with_, with_), [], "its devices are nobody's business here");
});

test("planTable() makes a flow table anew with its rules when its exceptions grow, and for nothing less", () => {
  const state = (...exceptions: string[]): TableState =>
    table({
      chains: [chain("fw", [offload], FORWARD), chain("other", [accept])],
      sets: [set("s", ...exceptions)],
      flowtables: [{ name: "f", except: "s" }],
    });
  const [none, one, two] = [state(), state("10.0.0.1"), state("10.0.0.1", "10.0.0.2")];
  const anew = ["flush-chain fw", "delete-flowtable f", "add-flowtable f (0)", "add-elements s (1)", "add-rule fw"];
  for (const [before, after] of [
    [none, one],
    [one, two],
  ] as const) {
    assert.deepEqual(plan(after, before), anew);
    assert.deepEqual(planFromRead(after, before), anew);
  }
  assert.deepEqual(plan(one, two), ["delete-elements s (1)"]);
  assert.deepEqual(planFromRead(one, one), []);
});

test("planTable() makes a flow table of another kind anew", () => {
  const desired = table({ flowtables: [{ name: "f" }] });
  const current = {
    ...table({}),
    kind: "readback" as const,
    generation: 1,
    asleep: false,
    chains: new Map(),
    maps: new Map(),
    sets: new Map(),
    flowtables: new Map([["f", { name: "f", isOwnKind: false, devices: ["eth0"] }]]),
  };
  assert.deepEqual(plan(desired, current), ["delete-flowtable f", "add-flowtable f (0)"]);
});

test("planTable() appends to a transaction, so that two tables share one batch", () => {
  const transaction = planTable(table({}), undefined);
  planTable({ ...table({}), family: "ip6" }, undefined, transaction);
  assert.deepEqual(transaction.operations.map(describeOperation), ["add-table ip t", "add-table ip6 t"]);
});

test("planTable() wakes a table that somebody has put to sleep, ahead of what else differs", () => {
  const desired = table({ chains: [chain("in", [accept], INPUT)] });
  const nft = new FakeNft();
  nft.run(planTable(table({ chains: [chain("in", [drop], INPUT)] }), undefined));
  nft.edit((transaction) => transaction.addTable({ family: "ip", name: "t" }, true));
  const plan = planTable(desired, nft.readTable("ip", "t")).operations;
  assert.deepEqual(plan.map(describeOperation), ["add-table ip t", "flush-chain ip t in", "add-rule ip t in"]);
  assert.deepEqual(plan[0], { kind: "add-table", table: { family: "ip", name: "t" }, asleep: false });
  nft.run(planTable(desired, nft.readTable("ip", "t")));
  assert.deepEqual(planTable(desired, nft.readTable("ip", "t")).operations, []);
});
