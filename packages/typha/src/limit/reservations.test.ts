import assert from "node:assert/strict";
import { test } from "node:test";
import { Reservations } from "./reservations.ts";

const felix = (...connectedAtMs: readonly number[]): { readonly connectedAtMs: number; readonly type: string }[] =>
  connectedAtMs.map((atMs) => ({ connectedAtMs: atMs, type: "felix" }));

test("Reservations count until a client comes, or three seconds", () => {
  const places = new Reservations();
  assert.equal(places.count(0, felix(0, 0)), 0);
  places.add(1000);
  places.add(2000);
  assert.equal(places.count(2000, felix(10, 999)), 2);
  assert.equal(places.count(2500, felix(10, 999, 1000)), 1);
  assert.equal(places.count(2500, felix(1500, 2000, 2200)), 0);
  assert.equal(places.count(4000, felix(10)), 1);
  assert.equal(places.count(5000, felix(10)), 0);
});

test("Reservations count by type where the type was told", () => {
  const places = new Reservations();
  places.add(1000, "felix");
  places.add(1000, "bgp");
  places.add(1000, "bgp");
  places.add(1000);
  const arrivals = [...felix(999, 1500), { connectedAtMs: 1200, type: "bgp" }];
  assert.deepEqual(
    [...places.countTypes(1600, arrivals)],
    [
      ["felix", 0],
      ["bgp", 1],
    ],
  );
  assert.equal(places.count(1600, arrivals), 2);
  assert.deepEqual([...places.countTypes(4000, [])], []);
});
