import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReadBackPacer } from "./read-back-pacer.ts";

describe("ReadBackPacer", () => {
  it("lets the first begin at once, and others after a tenth of a second", () => {
    const pacer = new ReadBackPacer();
    assert.equal(pacer.waitMs(0), 0);
    pacer.done(0, 400);
    assert.equal(pacer.waitMs(400), 100);
    assert.equal(pacer.waitMs(450), 50);
    assert.equal(pacer.waitMs(500), 0);
    assert.equal(pacer.waitMs(10_000), 0);
  });

  it("lets several costly ones follow each other, and then makes them wait", () => {
    const pacer = new ReadBackPacer();
    pacer.done(0, 1_000);
    pacer.done(1_100, 2_100);
    assert.equal(pacer.waitMs(2_100), 100);
    pacer.done(2_200, 3_200);
    // Three seconds of reading, a hundredth of a second paid back in the two pauses: 0.99 s beyond the allowance.
    assert.equal(pacer.waitMs(3_200), 19_800);
    assert.equal(pacer.waitMs(23_000), 0);
  });

  it("forgets in a quiet time", () => {
    const pacer = new ReadBackPacer();
    pacer.done(0, 10_000);
    assert.equal(pacer.waitMs(10_000), 160_000);
    pacer.done(210_000, 211_000);
    assert.equal(pacer.waitMs(211_000), 100);
  });

  it("takes a twentieth of the time in the long run, however often and dearly it is used", () => {
    const pacer = new ReadBackPacer();
    let nowMs = 0;
    let readMs = 0;
    for (let i = 0; i < 1000; i++) {
      nowMs += pacer.waitMs(nowMs);
      const costMs = 1 + ((i * 7919) % 500);
      pacer.done(nowMs, nowMs + costMs);
      nowMs += costMs;
      readMs += costMs;
    }
    assert.ok(readMs - 2_500 <= nowMs / 20, `${readMs} ms of ${nowMs}`);
  });
});
