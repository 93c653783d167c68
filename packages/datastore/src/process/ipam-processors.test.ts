import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CALICO_CRD_V1, formatKey, plainValue } from "@bulrush/model";
import { type Processed, processSafely, type UpdateProcessor } from "./processor.ts";
import { blockAffinityProcessor, blockProcessor, cidrOfName } from "./raw-processor.ts";

type Kind = "IPAMBlock" | "BlockAffinity";

/** `spec` undefined: deleted. */
function run(on: UpdateProcessor, kind: Kind, name: string, spec: unknown): Processed {
  const value = spec === undefined ? undefined : { apiVersion: CALICO_CRD_V1, kind, metadata: { name }, spec };
  return processSafely(on, { item: { kind, namespace: "", name }, value, revision: "1" });
}

function sent(on: UpdateProcessor, kind: Kind, name: string, spec: unknown): unknown {
  return run(on, kind, name, spec).outputs.map(({ key, value }) => [formatKey(key), value && plainValue(value)]);
}

describe("cidrOfName() reads what a name can hold of a network", () => {
  const ROWS: readonly (readonly [name: string, cidr: string | undefined])[] = [
    ["10-0-0-0-26", "10.0.0.0/26"],
    ["fd00-10---122", "fd00:10::/122"],
    ["fd80-24e2-f998-72d6---122", "fd80:24e2:f998:72d6::/122"],
    ["10-0-0-0-33", undefined],
    ["node-1", undefined],
    ["", undefined],
  ];
  for (const [name, cidr] of ROWS) test(`${name} as ${cidr}`, () => assert.equal(cidrOfName(name), cidr));
});

const BLOCK = "/calico/ipam/v2/assignment/ipv4/block/10.0.0.0-26";
const SPEC = {
  cidr: "10.0.0.0/26",
  affinity: "host:n1",
  allocations: [0, null],
  unallocated: [1],
  attributes: [{ handle_id: "h", secondary: { node: "n1" } }],
  sequenceNumber: 7,
  deleted: false,
};

test("blockProcessor() sends the spec as it is, and takes it back by name", () => {
  const on = blockProcessor();
  assert.deepEqual(sent(on, "IPAMBlock", "10-0-0-0-26", SPEC), [[BLOCK, SPEC]]);
  assert.deepEqual(sent(on, "IPAMBlock", "10-0-0-0-26", undefined), [[BLOCK, undefined]]);
  assert.deepEqual(sent(blockProcessor(), "IPAMBlock", "10-0-0-0-26", undefined), [[BLOCK, undefined]]);
});

test("blockProcessor() goes by the network in the spec, whatever the name says", () => {
  const on = blockProcessor();
  assert.deepEqual(sent(on, "IPAMBlock", "odd", SPEC), [[BLOCK, SPEC]]);
  const moved = { ...SPEC, cidr: "10.0.1.0/26" };
  assert.deepEqual(sent(on, "IPAMBlock", "odd", moved), [
    [BLOCK, undefined],
    ["/calico/ipam/v2/assignment/ipv4/block/10.0.1.0-26", moved],
  ]);
});

test("blockProcessor() names a block that cannot be read, which then is none", () => {
  for (const [name, spec] of [
    ["10-0-0-0-26", "x"],
    ["10-0-0-0-26", { ...SPEC, allocations: [5] }],
    ["odd", { affinity: "host:n1" }],
  ] as const) {
    const on = blockProcessor();
    const { outputs, issues } = run(on, "IPAMBlock", name, spec);
    assert.ok(outputs.every(({ value }) => value === undefined));
    assert.ok(issues.some(({ severity }) => severity === "error"));
  }
});

const HOST = "/calico/ipam/v2/host/n1/ipv4/block/10.0.0.0-26";
const AFFINITY = { cidr: "10.0.0.0/26", node: "n1", state: "confirmed", deleted: "false" };

test("blockAffinityProcessor() sends the state, and takes it back by what it remembers of the name", () => {
  const on = blockAffinityProcessor();
  assert.deepEqual(sent(on, "BlockAffinity", "n1-10-0-0-0-26", AFFINITY), [[HOST, { state: "confirmed" }]]);
  assert.deepEqual(sent(on, "BlockAffinity", "n1-10-0-0-0-26", undefined), [[HOST, undefined]]);
  assert.deepEqual(sent(on, "BlockAffinity", "n1-10-0-0-0-26", undefined), []);
});

test("blockAffinityProcessor() knows the two ways to say deleted, and what belongs to no host", () => {
  for (const deleted of [true, "true"]) {
    const spec = { ...AFFINITY, state: "pendingDeletion", deleted };
    const want = [[HOST, { state: "pendingDeletion", deleted: true }]];
    assert.deepEqual(sent(blockAffinityProcessor(), "BlockAffinity", "a", spec), want);
  }
  assert.deepEqual(sent(blockAffinityProcessor(), "BlockAffinity", "a", { ...AFFINITY, type: "virtual", node: "lb" }), [
    ["/calico/ipam/v2/virtual/lb/ipv4/block/10.0.0.0-26", { state: "confirmed" }],
  ]);
});

test("blockAffinityProcessor() of one host leaves out those of others, also where a watch brings them", () => {
  const on = blockAffinityProcessor("n1");
  assert.deepEqual(sent(on, "BlockAffinity", "b", { ...AFFINITY, node: "n2" }), []);
  assert.deepEqual(run(on, "BlockAffinity", "b", { ...AFFINITY, node: "n2" }).issues, []);
  assert.deepEqual(sent(on, "BlockAffinity", "b", AFFINITY), [[HOST, { state: "confirmed" }]]);
  assert.deepEqual(sent(on, "BlockAffinity", "b", { ...AFFINITY, node: "n2" }), [[HOST, undefined]]);
});

test("blockAffinityProcessor() names what cannot be read", () => {
  const { outputs, issues } = run(blockAffinityProcessor(), "BlockAffinity", "a", { ...AFFINITY, cidr: "ten" });
  assert.deepEqual([outputs, issues.map(({ field }) => field)], [[], ["spec"]]);
});
