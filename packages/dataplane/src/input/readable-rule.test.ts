import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DataplaneRule } from "@bulrush/proto";
import { rule } from "../testing/messages.ts";
import { readableRules } from "./readable-rule.ts";

type Fields = Partial<Omit<DataplaneRule, "action">>;

const GOOD: Fields = {
  protocol: { name: "TCP" },
  src_net: ["10.0.0.0/8", "fd00::/8"],
  not_dst_net: ["10.1.0.0/16"],
  dst_ports: [{ first: 0, last: 65_535 }],
  src_ip_set_ids: ["s:a"],
};

const UNREADABLE: readonly (readonly [field: keyof Fields, fields: Fields])[] = [
  ["src_net", { src_net: ["10.0.0.0/8", "nonsense"] }],
  ["dst_net", { dst_net: ["10.0.0.0/33"] }],
  ["not_src_net", { not_src_net: [""] }],
  ["not_dst_net", { not_dst_net: ["10.1.0.0/16", "fd00::/129"] }],
  ["src_ports", { src_ports: [{ first: 1, last: 65_536 }] }],
  [
    "dst_ports",
    {
      dst_ports: [
        { first: 80, last: 80 },
        { first: 9, last: 8 },
      ],
    },
  ],
  ["not_src_ports", { not_src_ports: [{ first: 0.5, last: 1 }] }],
  ["not_dst_ports", { not_dst_ports: [{ first: NaN, last: NaN }] }],
  ["protocol", { protocol: { name: "tpc" } }],
  ["protocol", { protocol: { number: 256 } }],
  ["not_protocol", { not_protocol: { number: -1 } }],
  ["icmp", { icmp: { type: 256 } }],
  ["not_icmp", { not_icmp: { type: 8, code: 1e308 } }],
  ["ip_version", { ip_version: 5 as never }],
];

const NO_PACKET = { ip_version: 4, src_net: ["::/128"], rule_id: "0000000000000000" };

describe("readableRules()", () => {
  const read = (...rules: readonly DataplaneRule[]): { rules: readonly DataplaneRule[]; told: string[] } => {
    const told: string[] = [];
    return { rules: readableRules(rules, (what) => told.push(what)), told };
  };

  it("gives back the same list, where all can be read", () => {
    const rules = (["allow", "deny", "log", "pass"] as const).map((action) => rule(action, GOOD));
    assert.equal(readableRules(rules, assert.fail), rules);
  });

  for (const [field, fields] of UNREADABLE) {
    const what = `${field} ${JSON.stringify(fields[field])}`;
    for (const action of ["allow", "log"] as const)
      it(`makes a rule that is to ${action} match nothing for its ${what}`, () => {
        const { rules, told } = read(rule("deny"), rule(action, { ...GOOD, ...fields }));
        assert.deepEqual(rules, [rule("deny"), { action, ...NO_PACKET }]);
        assert.deepEqual(told, [`${field} of rule 1`]);
      });
    for (const action of ["deny", "pass"] as const)
      it(`has a rule that is to ${action} deny all that is left without its ${what}`, () => {
        const { rules } = read(rule(action, { ...GOOD, ...fields }));
        const { [field]: _, ...left } = GOOD;
        assert.deepEqual(rules, [rule("deny", left)]);
      });
  }

  it("has a rule of an action that nobody knows deny what it matches", () => {
    const { rules, told } = read(rule("Allow" as never, GOOD));
    assert.deepEqual([rules, told], [[rule("deny", GOOD)], ["action of rule 0"]]);
  });
});
