import assert from "node:assert/strict";
import { test } from "node:test";
import { formatAddress, parseAddress } from "@bulrush/ip";
import {
  addressAt,
  emptyBlock,
  nextSequence,
  ordinalOf,
  readBlock,
  withOwner,
  withoutOwner,
  withRested,
} from "./block.ts";

const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
const A = { handle: "a", attributes: { node: "n1" } };

test("a new block is free, and counts from the time in nanoseconds", () => {
  assert.deepEqual(emptyBlock("10.0.0.0/30", "n1", 5), {
    cidr: "10.0.0.0/30",
    affinity: "host:n1",
    allocations: [null, null, null, null],
    unallocated: [0, 1, 2, 3],
    attributes: [],
    sequenceNumber: 5_000_000,
    sequenceNumberForAllocation: {},
    deleted: false,
  });
});

test("an assignment notes its sequence number, and its end takes it away and puts the place last", () => {
  const taken = withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, A);
  assert.deepEqual(taken, {
    ...emptyBlock("10.0.0.0/30", "n1", 0),
    allocations: [0, null, null, null],
    unallocated: [1, 2, 3],
    attributes: [{ handle_id: "a", secondary: { node: "n1" } }],
    sequenceNumber: 1,
    sequenceNumberForAllocation: { "0": 1 },
  });
  assert.deepEqual(withoutOwner(taken, [0], 0, 0), {
    ...emptyBlock("10.0.0.0/30", "n1", 0),
    unallocated: [1, 2, 3, 0],
    sequenceNumber: 2,
  });
});

test("a new owner in a place leaves the attributes of others with theirs", () => {
  const two = withOwner(withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, A), 1, { ...A, handle: "b" });
  const { allocations, attributes } = withOwner(two, 0, { ...A, handle: "c" });
  assert.deepEqual(
    allocations.map((index) => (index === null ? null : attributes[index]?.handle_id)),
    ["c", "b", null, null],
  );
  assert.equal(attributes.length, 2);
});

test("a released address rests as long as it is told to", () => {
  const resting = withoutOwner(withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, A), [0], 60, NOW_MS);
  assert.deepEqual(resting.attributes, [{ releasedAt: "2026-01-01T00:00:00.000Z" }]);
  assert.deepEqual(resting.unallocated, [1, 2, 3]);
  assert.equal(withRested(resting, 60, NOW_MS + 59_999), resting);
  const rested = withRested(resting, 60, NOW_MS + 60_000);
  assert.deepEqual([rested.allocations[0], rested.unallocated, rested.attributes], [null, [1, 2, 3, 0], []]);
});

test("nextSequence() can be told apart from every number that reads the same", () => {
  assert.equal(nextSequence(7), 8);
  // 2^60 < the nanoseconds of this time < 2^61: numbers are 256 apart.
  const now = 1_767_225_600_000_000_000;
  assert.equal(nextSequence(now) - now, 256);
  assert.ok(BigInt(nextSequence(Number(1_767_225_600_000_000_127n))) > 1_767_225_600_000_000_127n);
});

test("readBlock() takes no block that contradicts itself", () => {
  const block = withOwner(emptyBlock("10.0.0.0/30", "n1", 0), 0, A);
  assert.notEqual(readBlock(block), undefined);
  for (const bad of [
    undefined,
    { ...block, deleted: true },
    { ...block, cidr: "x" },
    { ...block, allocations: [0] },
    { ...block, allocations: [1, null, null, null] },
    { ...block, unallocated: [0, 1, 2, 3] },
    { ...block, attributes: null },
  ])
    assert.equal(readBlock(bad), undefined);
});

for (const [cidr, address, ordinal] of [
  ["10.0.0.192/26", "10.0.0.255", 63],
  ["fd00::ff:ffc0/122", "fd00::ff:ffff", 63],
  ["255.255.255.0/24", "255.255.255.255", 255],
] as const) {
  test(`${address} is number ${ordinal} of ${cidr}`, () => {
    const read = readBlock(emptyBlock(cidr, "n1", 0));
    const parsed = parseAddress(address);
    assert.ok(read && parsed);
    assert.equal(ordinalOf(read, parsed), ordinal);
    assert.equal(formatAddress(addressAt(read, ordinal)), address);
  });
}
