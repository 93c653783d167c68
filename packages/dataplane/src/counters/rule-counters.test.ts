import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CountedRule } from "@bulrush/nftables";
import { busiest, readRuleCounters, type RuleCounter } from "./rule-counters.ts";

const count = (packets: number): Pick<CountedRule, "counter"> => ({
  counter: { packets: BigInt(packets), bytes: BigInt(packets * 100) },
});

/** As an endpoint under one policy of a tier has it. */
const ENDPOINT: readonly CountedRule[] = [
  { chain: "filter-cali-tw-calia", ...count(50) },
  { chain: "filter-cali-tw-calia", comment: "Start of tier security" },
  { chain: "filter-cali-tw-calia", target: "filter-cali-pi-np/red/web" },
  { chain: "filter-cali-tw-calia" },
  { chain: "filter-cali-tw-calia", comment: "End of tier security", ...count(7) },
  { chain: "filter-cali-tw-calia", target: "filter-cali-pri-open" },
  { chain: "filter-cali-tw-calia", comment: "Drop if no profiles matched", ...count(1) },
  { chain: "filter-cali-pi-np/red/web", comment: "rule 0", ...count(3) },
  { chain: "filter-cali-pi-np/red/web", comment: "rule 1", ...count(4) },
  { chain: "filter-cali-pri-open", comment: "rule 0", ...count(5) },
  { chain: "filter-cali-tr-calia", comment: "Packet rate limit", ...count(6) },
  { chain: "filter-cali-tl-calia", comment: "Connection limit", ...count(8) },
  { chain: "filter-cali-fr-calia", comment: "Packet rate limit", ...count(2) },
  { chain: "filter-cali-INPUT", comment: "Something else", ...count(9) },
];

const brief = ({ direction, packets, policy, rule, tier }: RuleCounter): string =>
  `${tier}|${policy}|${direction}|${rule}|${packets}`;

describe("readRuleCounters()", () => {
  it("tells tier, policy, direction and rule of every counter of a policy, profile or endpoint", () => {
    const counters = readRuleCounters({ rules: (family) => (family === "ip" ? [...ENDPOINT] : []) });
    assert.deepEqual(counters.map(brief), [
      "||egress|Packet rate limit|2",
      "||ingress|Connection limit|8",
      "||ingress|Drop if no profiles matched|1",
      "||ingress|Packet rate limit|6",
      "|profile open|ingress|rule 0|5",
      "security||ingress|End of tier security|7",
      "security|np/red/web|ingress|rule 0|3",
      "security|np/red/web|ingress|rule 1|4",
    ]);
  });

  it("finds the tier of a policy that stands in a group", () => {
    const rules: readonly CountedRule[] = [
      { chain: "filter-cali-gi-hash", target: "filter-cali-pi-gnp/a" },
      { chain: "filter-cali-gi-hash", target: "filter-cali-pi-gnp/b" },
      { chain: "filter-cali-pi-gnp/b", comment: "rule 0", ...count(3) },
      { chain: "filter-cali-tw-calia", comment: "Start of tier security" },
      { chain: "filter-cali-tw-calia", target: "filter-cali-gi-hash" },
    ];
    const counters = readRuleCounters({ rules: (family) => (family === "ip" ? [...rules] : []) });
    assert.deepEqual(counters.map(brief), ["security|gnp/b|ingress|rule 0|3"]);
  });

  it("adds up both families, and all hooks and endpoints", () => {
    const more: readonly CountedRule[] = [
      { chain: "mangle-cali-pi-np/red/web", comment: "rule 0", ...count(10) },
      { chain: "mangle-cali-fh-eth0", comment: "Start of tier security" },
      { chain: "mangle-cali-fh-eth0", target: "mangle-cali-pi-np/red/web" },
    ];
    const counters = readRuleCounters({
      rules: (family) => (family === "ip" ? [...ENDPOINT] : [...ENDPOINT, ...more]),
    });
    const rule = counters.find(({ policy, rule: name }) => policy === "np/red/web" && name === "rule 0");
    assert.deepEqual([rule?.packets, rule?.bytes, rule?.tier], [16n, 1600n, "security"]);
  });
});

describe("busiest()", () => {
  const counters = Array.from({ length: 10 }, (_, i): RuleCounter => {
    const direction = i % 2 === 0 ? "ingress" : "egress";
    return { tier: "t", policy: `p${i}`, direction, rule: "rule 0", packets: BigInt(i), bytes: BigInt(i * 10) };
  });

  it("keeps all that fit", () => assert.deepEqual(busiest(counters, 10), counters));

  it("keeps the busiest, and adds up the rest by direction", () => {
    assert.deepEqual(busiest(counters, 4).map(brief), [
      "t|p9|egress|rule 0|9",
      "t|p8|ingress|rule 0|8",
      "|(others)|ingress||12",
      "|(others)|egress||16",
    ]);
  });
});
