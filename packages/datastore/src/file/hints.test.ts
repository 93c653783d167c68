import assert from "node:assert/strict";
import { test } from "node:test";
import { Hints } from "./hints.ts";

test("Hints know nothing at first, and then what they are told", () => {
  const hints = new Hints();
  assert.equal(hints.take(), undefined);
  assert.deepEqual(hints.take(), new Set());
  assert.equal(hints.add("/d/a.yaml"), true);
  assert.equal(hints.add("/d/a.yaml"), true);
  assert.equal(hints.add("/d/x"), true);
  assert.deepEqual(hints.take(), new Set(["/d/a.yaml", "/d/x"]));
  assert.deepEqual(hints.take(), new Set());
});

test("Hints leave out what a writer does beside its files", () => {
  const hints = new Hints();
  hints.take();
  for (const name of [".bulrush.lock", ".bulrush-0a1b.tmp", ".bulrush-lock-0a1b.tmp"])
    assert.equal(hints.add(`/d/${name}`), false);
  assert.deepEqual(hints.take(), new Set());
});

const BLIND: readonly (readonly [title: string, paths: readonly (string | undefined)[]])[] = [
  ["a change of something unnamed", [undefined]],
  ["the swap of a mounted directory", ["/d/..data"]],
  ["more than can be looked at", Array.from({ length: 1001 }, (_, i) => `/d/${i}.yaml`)],
];
for (const [title, paths] of BLIND) {
  test(`Hints ask for a whole look after ${title}`, () => {
    const hints = new Hints();
    hints.take();
    for (const path of paths) assert.equal(hints.add(path), true);
    hints.add("/d/a.yaml");
    assert.equal(hints.take(), undefined);
  });
}
