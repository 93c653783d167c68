import assert from "node:assert/strict";
import { it } from "node:test";
import { ruleKey } from "@bulrush/nftables";
import type { DataplaneRule, RuleProtocol } from "@bulrush/proto";
import fc from "fast-check";
import { parseDataplaneConfig } from "../../config/parse-config.ts";
import { rule } from "../../testing/messages.ts";
import type { Family } from "../statements.ts";
import { renderRules, type RuleContext } from "./render-rule.ts";
import { ruleMatch } from "./rule-match.ts";

const { config } = parseDataplaneConfig(new Map([["LogActionRateLimit", "5/minute"]]));

function context(family: Family): RuleContext {
  const owner = { kind: "profile", name: "p" } as const;
  // A set of both parts for ids that begin with "two", of one for others.
  const sets = (id: string): { names: string[] } => ({ names: id.startsWith("two") ? [id, `${id}-net`] : [id] });
  return { layer: "filter", direction: "ingress", family, config, sets, owner };
}

const protocol: fc.Arbitrary<RuleProtocol> = fc.oneof(
  fc.constantFrom("tcp", "udp", "sctp", "icmp", "icmpv6", "udplite").map((name) => ({ name })),
  fc.oneof(fc.constantFrom(1, 6, 17, 58, 132, 136), fc.integer({ min: 1, max: 255 })).map((number) => ({ number })),
);
const icmp = fc.oneof(
  fc.record({ type: fc.integer({ min: 0, max: 254 }) }),
  fc.record({ type: fc.integer({ min: 0, max: 254 }), code: fc.integer({ min: 0, max: 255 }) }),
);
const port = fc.integer({ min: 1, max: 65_535 });
const ports = fc.array(
  fc.tuple(port, port).map(([a, b]) => ({ first: Math.min(a, b), last: Math.max(a, b) })),
  { minLength: 1, maxLength: 20 },
);
const nets = fc.subarray(["10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0", "fd00::/8", "fd00::1/128", "::/0"], {
  minLength: 1,
});
const ids = fc.subarray(["one", "two", "two-more"], { minLength: 1 });

const anyRule: fc.Arbitrary<DataplaneRule> = fc
  .record(
    {
      action: fc.constantFrom<DataplaneRule["action"][]>("allow", "deny", "pass", "log"),
      ip_version: fc.constantFrom<DataplaneRule["ip_version"][]>("ANY", "ANY", 4, 6),
      protocol,
      not_protocol: protocol,
      icmp,
      not_icmp: icmp,
      src_net: nets,
      dst_net: nets,
      not_src_net: nets,
      not_dst_net: nets,
      src_ports: ports,
      dst_ports: ports,
      not_src_ports: ports,
      not_dst_ports: ports,
      src_ip_set_ids: ids,
      dst_ip_set_ids: ids,
      not_src_ip_set_ids: ids,
      not_dst_ip_set_ids: ids,
      src_named_port_ip_set_ids: ids,
      dst_named_port_ip_set_ids: ids,
      not_src_named_port_ip_set_ids: ids,
      not_dst_named_port_ip_set_ids: ids,
      dst_ip_port_set_ids: ids,
    },
    { requiredKeys: ["action", "ip_version"] },
  )
  .map((fields) => rule(fields.action, fields));

it("renderRules() makes of any rule, in either family, what the kernel can be told", () => {
  fc.assert(
    fc.property(anyRule, fc.constantFrom<Family[]>(4, 6), (one, family) => {
      for (const rendered of renderRules([one], context(family)))
        assert.notEqual(ruleKey(rendered, family === 4 ? "ip" : "ip6"), "");
    }),
    { numRuns: 1000 },
  );
});

const NAMES = { name: "icmp" };
const icmpCases: readonly [what: string, fields: Partial<DataplaneRule>, family: Family, groups: number | undefined][] =
  [
    ["a type of the family's own protocol", { protocol: NAMES, icmp: { type: 8 } }, 4, 0],
    ["a type of the other family's protocol", { protocol: NAMES, icmp: { type: 8 } }, 6, undefined],
    ["a type of the other family's number", { protocol: { number: 58 }, icmp: { type: 128 } }, 4, undefined],
    ["a type of a protocol without types", { protocol: { name: "tcp" }, icmp: { type: 8 } }, 4, undefined],
    ["a type without a protocol", { icmp: { type: 8 } }, 4, 0],
    ["an excluded type of a protocol without types", { protocol: { name: "tcp" }, not_icmp: { type: 8 } }, 4, 0],
    ["an excluded type of the other family's number", { protocol: { number: 58 }, not_icmp: { type: 8 } }, 4, 0],
    ["an excluded type without a protocol", { not_icmp: { type: 8 } }, 6, 1],
    ["a type beside an excluded one", { icmp: { type: 8 }, not_icmp: { type: 8, code: 1 } }, 4, 0],
  ];
for (const [what, fields, family, groups] of icmpCases)
  it(`ruleMatch() of ${what}, IPv${family}: ${groups === undefined ? "no packet" : `${groups} alternatives`}`, () => {
    assert.equal(ruleMatch(rule("allow", fields), family, context(family).sets)?.groups.length, groups);
  });
