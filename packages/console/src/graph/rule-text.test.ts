import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rule } from "@bulrush/model";
import { ruleText } from "./rule-text.ts";

const ROWS: readonly (readonly [Rule, string])[] = [
  [{}, "allow"],
  [{ action: "next-tier" }, "pass"],
  [
    { action: "deny", ip_version: 6, protocol: "tcp", dst_ports: [80, "8000:8080"] },
    "deny IPv6 tcp to ports 80, 8000:8080",
  ],
  [
    { action: "allow", src_selector: "app == 'web'", "!src_nets": ["10.0.0.0/8"], dst_ports: ["http"] },
    "allow from app == 'web' and not 10.0.0.0/8 to port http",
  ],
  [{ action: "log", protocol: "icmp", icmp_type: 8, icmp_code: 0 }, "log icmp type 8 code 0"],
  [{ action: "allow", "!protocol": 17, dst_service: "db", dst_service_ns: "shop" }, "allow not 17 to service shop/db"],
  [
    { action: "allow", src_net: "10.0.0.0/8", src_nets: ["::/0"], "!dst_selector": "has(a)" },
    "allow from 10.0.0.0/8, ::/0 to not (has(a))",
  ],
  [{ http: { methods: ["GET"], paths: [{ exact: "/a" }, { prefix: "/b" }] } }, "allow GET path /a path /b*"],
];

test("ruleText() says every condition of a rule", () => {
  for (const [rule, text] of ROWS) assert.equal(ruleText(rule), text);
});
