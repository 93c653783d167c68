import assert from "node:assert/strict";
import { test } from "node:test";
import { Reservations } from "./reservations.ts";

type Arrivals = Parameters<Reservations["count"]>[1];

const arrival = (type: string, connectedAtMs: number): Arrivals extends Iterable<infer One> ? One : never => ({
  clientId: `${type}-${connectedAtMs}`,
  connectedAtMs,
  type,
});
const felix = (...times: readonly number[]): ReturnType<typeof arrival>[] =>
  times.map((atMs) => arrival("felix", atMs));

test("Reservations count until a client comes, or three seconds", () => {
  const places = new Reservations();
  assert.equal(places.count(0, felix(0, 1)), 0);
  places.add(1000);
  places.add(2000);
  assert.equal(places.count(2000, felix(10, 999)), 2);
  assert.equal(places.count(2500, felix(10, 999, 1000)), 1);
  assert.equal(places.count(2600, felix(10, 999, 1000, 1500)), 1, "it came before the place was promised");
  assert.equal(places.count(2700, felix(1000, 1500, 2000, 2200)), 0);
  places.add(3000);
  assert.equal(places.count(5999, felix(1000, 1500, 2000, 2200)), 1);
  assert.equal(places.count(6000, felix(1000, 1500, 2000, 2200)), 0);
});

test("Reservations count by type where the type was told", () => {
  const places = new Reservations();
  places.add(1000, "felix");
  places.add(1000, "bgp");
  places.add(1000, "bgp");
  places.add(1000);
  const arrivals = [...felix(999, 1500), arrival("bgp", 1200)];
  assert.deepEqual([...places.countTypes(1600, arrivals)], [["bgp", 1]]);
  assert.equal(places.count(1600, arrivals), 2);
  assert.equal(places.count(1700, [...arrivals, arrival("felix", 1700)]), 1, "one for any type");
  assert.deepEqual([...places.countTypes(4000, arrivals)], []);
});

test("Reservations are each taken by one stream, however late those before it come", () => {
  const places = new Reservations();
  // A place each half second; each stream comes two seconds later.
  for (let atMs = 0; atMs <= 10_000; atMs += 500) {
    places.add(atMs, "felix");
    const arrivals = felix(...Array.from({ length: Math.max(0, atMs / 500 - 3) }, (_, i) => 2000 + 500 * i));
    const onTheWay = Math.min(4, atMs / 500 + 1);
    assert.equal(places.count(atMs, arrivals), onTheWay, `after ${atMs} ms`);
    assert.deepEqual([...places.countTypes(atMs, arrivals)], [["felix", onTheWay]]);
  }
});

test("Reservations know a stream that shows up late for the one that was to come, and not for another", () => {
  const places = new Reservations();
  places.add(0, "felix");
  places.add(2500, "felix");
  // It connected in time, and its handshake took until the place was over.
  assert.equal(places.count(3100, []), 1);
  assert.equal(places.count(3200, felix(2600)), 1);
});

test("Reservations of before the clock was set back are over, and later ones count", () => {
  const places = new Reservations();
  places.add(3_600_000, "felix");
  places.add(3_600_000, "bgp");
  assert.equal(places.count(3_600_000, []), 2);
  assert.equal(places.count(1000, []), 0);
  places.add(2000, "felix");
  assert.deepEqual([...places.countTypes(2500, [])], [["felix", 1]]);
  assert.equal(places.count(2600, felix(2200)), 0);
  assert.equal(places.count(3_600_000, []), 0, "nor do they come back");
});
