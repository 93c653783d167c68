import assert from "node:assert/strict";
import { it } from "node:test";
import type { PortRange } from "@bulrush/proto";
import fc from "fast-check";
import { mergePorts, portBlocks } from "./port-match.ts";

const ranges = fc.array(
  fc
    .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }))
    .map(([first, length]): PortRange => ({ first, last: first + length })),
  { maxLength: 40 },
);

const covers = (list: readonly PortRange[], port: number): boolean =>
  list.some(({ first, last }) => first <= port && port <= last);

it("mergePorts() covers the same ports, ascending and without overlaps", () => {
  fc.assert(
    fc.property(ranges, (list) => {
      const merged = mergePorts(list);
      for (let port = 0; port <= 90; port++) assert.equal(covers(merged, port), covers(list, port));
      for (const [i, { first }] of merged.entries()) {
        const before = merged[i - 1];
        assert.ok(before === undefined || before.last < first);
      }
    }),
  );
});

it("portBlocks() keeps all ports in order, with 15 slots a block at most; a range takes two", () => {
  fc.assert(
    fc.property(ranges, (list) => {
      const blocks = portBlocks(list);
      assert.deepEqual(blocks.flat(), list);
      for (const block of blocks) {
        const slots = block.reduce((sum, { first, last }) => sum + (first === last ? 1 : 2), 0);
        assert.ok(slots <= 15);
      }
    }),
  );
});

it("portBlocks() fills a block before it starts the next", () => {
  const single = (count: number): PortRange[] =>
    Array.from({ length: count }, (_, i) => ({ first: i * 2, last: i * 2 }));
  assert.deepEqual(portBlocks(single(15)).length, 1);
  assert.deepEqual(portBlocks(single(16)).length, 2);
  assert.deepEqual(portBlocks([]).length, 0);
});
