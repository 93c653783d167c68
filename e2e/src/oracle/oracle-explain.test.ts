import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources } from "@bulrush/datastore";
import { Judge } from "../lab/judge.ts";
import { cellsOf, loadOracleCases, type OracleCell } from "./case.ts";
import { OracleWorld } from "./world.ts";

function wrongCells(judge: Judge, cells: readonly OracleCell[]): string[] {
  return cells.flatMap((cell) => {
    const { from, to, protocol, port } = cell;
    const answer = judge.explain({ source: { workload: from }, destination: { workload: to }, protocol, port });
    if ((answer.verdict === "allow") === cell.connects) return [];
    const why = [answer.egress?.why, answer.ingress?.why].join(" / ");
    return [
      `${from} -> ${to} ${protocol}/${port}: ${cell.connects ? "connects" : "does not"}, explained ${answer.verdict} (${why})`,
    ];
  });
}

/**
 * Every step is reached three times: by increments on one graph, by increments in reversed order on another, and at once
 * on a new one.
 */
for (const [number, { description, steps }] of loadOracleCases().entries()) {
  test(`oracle case ${number}: ${description}`, () => {
    const world = new OracleWorld();
    const incremental = new Judge();
    const reversed = new Judge();
    for (const [i, step] of steps.entries()) {
      for (const action of step.actions) world.apply(action);
      const { updates, problems } = convertResources(world.resources());
      assert.deepEqual(problems, []);
      incremental.update(updates);
      reversed.update(updates.toReversed());
      const fresh = new Judge();
      fresh.update(updates);
      const cells = cellsOf(step);
      assert.ok(cells.length > 0);
      assert.deepEqual(wrongCells(incremental, cells), [], `step ${i}, by increments`);
      assert.deepEqual(wrongCells(reversed, cells), [], `step ${i}, in reversed order`);
      assert.deepEqual(wrongCells(fresh, cells), [], `step ${i}, at once`);
    }
  });
}

test("the oracle has 230 cases, with both verdicts and every protocol", () => {
  const cases = loadOracleCases();
  assert.equal(cases.length, 230);
  const cells = cases.flatMap(({ steps }) => steps.flatMap(cellsOf));
  for (const protocol of ["TCP", "UDP", "SCTP"])
    for (const connects of [true, false])
      assert.ok(cells.some((cell) => cell.protocol === protocol && cell.connects === connects));
});
