import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ruleIssues } from "./v1-rule.ts";

const SIDES = ["src", "dst"] as const;

describe("ruleIssues() accepts", () => {
  const rows: readonly unknown[] = [
    {},
    { action: "" },
    ...["allow", "deny", "log", "next-tier", "pass"].map((action) => ({ action })),
    { ip_version: 4 },
    { ip_version: 6 },
    ...[1, 255, "tcp", "udp", "icmp", "icmpv6", "sctp", "udplite"].flatMap((protocol) => [
      { protocol },
      { "!protocol": protocol },
    ]),
    { protocol: "icmp", icmp_type: 0, icmp_code: 0 },
    { protocol: "icmp", icmp_type: 254, icmp_code: 255 },
    { protocol: "icmp", "!icmp_type": 254, "!icmp_code": 255 },
    ...SIDES.flatMap((side) => [
      { [`${side}_net`]: "10.0.0.0/8" },
      { [`${side}_net`]: "" },
      { [`${side}_nets`]: ["10.0.0.0/8", "fd00::/8", "10.0.0.1"] },
      { [`!${side}_nets`]: ["0.0.0.0/0"] },
      { [`${side}_nets`]: [] },
      { [`${side}_selector`]: "a == 'b'" },
      { [`!${side}_selector`]: "" },
      { protocol: "tcp", [`${side}_ports`]: [1, 65535, "10:20", "7", "http"] },
      { protocol: 132, [`!${side}_ports`]: [80] },
      { [`${side}_ports`]: ["http"] },
      { [`${side}_service`]: "svc", [`${side}_service_ns`]: "ns" },
      { [`orig_${side}_selector`]: "has(a)", [`orig_${side}_service_acct_names`]: ["default"] },
    ]),
    { http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } },
    { metadata: { annotations: new Map([["a", "b"]]) } },
    { action: "allow", protocol: null, src_nets: null },
    { log_prefix: "x" },
  ];
  for (const rule of rows) it(JSON.stringify(rule), () => assert.deepEqual(ruleIssues(rule), []));
});

describe("ruleIssues() refuses, and says which fields cannot be trusted", () => {
  const rows: readonly (readonly [rule: unknown, path: string, ...fields: string[]])[] = [
    [null, ""],
    ["allow", ""],
    [{ action: "Allow" }, "action", "action"],
    [{ action: 1 }, "action", "action"],
    [{ ip_version: 5 }, "ip_version", "ip_version"],
    [{ protocol: 0 }, "protocol", "protocol"],
    [{ protocol: 256 }, "protocol", "protocol"],
    [{ protocol: "TCP" }, "protocol", "protocol"],
    [{ "!protocol": "x" }, "!protocol", "!protocol"],
    [{ icmp_type: 255 }, "icmp_type", "icmp_type"],
    [{ icmp_type: -1 }, "icmp_type", "icmp_type"],
    [{ icmp_type: 1, icmp_code: 256 }, "icmp_code", "icmp_code"],
    [{ icmp_code: 1 }, "icmp_code", "icmp_code"],
    [{ "!icmp_code": 1 }, "!icmp_code", "!icmp_code"],
    ...SIDES.flatMap((side): [unknown, string, ...string[]][] => [
      [{ [`${side}_net`]: "10.0.0.0/33" }, `${side}_net`, `${side}_net`],
      [{ [`${side}_nets`]: ["10.0.0.0/8", "10.2402.0.0/16"] }, `${side}_nets[1]`, `${side}_nets`],
      [{ [`${side}_nets`]: [""] }, `${side}_nets[0]`, `${side}_nets`],
      [{ [`${side}_nets`]: "10.0.0.0/8" }, `${side}_nets`, `${side}_nets`],
      [{ [`!${side}_nets`]: [7] }, `!${side}_nets[0]`, `!${side}_nets`],
      [{ [`${side}_selector`]: "a = b" }, `${side}_selector`, `${side}_selector`],
      [{ [`!${side}_selector`]: "(" }, `!${side}_selector`, `!${side}_selector`],
      [{ protocol: "tcp", [`${side}_ports`]: [0] }, `${side}_ports[0]`, `${side}_ports`],
      [{ protocol: "tcp", [`${side}_ports`]: [65536] }, `${side}_ports[0]`, `${side}_ports`],
      [{ protocol: "tcp", [`${side}_ports`]: ["20:10"] }, `${side}_ports[0]`, `${side}_ports`],
      [{ protocol: "tcp", [`${side}_ports`]: [1.5] }, `${side}_ports[0]`, `${side}_ports`],
      [{ protocol: "tcp", [`${side}_ports`]: ["Not_A_Name"] }, `${side}_ports[0]`, `${side}_ports`],
      [{ [`${side}_ports`]: [80] }, `${side}_ports`, `${side}_ports`, "protocol"],
      [{ [`${side}_ports`]: ["http", "80:90"] }, `${side}_ports`, `${side}_ports`, "protocol"],
      [{ protocol: "icmp", [`${side}_ports`]: ["http"] }, `${side}_ports`, `${side}_ports`, "protocol"],
      [{ protocol: 7, [`!${side}_ports`]: [80] }, `!${side}_ports`, `!${side}_ports`, "protocol"],
      [{ [`${side}_service`]: 1 }, `${side}_service`, `${side}_service`],
      [{ [`orig_${side}_selector`]: "(" }, `orig_${side}_selector`, `orig_${side}_selector`, `${side}_selector`],
      [
        { [`orig_${side}_namespace_selector`]: "(" },
        `orig_${side}_namespace_selector`,
        `orig_${side}_namespace_selector`,
        `${side}_selector`,
      ],
      [
        { [`orig_not_${side}_selector`]: "(" },
        `orig_not_${side}_selector`,
        `orig_not_${side}_selector`,
        `!${side}_selector`,
      ],
      [{ [`${side}_tag`]: "x" }, `${side}_tag`, `${side}_tag`],
    ]),
    [{ http: { methods: "GET" } }, "http", "http"],
    [{ http: { paths: [{ exact: "/a", prefix: "/b" }] } }, "http", "http"],
    [{ http: { hosts: [] } }, "http", "http"],
    [{ metadata: "x" }, "metadata", "metadata"],
    [{ domains: ["example.com"] }, "domains", "domains"],
  ];
  for (const [rule, path, ...fields] of rows) {
    it(JSON.stringify(rule), () => {
      const issues = ruleIssues(rule);
      assert.deepEqual(
        issues.map((issue) => [issue.path, ...issue.fields]),
        [[path, ...fields]],
      );
    });
  }
});
