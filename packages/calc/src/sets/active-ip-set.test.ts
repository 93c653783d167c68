import assert from "node:assert/strict";
import { test } from "node:test";
import { containsCidr, parseCidr } from "@bulrush/ip";
import { parseSelector } from "@bulrush/selector";
import fc from "fast-check";
import { ActiveIpSet } from "./active-ip-set.ts";
import { selectorSet, serviceSet } from "./ip-set-spec.ts";

class Rig {
  log: string[] = [];
  readonly shown = new Set<string>();
  readonly set: ActiveIpSet;

  constructor(suppress = true) {
    this.set = new ActiveIpSet(
      selectorSet(parseSelector("all()")),
      {
        onMemberAdded: (_set, member) => {
          assert.ok(!this.shown.has(member), `${member} added twice`);
          this.shown.add(member);
          this.log.push(`+${member}`);
        },
        onMemberRemoved: (_set, member) => {
          assert.ok(this.shown.delete(member), `${member} removed though not shown`);
          this.log.push(`-${member}`);
        },
      },
      suppress,
    );
  }

  expect(action: () => void, ...lines: string[]): void {
    this.log = [];
    action();
    assert.deepEqual(this.log.toSorted(), lines.toSorted());
    assert.deepEqual(new Set(this.set.visibleMembers()), this.shown);
  }
}

test("add() hides what a new broader member covers, remove() shows it again", () => {
  const rig = new Rig();
  rig.expect(() => rig.set.add("10.0.0.1/32"), "+10.0.0.1/32");
  rig.expect(() => rig.set.add("10.0.0.2/32"), "+10.0.0.2/32");
  rig.expect(() => rig.set.add("10.0.0.0/24"), "+10.0.0.0/24", "-10.0.0.1/32", "-10.0.0.2/32");
  rig.expect(() => rig.set.add("10.0.0.3/32"));
  rig.expect(() => rig.set.remove("10.0.0.1/32"));
  rig.expect(() => rig.set.remove("10.0.0.2/32"));
  rig.expect(() => rig.set.remove("10.0.0.0/24"), "-10.0.0.0/24", "+10.0.0.3/32");
});

test("add() and remove() move only the topmost members, level by level", () => {
  const rig = new Rig();
  rig.set.add("10.0.1.1/32");
  rig.set.add("10.0.2.1/32");
  rig.expect(() => rig.set.add("10.0.1.0/24"), "+10.0.1.0/24", "-10.0.1.1/32");
  rig.expect(() => rig.set.add("10.0.0.0/16"), "+10.0.0.0/16", "-10.0.2.1/32", "-10.0.1.0/24");
  rig.expect(() => rig.set.remove("10.0.0.0/16"), "-10.0.0.0/16", "+10.0.2.1/32", "+10.0.1.0/24");
  rig.expect(() => rig.set.remove("10.0.1.0/24"), "-10.0.1.0/24", "+10.0.1.1/32");
});

test("add() counts its sources", () => {
  const rig = new Rig();
  rig.expect(() => rig.set.add("fc00::/64"), "+fc00::/64");
  rig.expect(() => rig.set.add("fc00::/64"));
  rig.expect(() => rig.set.remove("fc00::/64"));
  rig.expect(() => rig.set.remove("fc00::/64"), "-fc00::/64");
  assert.throws(() => rig.set.remove("fc00::/64"), /more often than added/);
});

test("add() hides nothing where overlaps are allowed, or in sets of services", () => {
  const rig = new Rig(false);
  rig.set.add("10.0.0.0/8");
  rig.expect(() => rig.set.add("10.0.0.0/16"), "+10.0.0.0/16");
  const service = new ActiveIpSet(
    serviceSet("a/b", false),
    { onMemberAdded: () => undefined, onMemberRemoved: () => undefined },
    true,
  );
  service.add("10.0.0.0/8");
  service.add("10.0.0.1/32");
  assert.equal(service.visibleMembers().length, 2);
});

test("ActiveIpSet shows exactly the members outside all others, after any sequence", () => {
  const member = fc
    .tuple(fc.constantFrom("10.0.", "fd00::"), fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 3 }))
    .chain(([base, a, b]) =>
      base === "fd00::"
        ? fc.constantFrom(`fd00::${a}/128`, "fd00::/127", "fd00::/64", "fd00::2/127")
        : fc.constantFrom(`10.0.${a}.${b}/32`, `10.0.${a}.0/24`, `10.0.${a}.0/30`, "10.0.0.0/16", "0.0.0.0/1"),
    );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), member), { maxLength: 40, size: "max" }), (steps) => {
      const rig = new Rig();
      const counts = new Map<string, number>();
      for (const [add, text] of steps) {
        const count = counts.get(text) ?? 0;
        if (add) {
          counts.set(text, count + 1);
          rig.set.add(text);
        } else if (count > 0) {
          if (count === 1) counts.delete(text);
          else counts.set(text, count - 1);
          rig.set.remove(text);
        }
        const cidrs = [...counts.keys()].map((key) => ({ key, cidr: parseCidr(key) }));
        const expected = cidrs
          .filter((a) => !cidrs.some((b) => a.key !== b.key && a.cidr && b.cidr && containsCidr(b.cidr, a.cidr)))
          .map((a) => a.key);
        assert.deepEqual(rig.shown, new Set(expected));
        assert.deepEqual(new Set(rig.set.visibleMembers()), rig.shown);
      }
    }),
  );
});

test("sets are independent of one another, and of their former selves", () => {
  const [one, two] = [new Rig(), new Rig()];
  const families = ["10.0.0.0/24", "10.0.0.1/32", "fd00::/64", "fd00::1/128"];
  for (const member of families) one.set.add(member);
  for (const member of families.slice(1)) if (member !== "fd00::/64") two.set.add(member);
  assert.deepEqual([...one.shown].sort(), ["10.0.0.0/24", "fd00::/64"]);
  assert.deepEqual(
    [...two.shown].sort(),
    ["10.0.0.1/32", "fd00::1/128"],
    "what is broad in one hides nothing in the other",
  );
  one.expect(() => one.set.remove("fd00::/64"), "-fd00::/64", "+fd00::1/128");
  assert.deepEqual([...one.shown].sort(), ["10.0.0.0/24", "fd00::1/128"], "nor does one family touch the other");
  const again = new Rig();
  again.expect(() => again.set.add("10.0.0.1/32"), "+10.0.0.1/32");
  assert.deepEqual([...again.shown], ["10.0.0.1/32"], "one that is made again has nothing of before");
});
