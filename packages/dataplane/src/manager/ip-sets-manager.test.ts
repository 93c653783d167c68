import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { createDesiredTables, type DesiredTables } from "../desired/tables.ts";
import { netSetName, setName } from "../render/names.ts";
import { ipSet, ipSetDelta } from "../testing/messages.ts";
import { IpSetsManager } from "./ip-sets-manager.ts";

const ID = "s:abc";

describe("IpSetsManager", () => {
  let tables: DesiredTables;
  let manager: IpSetsManager;
  let shapeChanges: string[];
  let bad: string[];

  const names = (family: 4 | 6, id = ID): readonly string[] => manager.lookup(family)(id).names;
  const has = (family: 4 | 6, name: string, element: string): boolean =>
    tables.get(family)?.set(name, ["ipv4_addr"], name.endsWith("-net")).has(element) === true;

  beforeEach(() => {
    tables = createDesiredTables(true);
    bad = [];
    manager = new IpSetsManager(tables, (id, member) => bad.push(`${id} ${member}`));
    shapeChanges = [];
    manager.onShapeChange.add((id) => shapeChanges.push(id));
  });

  it("puts single addresses into a hash set and networks into an interval set, by family", () => {
    manager.onUpdate(ipSet(ID, "NET", "10.0.0.1/32", "10.1.0.0/16", "fd00::1/128", "fd01::/64"));
    assert.deepEqual(names(4), ["cali40s-abc", "cali40s-abc-net"]);
    assert.deepEqual(names(6), ["cali60s-abc", "cali60s-abc-net"]);
    assert.ok(has(4, setName(4, ID), "10.0.0.1"));
    assert.ok(has(4, netSetName(4, ID), "10.1.0.0/16"));
    assert.ok(has(6, setName(6, ID), "fd00::1"));
    assert.ok(has(6, netSetName(6, ID), "fd01::/64"));
  });

  const shapes: readonly (readonly [what: string, members: readonly string[], names: readonly string[]])[] = [
    ["nothing", [], ["cali40s-abc"]],
    ["addresses alone", ["10.0.0.1/32"], ["cali40s-abc"]],
    ["networks alone", ["10.0.0.0/8"], ["cali40s-abc-net"]],
    ["addresses and networks", ["10.0.0.1/32", "11.0.0.0/8"], ["cali40s-abc", "cali40s-abc-net"]],
    ["members of the other family alone", ["fd00::/8"], ["cali40s-abc"]],
  ];
  for (const [what, members, expected] of shapes)
    it(`lookup() names ${expected.join(" and ")}, when the set holds ${what}`, () => {
      manager.onUpdate(ipSet(ID, "NET", ...members));
      assert.deepEqual(names(4), expected);
    });

  it("onShapeChange tells of the first and last network, not of other members", () => {
    manager.onUpdate(ipSet(ID, "NET", "10.0.0.1/32"));
    shapeChanges.length = 0;
    manager.onUpdate(ipSetDelta(ID, ["10.0.0.2/32"]));
    assert.deepEqual(shapeChanges, []);
    manager.onUpdate(ipSetDelta(ID, ["11.0.0.0/8"]));
    assert.deepEqual(shapeChanges, [ID]);
    manager.onUpdate(ipSetDelta(ID, ["12.0.0.0/8"], ["10.0.0.1/32"]));
    assert.deepEqual(shapeChanges, [ID]);
    manager.onUpdate(ipSetDelta(ID, [], ["10.0.0.2/32"]));
    assert.deepEqual(shapeChanges, [ID, ID]);
  });

  it("writes ports as address, protocol, port", () => {
    manager.onUpdate(ipSet("n:x", "IP_AND_PORT", "10.0.0.1,tcp:8080", "fd00::1,sctp:80"));
    assert.deepEqual(names(4, "n:x"), ["cali40n-x"]);
    assert.ok(has(4, "cali40n-x", "10.0.0.1 . tcp . 8080"));
    assert.ok(has(6, "cali60n-x", "fd00::1 . sctp . 80"));
  });

  it("takes bare addresses and full-length networks as the same member", () => {
    manager.onUpdate(ipSet("all-istio-weps", "IP", "10.0.0.1", "10.0.0.2/32"));
    assert.ok(has(4, "cali40all-istio-weps", "10.0.0.1"));
    assert.ok(has(4, "cali40all-istio-weps", "10.0.0.2"));
  });

  it("replaces all members at an update of a known set", () => {
    manager.onUpdate(ipSet(ID, "NET", "10.0.0.1/32", "10.0.0.2/32"));
    manager.onUpdate(ipSet(ID, "NET", "10.0.0.2/32", "10.0.0.3/32"));
    assert.deepEqual(
      ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((element) => has(4, setName(4, ID), element)),
      [false, true, true],
    );
  });

  it("names a member that is none, and keeps the others", () => {
    manager.onUpdate(ipSet(ID, "NET", "10.0.0.1/32", "10.0.0.999/32"));
    manager.onUpdate(ipSet("n:x", "IP_AND_PORT", "10.0.0.1", "10.0.0.0/8,tcp:80"));
    assert.deepEqual(bad, [`${ID} 10.0.0.999/32`, "n:x 10.0.0.1", "n:x 10.0.0.0/8,tcp:80"]);
    assert.ok(has(4, setName(4, ID), "10.0.0.1"));
  });

  it("ignores deltas and removes of sets that it does not know", () => {
    manager.onUpdate(ipSetDelta("s:other", ["10.0.0.1/32"]));
    manager.onUpdate({ msg: "IPSetRemove", id: "s:other" });
    assert.equal(manager.size, 0);
  });

  describe("an address whose network comes into the other part", () => {
    const main = (): readonly string[] => [...tables.get(4)!.set(setName(4, ID), ["ipv4_addr"], false).elements];
    const inKernel = (): void => {
      for (const name of [setName(4, ID), netSetName(4, ID)])
        tables.get(4)!.set(name, ["ipv4_addr"], name.endsWith("-net")).markApplied(true);
    };

    beforeEach(() => {
      manager.onUpdate(ipSet(ID, "NET", "10.0.0.1/32", "10.0.0.9/32", "10.1.0.0/16"));
      inKernel();
    });

    for (const [what, message] of [
      ["a delta", ipSetDelta(ID, ["10.0.0.0/30"], ["10.0.0.1/32", "10.0.0.9/32"])],
      ["a new list", ipSet(ID, "NET", "10.0.0.0/30", "10.1.0.0/16")],
    ] as const)
      it(`stays in its own for one round more, with ${what}`, () => {
        manager.onUpdate(message);
        manager.completeDeferredWork();
        assert.deepEqual(main(), ["10.0.0.1"]);
        assert.deepEqual(names(4), ["cali40s-abc", "cali40s-abc-net"]);
        assert.equal(manager.hasLeftovers, true);
        shapeChanges.length = 0;
        manager.completeDeferredWork();
        assert.deepEqual(main(), []);
        assert.deepEqual(names(4), ["cali40s-abc-net"]);
        assert.deepEqual([manager.hasLeftovers, shapeChanges], [false, [ID]]);
      });

    it("stays for good when it is a member again", () => {
      manager.onUpdate(ipSetDelta(ID, ["10.0.0.0/30"], ["10.0.0.1/32"]));
      manager.completeDeferredWork();
      manager.onUpdate(ipSetDelta(ID, ["10.0.0.1/32"], ["10.0.0.0/30"]));
      manager.completeDeferredWork();
      manager.completeDeferredWork();
      assert.deepEqual(main(), ["10.0.0.1", "10.0.0.9"]);
      assert.equal(manager.hasLeftovers, false);
    });

    describe("and a network whose address comes into the other part", () => {
      const net = (): readonly string[] => [...tables.get(4)!.set(netSetName(4, ID), ["ipv4_addr"], true).elements];

      for (const [what, message] of [
        ["a delta", ipSetDelta(ID, ["10.1.2.3/32"], ["10.1.0.0/16"])],
        ["a new list", ipSet(ID, "NET", "10.0.0.1/32", "10.1.2.3/32")],
      ] as const)
        it(`stays in its own for one round more, with ${what}`, () => {
          manager.onUpdate(message);
          manager.completeDeferredWork();
          assert.deepEqual([net(), manager.hasLeftovers], [["10.1.0.0/16"], true]);
          assert.ok(main().includes("10.1.2.3"));
          manager.completeDeferredWork();
          assert.deepEqual([net(), manager.hasLeftovers], [[], false]);
        });

      it("goes at once when another network overlaps it, also when that one comes later", () => {
        manager.onUpdate(ipSetDelta(ID, ["10.1.2.3/32", "10.1.128.0/17"], ["10.1.0.0/16"]));
        assert.deepEqual(net(), ["10.1.128.0/17"]);
        manager.onUpdate(ipSetDelta(ID, ["10.1.128.1/32"], ["10.1.128.0/17"]));
        inKernel();
        manager.onUpdate(ipSetDelta(ID, ["10.2.0.0/16"]));
        manager.onUpdate(ipSetDelta(ID, ["10.2.0.1/32"], ["10.2.0.0/16"]));
        assert.deepEqual(net().includes("10.2.0.0/16"), true);
        manager.onUpdate(ipSetDelta(ID, ["10.2.0.0/15"]));
        manager.completeDeferredWork();
        manager.completeDeferredWork();
        assert.deepEqual([net(), manager.hasLeftovers], [["10.2.0.0/15"], false]);
      });
    });

    it("goes with the set", () => {
      manager.onUpdate(ipSetDelta(ID, ["10.0.0.0/30"], ["10.0.0.1/32"]));
      manager.onUpdate({ msg: "IPSetRemove", id: ID });
      assert.equal(manager.hasLeftovers, false);
      manager.completeDeferredWork();
      assert.deepEqual(main(), []);
    });
  });
});
