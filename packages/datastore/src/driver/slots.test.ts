import assert from "node:assert/strict";
import { test } from "node:test";
import { Slots } from "./slots.ts";

test("Slots lets so many in at a time, in order, and forgets who gives up", async () => {
  const slots = new Slots(1);
  const { signal } = new AbortController();
  const seen: string[] = [];
  const release = await slots.acquire(signal);
  const abort = new AbortController();
  const given = slots.acquire(abort.signal);
  const second = slots.acquire(signal).then((free) => {
    seen.push("second");
    return free;
  });
  const third = slots.acquire(signal).then((free) => {
    seen.push("third");
    return free;
  });
  abort.abort(new Error("gave up"));
  await assert.rejects(given, /gave up/);
  assert.deepEqual(seen, []);
  release();
  release();
  const freeSecond = await second;
  assert.deepEqual(seen, ["second"]);
  freeSecond();
  (await third)();
  (await slots.acquire(signal))();
  await assert.rejects(slots.acquire(abort.signal), /gave up/);
});
