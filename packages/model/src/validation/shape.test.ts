import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boolean,
  integer,
  integerOrText,
  listOf,
  mapOf,
  number,
  object,
  oneOf,
  setOf,
  type Shape,
  text,
} from "../schema/shape.ts";
import { describeRows } from "./resource/describe-rows.ts";
import { made } from "./resource/made.ts";
import { IssueList } from "./issue.ts";
import { checkShape } from "./shape.ts";

const ROWS: readonly (readonly [what: string, shape: Shape, value: unknown, ...paths: string[]])[] = [
  ["text", text(), "x"],
  ["no text", text(), 5, "v"],
  ["null", text(), null],
  ["a word", oneOf(["a", "b"]), "b"],
  ["another word", oneOf(["a", "b"]), "A", "v"],
  ["text that is too long", text({ maxLength: 2 }), "abc", "v"],
  ["text that is too short", text({ minLength: 1 }), "", "v"],
  ["text of the form", text({ pattern: "^a+$" }), "aa"],
  ["text of another form", text({ pattern: "^a+$" }), "ab", "v"],
  ["a network", text({ formats: ["cidr"] }), "10.0.0.0/8"],
  ["an address for a network", text({ formats: ["cidr"] }), "10.0.0.1", "v"],
  ["one of two formats", text({ formats: ["cidr", "ipv6"] }), "::1"],
  ["neither of two formats", text({ formats: ["cidr", "ipv6"] }), "10.0.0.1", "v"],
  ["a time", text({ formats: ["date-time"] }), "2026-11-30T00:00:00Z"],
  ["no time", text({ formats: ["date-time"] }), "yesterday", "v"],
  ["the least", integer(1, 3), 1],
  ["less", integer(1, 3), 0, "v"],
  ["more", integer(undefined, 3), 4, "v"],
  ["a fraction", integer(), 1.5, "v"],
  ["a number", number(), 1.5],
  ["text for a number", number(), "1", "v"],
  ["true", boolean(), true],
  ["text for true", boolean(), "true", "v"],
  ["a number where text may stand", integerOrText({ pattern: "^[a-z]+$" }), 80],
  ["a number beyond the bounds, where text may stand", integerOrText({ min: 1, max: 9 }), 10, "v"],
  ["text where a number may stand", integerOrText({ pattern: "^[a-z]+$" }), "http"],
  ["text of another form where a number may stand", integerOrText({ pattern: "^[a-z]+$" }), "HTTP", "v"],
  ["a list", listOf(integer(1)), [1, 0, "x"], "v[1]", "v[2]"],
  ["an empty entry", listOf(integer()), [null], "v[0]"],
  ["an empty entry that may be", listOf(integer(0, 9, { nullable: true })), [null, 1]],
  ["too many entries", listOf(integer(), { maxItems: 1 }), [1, 2], "v"],
  ["a set", setOf(oneOf(["a", "b"])), ["a", "b", "a"], "v[2]"],
  ["no list", listOf(integer()), {}, "v"],
  ["a map", mapOf(integer()), { a: 1, b: "x" }, "v[b]"],
  ["no map", mapOf(integer()), [], "v"],
  [
    "an object",
    object({ a: integer(), b: text() }, { required: ["a"] }),
    { b: 1, c: "what is not known" },
    "v.a",
    "v.b",
  ],
  ["no object", object({}), "x", "v"],
];

for (const [what, shape, value, ...paths] of ROWS) {
  test(`checkShape() of ${what} ${paths.length === 0 ? "finds nothing" : `names ${paths.join(", ")}`}`, () => {
    const issues = new IssueList();
    checkShape(issues, "v", value, shape);
    assert.deepEqual(
      issues.issues.map(({ path }) => path),
      paths,
    );
  });
}

describeRows("kinds of which only the schema knows", [
  [made("BGPFilter", { exportV4: [{ action: "Accept", cidr: "10.0.0.0/8", matchOperator: "In" }] })],
  [made("BGPFilter", { importV6: [{ action: "Drop" }, {}] }), "spec.importV6[0].action", "spec.importV6[1].action"],
  [made("IPReservation", { reservedCIDRs: ["10.0.0.1", "10.1.0.0/16"] })],
  [made("IPReservation", { reservedCIDRs: ["ten"] }), "spec.reservedCIDRs[0]"],
  [made("KubeControllersConfiguration", { controllers: { node: { syncLabels: "Enabled" } } })],
  [made("KubeControllersConfiguration", { prometheusMetricsPort: 70_000 }), "spec.prometheusMetricsPort"],
  [made("IPAMHandle", { handleID: "h", block: { "10.0.0.0/26": 1 } })],
  [made("IPAMHandle", { handleID: "h" }), "spec.block"],
  [made("BlockAffinity", { state: "confirmed", node: "n", cidr: "10.0.0.0/26", deleted: false })],
  [made("BlockAffinity", { state: "confirmed", node: "n", cidr: "10.0.0.0/26", deleted: "true" })],
  [made("BlockAffinity", { state: "confirmed", node: "n", cidr: "10.0.0.0/26", deleted: "yes" }), "spec.deleted"],
  [made("BlockAffinity", { state: "perhaps", node: "n", cidr: "x" }), "spec.state", "spec.cidr"],
  [made("IPAMConfiguration", { strictAffinity: false, autoAllocateBlocks: true, maxBlocksPerHost: 20 })],
  [
    made("FelixConfiguration", { bpfEnabled: "yes", reportingInterval: 30 }),
    "spec.bpfEnabled",
    "spec.reportingInterval",
  ],
  [made("FelixConfiguration", { someNewField: {} })],
]);
