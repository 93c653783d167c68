import assert from "node:assert/strict";
import { test } from "node:test";
import { Reservations } from "./reservations.ts";

test("Reservations count until a client comes, or three seconds", () => {
  const places = new Reservations();
  assert.equal(places.count(0, [0, 0]), 0);
  places.add(1000);
  places.add(2000);
  assert.equal(places.count(2000, [10, 999]), 2);
  assert.equal(places.count(2500, [10, 999, 1000]), 1);
  assert.equal(places.count(2500, [1500, 2000, 2200]), 0);
  assert.equal(places.count(4000, [10]), 1);
  assert.equal(places.count(5000, [10]), 0);
});
