import assert from "node:assert/strict";
import { test } from "node:test";
import { Judge, type ToldUpdate } from "./judge.ts";

type Told = readonly [type: ToldUpdate["type"], path: string, mark?: number];

/** A judge whose one syncer is in sync; `told` in short. */
function judging(): { readonly judge: Judge; readonly tell: (...updates: Told[]) => void } {
  const judge = new Judge(["s"]);
  judge.takeStatus(0, "wait-for-ready");
  judge.takeStatus(0, "resync");
  judge.takeStatus(0, "in-sync");
  const tell = (...updates: Told[]): void => {
    for (const [type, path, mark] of updates)
      judge.takeUpdate(0, { type, path, mark, hash: type === "deleted" ? undefined : `hash of ${mark ?? "nothing"}` });
  };
  return { judge, tell };
}

/** Writes of the key "a" in order, what is told of it then, and what is wrong with that. */
const ROWS: readonly [title: string, writes: readonly (number | "gone")[], told: readonly Told[], fault?: RegExp][] = [
  [
    "every step",
    [1, 2, "gone", 3],
    [
      ["new", "a", 1],
      ["updated", "a", 2],
      ["deleted", "a"],
      ["new", "a", 3],
    ],
  ],
  [
    "steps left out",
    [1, 2, "gone", 3, 4],
    [
      ["new", "a", 1],
      ["updated", "a", 4],
    ],
  ],
  [
    "a delete and what came after it left out",
    [1, "gone", 2, "gone"],
    [
      ["new", "a", 1],
      ["deleted", "a"],
    ],
  ],
  [
    "the same again",
    [1],
    [
      ["new", "a", 1],
      ["updated", "a", 1],
    ],
  ],
  [
    "values without marks",
    [1, "gone", 2],
    [
      ["new", "a"],
      ["deleted", "a"],
      ["new", "a"],
      ["updated", "a"],
    ],
  ],
  [
    "a spurious delete",
    [1, 2],
    [
      ["new", "a", 1],
      ["deleted", "a"],
    ],
    /deleted a, which was there/,
  ],
  [
    "a delete of what came back",
    [1, "gone", 2],
    [
      ["new", "a", 2],
      ["deleted", "a"],
    ],
    /deleted a, which was there/,
  ],
  [
    "a second delete for one",
    [1, "gone", 2],
    [
      ["new", "a", 1],
      ["deleted", "a"],
      ["new", "a", 2],
      ["deleted", "a"],
    ],
    /deleted a, which was there/,
  ],
  [
    "a spurious delete of a value without a mark",
    [1],
    [
      ["new", "a"],
      ["deleted", "a"],
    ],
    /deleted a, which was there/,
  ],
  [
    "an old state after a newer one",
    [1, 2],
    [
      ["new", "a", 2],
      ["updated", "a", 1],
    ],
    /went back in time: a 1/,
  ],
  [
    "a state from before a delete",
    [1, "gone", 2],
    [
      ["new", "a", 1],
      ["deleted", "a"],
      ["new", "a", 1],
    ],
    /back in time/,
  ],
  ["what nobody wrote", [1], [["new", "a", 7]], /what nobody wrote: a 7/],
  ["a delete of what was never told", [1, "gone"], [["deleted", "a"]], /of which it had told nothing/],
  ["a wrong type", [1], [["updated", "a", 1]], /told a as updated, which is new/],
  [
    "a spurious delete of what the server has of itself",
    [],
    [
      ["new", "b", 0],
      ["deleted", "b"],
    ],
    /b, which was there/,
  ],
];
for (const [title, writes, told, fault] of ROWS) {
  test(`Judge ${fault === undefined ? "lets pass" : "finds"} ${title}`, () => {
    const { judge, tell } = judging();
    for (const step of writes) {
      if (step === "gone") judge.willGo(["a"]);
      else judge.willBe(["a"], step);
    }
    tell(...told);
    if (fault === undefined) assert.deepEqual(judge.faults, []);
    else assert.match(judge.faults.join("\n"), fault);
  });
}

test("Judge lets a delete pass only from the moment at which it is begun", () => {
  const { judge, tell } = judging();
  judge.willBe(["a"], 1);
  tell(["new", "a", 1]);
  judge.willGo(["a"]);
  tell(["deleted", "a"]);
  assert.deepEqual(judge.faults, []);
});

test("Judge.differences() names a lost update, a lost delete and a lost key", () => {
  const { judge, tell } = judging();
  judge.willBe(["a", "b", "c", "d"], 1);
  tell(["new", "a", 1], ["new", "b", 1], ["new", "d", 1]);
  const wanted = new Map([
    ["a", "hash of 1"],
    ["b", "hash of 2"],
    ["c", "hash of 1"],
  ]);
  assert.deepEqual(judge.differences(0, wanted), ["not the newest: b", "missing: c", "left over: d"]);
});

test("Judge finds updates while a syncer waits, and statuses that are none", () => {
  const judge = new Judge(["s"]);
  judge.takeStatus(0, "wait-for-ready");
  judge.takeUpdate(0, { type: "new", path: "b", hash: "h", mark: undefined });
  judge.takeStatus(0, "wait-for-ready");
  const other = new Judge(["t"]);
  other.takeStatus(0, "in-sync");
  assert.deepEqual(
    [...judge.faults, ...other.faults],
    ["s told b while its status was wait-for-ready", "s told the status wait-for-ready twice", "t began with in-sync"],
  );
});
