import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { ChainState, TableState } from "@bulrush/nftables";
import { chain, layered, rule } from "../render/layer.ts";
import { inSet, jump, address } from "../render/statements.ts";
import { DesiredTable } from "./desired-table.ts";

const base = (...targets: readonly string[]): ChainState => ({
  name: "filter-INPUT",
  base: { type: "filter", hook: "input", priority: 0, policy: "accept" },
  rules: targets.map((target) => rule(jump(layered("filter", target)))),
});

/** A chain that jumps to `targets`. */
const chainTo = (name: string, ...targets: readonly string[]): ChainState =>
  chain(
    "filter",
    name,
    targets.map((target) => rule(jump(layered("filter", target)))),
  );

const names = (table: TableState | undefined): string[] =>
  table === undefined ? [] : [...table.chains.keys(), ...table.sets.keys(), ...table.maps.keys()].sort();

describe("DesiredTable", () => {
  let table: DesiredTable;
  let renders: string[];

  const offer = (name: string, ...targets: readonly string[]): void =>
    table.offerChain(layered("filter", name), () => {
      renders.push(name);
      return chainTo(name, ...targets);
    });
  const withdraw = (name: string): void => table.withdrawChain(layered("filter", name));

  beforeEach(() => {
    table = new DesiredTable("ip", "calico");
    renders = [];
  });

  it("N1: neither renders nor holds a chain that no base chain leads to", () => {
    offer("a", "b");
    offer("b");
    table.settle();
    assert.deepEqual(renders, []);
    assert.deepEqual(names(table.state()), []);
    assert.equal(table.difference(), undefined);
  });

  it("N2: brings a chain in with all that it leads to, and takes all out with the last reference", () => {
    offer("a", "b");
    offer("b", "c");
    offer("c");
    table.offerBase(base("a"));
    table.settle();
    const all = ["filter-INPUT", "filter-a", "filter-b", "filter-c"];
    assert.deepEqual(names(table.state()), all);
    assert.deepEqual(names(table.difference()?.desired), all);
    assert.deepEqual(names(table.difference()?.current), []);
    table.acknowledge();
    table.offerBase(base());
    table.settle();
    assert.deepEqual(names(table.state()), ["filter-INPUT"]);
    assert.deepEqual(names(table.difference()?.desired), ["filter-INPUT"]);
    assert.deepEqual(names(table.difference()?.current), all);
  });

  it("N2: brings in chains and sets by way of a map's elements", () => {
    table.set("s1", ["ipv4_addr"], false).add("10.0.0.1");
    table.offerChain("filter-a", () => chain("filter", "a", [rule(inSet(address("src", 4), "s1"))]));
    const map = (...chains: readonly string[]) => ({
      name: "m",
      key: "ifname" as const,
      elements: new Map(chains.map((name) => [`if-${name}`, { kind: "goto" as const, chain: `filter-${name}` }])),
    });
    table.offerMap(map("a"));
    table.offerBase({
      ...base(),
      rules: [rule({ kind: "vmap", key: { kind: "meta", key: "iifname" }, map: "m" })],
    });
    table.settle();
    assert.deepEqual(names(table.state()), ["filter-INPUT", "filter-a", "m", "s1"]);
    table.acknowledge();
    table.offerMap(map());
    table.settle();
    assert.deepEqual(names(table.state()), ["filter-INPUT", "m"]);
    assert.deepEqual(names(table.difference()?.current), ["filter-a", "m", "s1"]);
  });

  it("keeps a chain that another one still leads to", () => {
    offer("a", "c");
    offer("b", "c");
    offer("c");
    table.offerBase(base("a", "b"));
    table.settle();
    table.acknowledge();
    offer("a");
    table.settle();
    assert.deepEqual(names(table.difference()?.desired), ["filter-a"]);
    assert.deepEqual(names(table.state()), ["filter-INPUT", "filter-a", "filter-b", "filter-c"]);
  });

  it("renders a chain once for any number of offers before it is settled", () => {
    offer("a");
    table.offerBase(base("a"));
    offer("a");
    offer("a");
    table.settle();
    table.settle();
    assert.deepEqual(renders, ["a"]);
  });

  it("has a difference of the touched objects alone, and none after it was acknowledged", () => {
    offer("a");
    offer("b");
    table.offerBase(base("a", "b"));
    table.settle();
    table.acknowledge();
    assert.equal(table.difference(), undefined);
    offer("b");
    table.settle();
    assert.deepEqual(names(table.difference()?.desired), ["filter-b"]);
    assert.deepEqual(names(table.difference()?.current), ["filter-b"]);
  });

  it("fails loudly when a live chain leads to one that nobody offers", () => {
    table.offerBase(base("a"));
    assert.throws(() => table.settle(), /chain filter-a/);
    withdraw("a");
  });

  describe("with a set in use", () => {
    const elements = (state: TableState | undefined): string[] => [...(state?.sets.get("s1")?.elements ?? [])].sort();

    beforeEach(() => {
      const set = table.set("s1", ["ipv4_addr"], false);
      for (const element of ["10.0.0.1", "10.0.0.2"]) set.add(element);
      table.offerBase({ ...base(), rules: [rule(inSet(address("src", 4), "s1"))] });
      table.settle();
      table.acknowledge();
    });

    it("has the changed members alone in its difference", () => {
      const set = table.set("s1", ["ipv4_addr"], false);
      set.add("10.0.0.3");
      set.delete("10.0.0.1");
      table.touchSet("s1");
      assert.deepEqual(elements(table.difference()?.desired), ["10.0.0.3"]);
      assert.deepEqual(elements(table.difference()?.current), ["10.0.0.1"]);
      assert.deepEqual(elements(table.state()), ["10.0.0.2", "10.0.0.3"]);
      table.acknowledge();
      table.touchSet("s1");
      assert.deepEqual(elements(table.difference()?.desired), []);
      assert.deepEqual(elements(table.difference()?.current), []);
    });

    it("forgets a member that came and went, and one that went and came, between two applies", () => {
      const set = table.set("s1", ["ipv4_addr"], false);
      set.add("10.0.0.3");
      set.delete("10.0.0.3");
      set.delete("10.0.0.1");
      set.add("10.0.0.1");
      table.touchSet("s1");
      assert.deepEqual(elements(table.difference()?.desired), []);
      assert.deepEqual(elements(table.difference()?.current), []);
    });

    it("takes a set that is removed and made again between two applies as one that changed its members", () => {
      table.removeSet("s1");
      table.set("s1", ["ipv4_addr"], false).add("10.0.0.2");
      table.touchSet("s1");
      assert.deepEqual(elements(table.difference()?.desired), []);
      assert.deepEqual(elements(table.difference()?.current), ["10.0.0.1"]);
    });

    it("drops the set with its last user, and writes it whole for the next one", () => {
      table.offerBase(base());
      table.settle();
      assert.equal(table.difference()?.desired.sets.size, 0);
      assert.equal(table.difference()?.current.sets.size, 1);
      table.acknowledge();
      table.set("s1", ["ipv4_addr"], false).add("10.0.0.3");
      table.touchSet("s1");
      assert.equal(table.difference()?.desired.sets.size, 0);
      table.offerBase({ ...base(), rules: [rule(inSet(address("src", 4), "s1"))] });
      table.settle();
      assert.deepEqual(elements(table.difference()?.desired), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
      assert.equal(table.difference()?.current.sets.size, 0);
    });
  });
});
