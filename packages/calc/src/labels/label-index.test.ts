import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSelector } from "@bulrush/selector";
import fc from "fast-check";
import { IndexedItem, IndexedSelector } from "./indexed.ts";
import { LabelIndex } from "./label-index.ts";
import { LabelKeys } from "./label-set.ts";
import { ProfileLabels } from "./profile-labels.ts";

class Item extends IndexedItem<IndexedSelector> {
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
}

/** An index with a log of what it told, and a brute-force answer beside it. */
class Rig {
  readonly keys = new LabelKeys();
  readonly told = new Map<string, Set<string>>();
  readonly items = new Map<string, { item: Item; labels: Map<string, string>; profiles: readonly string[] }>();
  readonly profiles = new Map<string, Map<string, string>>();
  readonly profileLabels = new ProfileLabels();
  readonly selectors = new Map<string, IndexedSelector>();
  readonly live = new Map<string, Item>();
  readonly index = new LabelIndex<Item, IndexedSelector>(
    {
      onMatchStarted: (selector, item) => {
        const set = this.told.get(selector.text) ?? new Set();
        assert.ok(!set.has(item.name), `${selector.text} started twice for ${item.name}`);
        this.told.set(selector.text, set.add(item.name));
      },
      onMatchStopped: (selector, item) => {
        assert.ok(this.told.get(selector.text)?.delete(item.name), `${selector.text} stopped for ${item.name} unasked`);
      },
    },
    this.live,
    this.profileLabels,
  );

  setItem(name: string, labels: Record<string, string>, profiles: readonly string[]): void {
    const map = new Map(Object.entries(labels));
    const item = this.items.get(name)?.item ?? new Item(name);
    this.items.set(name, { item, labels: map, profiles });
    this.live.set(name, item);
    this.index.setItem(item, this.keys.makeSet(map), profiles);
  }

  removeItem(name: string): void {
    const known = this.items.get(name);
    if (known === undefined) return;
    this.items.delete(name);
    this.live.delete(name);
    this.index.removeItem(known.item);
  }

  setProfile(name: string, labels: Record<string, string> | undefined): void {
    if (labels === undefined) this.profiles.delete(name);
    else this.profiles.set(name, new Map(Object.entries(labels)));
    this.profileLabels.set(name, labels && this.keys.makeSet(new Map(Object.entries(labels))));
    this.index.onProfileChanged(name);
  }

  toggleSelector(text: string): void {
    const selector = parseSelector(text);
    const known = this.selectors.get(selector.text);
    if (known !== undefined) {
      this.selectors.delete(selector.text);
      this.index.removeSelector(known);
    } else {
      const added = new IndexedSelector(selector, this.keys);
      this.selectors.set(selector.text, added);
      this.index.addSelector(added);
    }
  }

  check(): void {
    for (const [text, selector] of this.selectors) {
      const expected = new Set<string>();
      for (const [name, { labels, profiles }] of this.items) {
        const get = (label: string): string | undefined => {
          const own = labels.get(label);
          if (own !== undefined) return own;
          for (const profile of profiles) {
            const inherited = this.profiles.get(profile)?.get(label);
            if (inherited !== undefined) return inherited;
          }
          return undefined;
        };
        if (parseSelector(text).evaluate({ get })) expected.add(name);
      }
      assert.deepEqual(this.told.get(text) ?? new Set(), expected, text);
      assert.equal(selector.matchCount, expected.size, text);
      const visited = new Set<string>();
      this.index.forEachMatch(selector, (item) => visited.add(item.name));
      assert.deepEqual(visited, expected, `visit ${text}`);
    }
    for (const [text, set] of this.told) if (!this.selectors.has(text)) assert.equal(set.size, 0, text);
  }
}

test("setItem() prefers own labels, then the first profile that has one", () => {
  const rig = new Rig();
  rig.setProfile("p1", { a: "1" });
  rig.setProfile("p2", { a: "2", b: "2" });
  for (const text of ["a == '0'", "a == '1'", "a == '2'", "b == '2'"]) rig.toggleSelector(text);
  rig.setItem("own", { a: "0" }, ["p1", "p2"]);
  rig.setItem("first", {}, ["p1", "p2"]);
  rig.setItem("second", {}, ["p2", "p1"]);
  rig.check();
  assert.deepEqual(rig.told.get('a == "0"'), new Set(["own"]));
  assert.deepEqual(rig.told.get('a == "1"'), new Set(["first"]));
  assert.deepEqual(rig.told.get('a == "2"'), new Set(["second"]));
  rig.setProfile("p1", undefined);
  rig.check();
  assert.deepEqual(rig.told.get('a == "2"'), new Set(["first", "second"]));
});

test("addSelector() matches nothing where restrictions exclude each other", () => {
  const rig = new Rig();
  rig.setItem("x", { a: "v1" }, []);
  rig.toggleSelector("a == 'v1' && a == 'v2'");
  rig.toggleSelector("has(a) && !has(a)");
  rig.check();
});

test("setItem() leaves no match behind, for endpoints with many", () => {
  const rig = new Rig();
  for (let i = 0; i < 40; i++) rig.toggleSelector(`has(a) && b != 'v${i}'`);
  rig.setItem("x", { a: "" }, []);
  rig.check();
  rig.setItem("x", { a: "", b: "v3" }, []);
  rig.check();
  for (let i = 0; i < 30; i++) rig.toggleSelector(`has(a) && b != 'v${i}'`);
  rig.check();
  rig.removeItem("x");
  rig.check();
});

const label = fc.constantFrom("a", "b", "c");
const value = fc.constantFrom("", "1", "2", "12");
const labels = fc.dictionary(label, value, { maxKeys: 3 });
const term = fc.oneof(
  fc.constantFrom("all()", "global()"),
  label.map((l) => `has(${l})`),
  label.map((l) => `!has(${l})`),
  fc
    .tuple(label, fc.constantFrom("==", "!=", "contains", "starts with", "ends with"), value)
    .map(([l, op, v]) => `${l} ${op} "${v}"`),
  fc
    .tuple(label, fc.constantFrom("in", "not in"), fc.array(value, { maxLength: 3 }))
    .map(([l, op, vs]) => `${l} ${op} {${vs.map((v) => `"${v}"`).join(",")}}`),
);
const selectorText = fc.oneof(
  term,
  fc.tuple(term, fc.constantFrom("&&", "||"), term).map(([a, op, b]) => `${a} ${op} ${b}`),
  fc.tuple(term, term, term).map(([a, b, c]) => `${a} && !(${b} || ${c})`),
);
const profileNames = fc.uniqueArray(fc.constantFrom("p1", "p2", "p3"), { maxLength: 2 });
const operation = fc.oneof(
  fc.record({
    op: fc.constant("item" as const),
    name: fc.integer({ min: 0, max: 90 }),
    labels,
    profiles: profileNames,
  }),
  fc.record({ op: fc.constant("gone" as const), name: fc.integer({ min: 0, max: 90 }) }),
  fc.record({
    op: fc.constant("profile" as const),
    name: fc.constantFrom("p1", "p2", "p3"),
    labels: fc.option(labels),
  }),
  fc.record({ op: fc.constant("selector" as const), text: selectorText }),
);

test("LabelIndex agrees with evaluating everything, after any sequence", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(operation, { maxLength: 60, size: "max" }), (crowded, operations) => {
      const rig = new Rig();
      // Enough items that label indexes are made.
      if (crowded) for (let i = 0; i < 80; i++) rig.setItem(`${i}`, { a: `${i % 3}`, b: "1" }, i % 2 ? ["p1"] : ["p2"]);
      for (const o of operations) {
        if (o.op === "item") rig.setItem(`${o.name}`, o.labels, o.profiles);
        else if (o.op === "gone") rig.removeItem(`${o.name}`);
        else if (o.op === "profile") rig.setProfile(o.name, o.labels ?? undefined);
        else rig.toggleSelector(o.text);
      }
      rig.check();
    }),
    { numRuns: 300 },
  );
});
