import assert from "node:assert/strict";
import { test } from "node:test";
import type { NftConnection } from "../connection.ts";
import { NftError } from "../errors.ts";
import type { NftOperation } from "../operation.ts";
import type { RuleState } from "../state.ts";
import type { Verdict } from "../statement.ts";
import { Transaction } from "../transaction.ts";
import {
  ACCEPT,
  type Build,
  FORWARD,
  HASH,
  INPUT,
  inSet,
  MAP,
  offload,
  NETS,
  PORTS,
  SIZED,
  T,
  VMAP,
} from "./fixture.ts";
import { FLOWTABLE_CASES } from "./flowtable-cases.ts";
import { SET_MAP_CASES } from "./set-map-cases.ts";
import { TABLE_CHAIN_RULE_CASES } from "./table-chain-rule-cases.ts";

const CASES = [...TABLE_CHAIN_RULE_CASES, ...SET_MAP_CASES];

/** Every kind of operation: the type checks that none is missing here, a test that each has its cases. */
const KINDS: Readonly<Record<NftOperation["kind"], true>> = {
  "add-table": true,
  "delete-table": true,
  "add-chain": true,
  "delete-chain": true,
  "flush-chain": true,
  "add-rule": true,
  "insert-rule": true,
  "replace-rule": true,
  "delete-rule": true,
  "add-set": true,
  "delete-set": true,
  "flush-set": true,
  "add-elements": true,
  "delete-elements": true,
  "add-map": true,
  "delete-map": true,
  "add-map-elements": true,
  "delete-map-elements": true,
  "add-flowtable": true,
  "delete-flowtable": true,
  "delete-flowtable-devices": true,
};

/**
 * Registers the tests that every {@link NftConnection} must pass. `open` gives a connection to an empty ruleset. Where the
 * kernel has no flow tables, the tests of those say that it refuses them.
 */
export function connectionCompliance(open: () => NftConnection, hasFlowtables = true): void {
  void test("every kind of operation has a case", () => {
    const kinds = new Set(
      [...CASES, ...FLOWTABLE_CASES].flatMap(({ run }) => build(run).operations.map(({ kind }) => kind)),
    );
    assert.deepEqual([...kinds].sort(), Object.keys(KINDS).sort());
  });
  for (const { name, before, run, fails, idle } of hasFlowtables ? [...CASES, ...FLOWTABLE_CASES] : CASES) {
    void test(`run(): ${name}`, () => {
      const nft = open();
      nft.run(build((tx) => tx.addTable(T)));
      if (before !== undefined) nft.run(build(before));
      const generation = nft.generation();
      const state = nft.readTable(T.family, T.name);
      const failures = failuresOf(() => nft.run(build(run)));
      assert.deepEqual(failures, fails ?? []);
      const changes = fails === undefined && idle !== true;
      assert.equal(nft.generation(), changes ? generation + 1 : generation);
      // All or nothing.
      if (!changes) assert.deepEqual(nft.readTable(T.family, T.name), state);
      nft.close();
    });
  }
  readbackCompliance(open);
  if (hasFlowtables) flowtableCompliance(open);
  else
    void test("[kernel] no flow tables: they are refused with ENOENT, and none is listed", () => {
      const nft = open();
      nft.run(build((tx) => tx.addTable(T)));
      assert.deepEqual(
        failuresOf(() => nft.run(build((tx) => tx.addFlowtable(T, { name: "f", devices: [] })))),
        ["0 ENOENT"],
      );
      assert.deepEqual(
        failuresOf(() => nft.run(build((tx) => tx.addChain(T, "fw", FORWARD).addRule(T, "fw", offload("f"))))),
        ["1 ENOENT"],
      );
      assert.deepEqual(nft.flowtables("ip", "t"), []);
      assert.deepEqual(nft.readTable("ip", "t")?.flowtables, new Map());
      nft.close();
    });
}

function flowtableCompliance(open: () => NftConnection): void {
  void test("flowtables() and readTable() give flow tables with their devices, and rules that hand flows to them", () => {
    const nft = open();
    assert.deepEqual(nft.flowtables("ip", "t"), []);
    nft.run(
      build((tx) =>
        tx
          .addTable(T)
          .addFlowtable(T, { name: "f", devices: ["lo"] })
          .addFlowtable(T, { name: "empty", devices: [] })
          .addChain(T, "fw", FORWARD)
          .addRule(T, "fw", offload("f")),
      ),
    );
    const wanted = [
      { name: "empty", isOwnKind: true, devices: [] },
      { name: "f", isOwnKind: true, devices: ["lo"] },
    ];
    assert.deepEqual(
      nft.flowtables("ip", "t").toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      wanted,
    );
    const table = nft.readTable("ip", "t");
    assert.deepEqual(table?.flowtables.get("f"), wanted[1]);
    assert.deepEqual(
      table?.chains.get("fw")?.rules.map(({ key }) => key),
      ["flow_offload f"],
    );
    assert.deepEqual(nft.flowtables("ip6", "t"), []);
    nft.run(build((tx) => tx.deleteFlowtableDevices(T, { name: "f", devices: ["lo"] })));
    assert.deepEqual(nft.readTable("ip", "t")?.flowtables.get("f")?.devices, []);
    nft.close();
  });
}

function readbackCompliance(open: () => NftConnection): void {
  void test("run() of an empty transaction does nothing", () => {
    const nft = open();
    const generation = nft.generation();
    nft.run(new Transaction());
    assert.equal(nft.generation(), generation);
    nft.close();
  });

  void test("run() fails as stale when the generation moved on", () => {
    const nft = open();
    const generation = nft.generation();
    nft.run(
      build((tx) => tx.addTable(T)),
      { expectedGeneration: generation },
    );
    assert.throws(
      () =>
        nft.run(
          build((tx) => tx.addChain(T, "a")),
          { expectedGeneration: generation },
        ),
      (error) => error instanceof NftError && error.code === "NFT_STALE_GENERATION",
    );
    assert.equal(nft.readTable("ip", "t")?.chains.size, 0);
    nft.close();
  });

  void test("run() refuses what cannot be encoded before anything is done", () => {
    const nft = open();
    nft.run(build((tx) => tx.addTable(T).addSet(T, HASH)));
    const generation = nft.generation();
    for (const bad of ["10.0.0.0/33", "10.0.0", "::1", "10.0.0.0/24"])
      assert.throws(
        () => nft.run(build((tx) => tx.addChain(T, "a").addElements(T, HASH, [bad]))),
        (error) => error instanceof NftError && error.code === "NFT_INVALID",
        bad,
      );
    assert.equal(nft.generation(), generation);
    nft.close();
  });

  void test("readTable() gives undefined for a table that is not there", () => {
    const nft = open();
    assert.equal(nft.readTable("ip", "t"), undefined);
    nft.run(build((tx) => tx.addTable(T)));
    assert.equal(nft.readTable("ip6", "t"), undefined);
    nft.close();
  });

  void test("rules() gives the rules in order, with what they say of themselves, where they lead and what they count", () => {
    const nft = open();
    assert.deepEqual(nft.rules("ip", "t"), []);
    nft.run(
      build((tx) =>
        tx
          .addTable(T)
          .addChain(T, "a")
          .addChain(T, "in", INPUT)
          .addRule(T, "a", {
            statements: [{ kind: "counter" }, { kind: "verdict", verdict: { kind: "drop" } }],
            comment: "no",
          })
          .addRule(T, "in", { statements: [{ kind: "verdict", verdict: { kind: "jump", chain: "a" } }] })
          .addRule(T, "in", { statements: [{ kind: "verdict", verdict: { kind: "return" } }] }),
      ),
    );
    const rules = nft.rules("ip", "t").sort((a, b) => (a.chain < b.chain ? -1 : 1));
    assert.deepEqual(rules, [
      { chain: "a", comment: "no", counter: { packets: 0n, bytes: 0n } },
      { chain: "in", target: "a" },
      { chain: "in" },
    ]);
    assert.deepEqual(nft.rules("ip6", "t"), []);
    nft.close();
  });

  void test("readTable() gives back chains, rules, sets and maps as they were written", () => {
    const nft = open();
    const commented: RuleState = { ...inSet("hash"), comment: "cali:abc; why not" };
    nft.run(
      build((tx) =>
        tx
          .addTable(T)
          .addSet(T, HASH)
          .addSet(T, NETS)
          .addSet(T, PORTS)
          .addSet(T, SIZED)
          .addMap(T, MAP)
          .addChain(T, "in", { ...INPUT, priority: -5, policy: "drop" })
          .addChain(T, "a")
          .addElements(T, HASH, ["10.0.0.2", "10.0.0.1"])
          .addElements(T, NETS, ["10.0.0.0/8", "11.0.0.1", "192.0.2.1-192.0.2.3"])
          .addElements(T, PORTS, ["10.0.0.1 . sctp . 65535"])
          .addMapElements(T, MAP, [
            ["cali1", { kind: "goto", chain: "a" }],
            ["cali123456789ab", { kind: "drop" }],
          ])
          .addRule(T, "in", commented)
          .addRule(T, "in", VMAP),
      ),
    );
    const table = nft.readTable("ip", "t");
    assert.ok(table !== undefined);
    assert.equal(table.generation, nft.generation());
    assert.deepEqual([...table.chains.keys()].sort(), ["a", "in"]);
    const chain = table.chains.get("in");
    assert.deepEqual(chain?.base, { ...INPUT, priority: -5, policy: "drop" });
    assert.deepEqual(
      chain?.rules.map(({ comment, key }) => ({ comment, key })),
      [
        { comment: "cali:abc; why not", key: "payload load 1 network 12 4; lookup 1 @hash" },
        { comment: undefined, key: "meta load 6 1; lookup 1 @map map" },
      ],
    );
    const sorted = (name: string): string[] => [...(table.sets.get(name)?.elements ?? [])].sort();
    assert.deepEqual(sorted("hash"), ["10.0.0.1", "10.0.0.2"]);
    assert.deepEqual(sorted("nets"), ["10.0.0.0/8", "11.0.0.1", "192.0.2.1-192.0.2.3"]);
    assert.deepEqual(sorted("ports"), ["10.0.0.1 . sctp . 65535"]);
    assert.deepEqual(
      ["hash", "nets", "sized"].map((name) => {
        const { key, interval, size } = table.sets.get(name) ?? {};
        return { key, interval, size };
      }),
      [
        { key: ["ipv4_addr"], interval: false, size: undefined },
        { key: ["ipv4_addr"], interval: true, size: undefined },
        { key: ["ipv4_addr"], interval: false, size: 2 },
      ],
    );
    assert.deepEqual(
      table.maps.get("map")?.elements,
      new Map<string, Verdict>([
        ["cali1", { kind: "goto", chain: "a" }],
        ["cali123456789ab", { kind: "drop" }],
      ]),
    );
    nft.close();
  });

  void test("rules are put where they belong: appended, inserted, replaced, deleted by handle", () => {
    const nft = open();
    const marked = (value: number): RuleState => ({ ...ACCEPT, comment: String(value) });
    const comments = (): (string | undefined)[] =>
      nft
        .readTable("ip", "t")
        ?.chains.get("a")
        ?.rules.map((entry) => entry.comment) ?? [];
    const handle = (index: number): number => nft.readTable("ip", "t")?.chains.get("a")?.rules[index]?.handle ?? -1;
    nft.run(build((tx) => tx.addTable(T).addChain(T, "a").addRule(T, "a", marked(1)).addRule(T, "a", marked(2))));
    assert.deepEqual(comments(), ["1", "2"]);
    nft.run(build((tx) => tx.insertRule(T, "a", marked(0))));
    assert.deepEqual(comments(), ["0", "1", "2"]);
    nft.run(build((tx) => tx.insertRule(T, "a", marked(15), handle(2))));
    assert.deepEqual(comments(), ["0", "1", "15", "2"]);
    nft.run(build((tx) => tx.replaceRule(T, "a", handle(1), marked(11))));
    assert.deepEqual(comments(), ["0", "11", "15", "2"]);
    nft.run(build((tx) => tx.deleteRule(T, "a", handle(0))));
    assert.deepEqual(comments(), ["11", "15", "2"]);
    nft.close();
  });
}

function build(fill: Build): Transaction {
  const transaction = new Transaction();
  fill(transaction);
  return transaction;
}

/** "index errno" of each failing operation. */
function failuresOf(run: () => void): string[] {
  try {
    run();
    return [];
  } catch (error) {
    if (!(error instanceof NftError) || error.code !== "NFT_REFUSED") throw error;
    return error.failures.map(({ index, errnoName }) => `${index} ${errnoName}`);
  }
}
