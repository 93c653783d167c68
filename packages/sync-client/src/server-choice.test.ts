import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "@bulrush/base";
import { SyncClientError } from "./errors.ts";
import { formatServerAddress, parseServerAddress, type ServerAddress } from "./server-address.ts";
import { ServerChoice } from "./server-choice.ts";

const [A, B, C, D] = ["a:1", "b:1", "c:1", "d:1"].map((text) => parseServerAddress(text)) as [
  ServerAddress,
  ServerAddress,
  ServerAddress,
  ServerAddress,
];
const LOST = new SyncClientError("SYNC_CLIENT_CLOSED", "lost");

function rejected(retryAfterMs: number, ...peers: readonly unknown[]): SyncClientError {
  return new SyncClientError("SYNC_CLIENT_REJECTED", "full", { data: { retryAfterMs, peers } });
}

function choiceOf(known: readonly ServerAddress[], clock = new ManualClock()): ServerChoice {
  const random = (): number => 0.5;
  return new ServerChoice({ clock, random, backoffInitialMs: 500, backoffMaxMs: 4000, known: () => known });
}

/** What is dialled next, in a word. */
function nextOf(choice: ServerChoice, ...except: readonly ServerAddress[]): string {
  const pick = choice.next(except);
  if (pick.type === "server") return formatServerAddress(pick.address);
  return pick.type === "wait" ? `wait ${pick.waitMs}` : "none";
}

test("ServerChoice tries the servers of a round soon one after the other, then ever more slowly", () => {
  const choice = choiceOf([A, B]);
  const delays: number[] = [];
  for (let i = 0; i < 8; i++) {
    const pick = choice.next();
    assert.equal(pick.type, "server");
    if (pick.type === "server") delays.push(choice.delayAfter(pick.address, LOST, false));
  }
  // Soon: 75 of 50 to 100 ms, while a server is untried and there were fewer than six failures. Else 500 ms, doubling, of
  // which a half is random.
  assert.deepEqual(delays, [75, 375, 75, 750, 75, 1500, 3000, 3000]);
});

test("ServerChoice begins anew after a stream that lived", () => {
  const choice = choiceOf([A]);
  choice.next();
  assert.equal(choice.delayAfter(A, LOST, false), 375);
  assert.equal(choice.delayAfter(A, LOST, false), 750);
  assert.equal(choice.delayAfter(A, LOST, true), 375);
});

test("ServerChoice leaves a server alone that asked for it, for ten minutes at most, and prefers those that it named", () => {
  const clock = new ManualClock();
  const choice = choiceOf([A, B, C], clock);
  choice.heed(A, rejected(5000, "d:1", "not an address", 7, "b:1"));
  assert.deepEqual([nextOf(choice), nextOf(choice), nextOf(choice)], ["d:1", "b:1", "c:1"]);
  assert.equal(nextOf(choice, B, C), "wait 5000");
  choice.heed(A, rejected(3_600_000));
  assert.equal(nextOf(choice, B, C), "wait 600000");
  assert.equal(nextOf(choice, A, B, C, D), "none");
});

test("ServerChoice makes nothing of errors that are not a server's words", () => {
  const choice = choiceOf([A]);
  choice.heed(A, new Error("refused"));
  assert.equal(nextOf(choice), "a:1");
  assert.equal(choice.delayWithoutServers(), 375);
});
