import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { DatastoreError, type DatastoreErrorCode } from "../../errors.ts";
import { Pacer } from "./pacer.ts";

function failure(code: DatastoreErrorCode, data: Record<string, unknown> = {}): DatastoreError {
  return new DatastoreError(code, { code, data });
}

/** How long `wait` takes, in steps of 50 ms. */
async function waitOf(pacer: Pacer, clock: ManualClock): Promise<number> {
  const startMs = clock.monotonicMs();
  let isOver = false;
  const waiting = pacer.wait(new AbortController().signal).then(() => {
    isOver = true;
  });
  await clock.advance(0);
  while (!isOver) await clock.advance(50);
  await waiting;
  return clock.monotonicMs() - startMs;
}

test("Pacer waits longer after each failure, up to a bound, and not at all after a success", async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => 0);
  assert.equal(await waitOf(pacer, clock), 0);
  const waits: number[] = [];
  for (let i = 0; i < 6; i++) {
    pacer.failed(failure("DATASTORE_CONNECTION_REFUSED"));
    waits.push(await waitOf(pacer, clock));
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 10_000, 10_000]);
  pacer.succeeded();
  assert.equal(await waitOf(pacer, clock), 0);
  pacer.failed(failure("DATASTORE_FAILED"));
  assert.equal(await waitOf(pacer, clock), 1000);
});

test("Pacer waits a random part of it, so that not all come back at once", async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => 0.75);
  pacer.failed(failure("DATASTORE_CONNECTION_REFUSED"));
  assert.equal(await waitOf(pacer, clock), 250);
});

test("Pacer waits as long as the server asks for, within reason", async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => 1);
  pacer.failed(failure("DATASTORE_TOO_MANY_REQUESTS", { retryAfterMs: 5000 }));
  assert.equal(await waitOf(pacer, clock), 5000);
  pacer.failed(failure("DATASTORE_TOO_MANY_REQUESTS", { retryAfterMs: 3_600_000 }));
  assert.equal(await waitOf(pacer, clock), 60_000);
});

test("Pacer does not wait after an answer about the data", async () => {
  const clock = new ManualClock();
  const pacer = new Pacer(clock, () => 0);
  for (const code of ["DATASTORE_EXPIRED", "DATASTORE_NOT_FOUND"] as const) {
    pacer.failed(failure(code));
    assert.equal(await waitOf(pacer, clock), 0);
  }
});
