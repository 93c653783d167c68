import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { Interfaces } from "../manager/interfaces.ts";
import { FakeRoutes } from "../testing/fake-routes.ts";
import { StaticNeighbours } from "./static-neighbours.ts";

const MAC = "aa:bb:cc:dd:ee:01";

describe("StaticNeighbours.apply()", () => {
  let kernel: FakeRoutes;
  let interfaces: Interfaces;
  let neighbours: StaticNeighbours;

  const link = (index: number, name: string, up = true): void => {
    kernel.setLink(index, name, up);
    interfaces.put(name, { name, index, up, mtu: 1500, addresses: new Set() });
    neighbours.touchInterface(name);
  };

  beforeEach(() => {
    kernel = new FakeRoutes();
    interfaces = new Interfaces();
    neighbours = new StaticNeighbours(interfaces);
  });

  it("writes an entry once the interface is up, and again after it flapped", () => {
    neighbours.set("cali1", new Map([["10.65.0.2", MAC]]));
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), []);
    link(5, "cali1");
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), [`10.65.0.2 dev cali1 ${MAC}`]);
    link(5, "cali1", false);
    link(5, "cali1");
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), [`10.65.0.2 dev cali1 ${MAC}`]);
  });

  it("R16: restores an entry that was wiped, at the next listing", () => {
    link(5, "cali1");
    neighbours.set("cali1", new Map([["10.65.0.2", MAC]]));
    neighbours.apply(kernel);
    kernel.apply([{ kind: "delete-neighbour", neighbour: { device: 5, address: "10.65.0.2" } }]);
    neighbours.queueResync();
    assert.equal(neighbours.apply(kernel).drift.length, 1);
    assert.deepEqual(kernel.neighbourListing(), [`10.65.0.2 dev cali1 ${MAC}`]);
  });

  it("writes nothing at the start, when the entry is there", () => {
    link(5, "cali1");
    kernel.apply([
      { kind: "replace-neighbour", neighbour: { device: 5, address: "10.65.0.2", mac: MAC, state: 0x80 } },
    ]);
    const before = kernel.writes.length;
    neighbours.set("cali1", new Map([["10.65.0.2", MAC.toUpperCase()]]));
    neighbours.apply(kernel);
    assert.equal(kernel.writes.length, before);
  });

  it("removes what it wrote, when nobody wants it any more, and nothing else", () => {
    link(5, "cali1");
    kernel.apply([{ kind: "replace-neighbour", neighbour: { device: 5, address: "10.9.9.9", mac: MAC, state: 0x80 } }]);
    neighbours.set("cali1", new Map([["10.65.0.2", MAC]]));
    neighbours.apply(kernel);
    neighbours.set("cali1", new Map());
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), [`10.9.9.9 dev cali1 ${MAC}`]);
  });

  it("goes on with a removal that failed, or whose answer was lost", () => {
    link(5, "cali1");
    neighbours.set("cali1", new Map([["10.65.0.2", MAC]]));
    neighbours.apply(kernel);
    neighbours.set("cali1", new Map());
    kernel.failWritesOf = "10.65.0.2";
    assert.equal(neighbours.apply(kernel).failures.length, 1);
    kernel.loseAnswers = true;
    assert.throws(() => neighbours.apply(kernel));
    Object.assign(kernel, { loseAnswers: false, failWritesOf: undefined });
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), []);
  });

  it("writes anew for an interface that has come back with another index", () => {
    link(5, "cali1");
    neighbours.set("cali1", new Map([["10.65.0.2", MAC]]));
    neighbours.apply(kernel);
    kernel.removeLink(5);
    kernel.setLink(9, "cali1");
    interfaces.put("cali1", { name: "cali1", index: 9, up: true, mtu: 1500, addresses: new Set() });
    neighbours.queueResync();
    neighbours.apply(kernel);
    assert.deepEqual(kernel.neighbourListing(), [`10.65.0.2 dev cali1 ${MAC}`]);
  });
});
