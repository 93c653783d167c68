import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rule } from "@bulrush/model";
import { parseSelector } from "@bulrush/selector";
import { namedPortSet, selectorSet, serviceSet } from "../sets/ip-set-spec.ts";
import { scanRule } from "./scan-rule.ts";
import { SpecCache } from "./spec-cache.ts";

const sel = (text: string): string => selectorSet(parseSelector(text)).id;
const named = (text: string, protocol: "tcp" | "udp" | "sctp" | "any", port: string): string =>
  namedPortSet(parseSelector(text), protocol, port).id;

const cases: readonly [string, Rule, Record<string, unknown>][] = [
  ["an empty rule", {}, { action: "allow", ip_version: "ANY" }],
  ["next-tier", { action: "next-tier" }, { action: "pass", ip_version: "ANY" }],
  ["an unknown action", { action: "open" as never }, { action: "deny", ip_version: "ANY" }],
  ["icmp", { protocol: "icmp", icmp_type: 0 }, { protocol: { name: "icmp" }, ip_version: 4, icmp: { type: 0 } }],
  [
    "icmpv6",
    { protocol: "icmpv6", icmp_type: 1, icmp_code: 0 },
    { protocol: { name: "icmpv6" }, ip_version: 6, icmp: { type: 1, code: 0 } },
  ],
  ["an explicit version", { ip_version: 6 }, { ip_version: 6 }],
  [
    "ports",
    { protocol: "tcp", dst_ports: [10, 11, "12:13", "123"] },
    {
      protocol: { name: "tcp" },
      dst_ports: [
        { first: 10, last: 10 },
        { first: 11, last: 11 },
        { first: 12, last: 13 },
        { first: 123, last: 123 },
      ],
    },
  ],
  ["a selector", { src_selector: "b=='b'" }, { src_ip_set_ids: [sel('b == "b"')] }],
  [
    "a selector and its negation",
    { src_selector: "a == 'b'", "!src_selector": "has(foo3)" },
    { src_ip_set_ids: ["s:K3HM8E1cp6rIuu-KqW_xSlJkQigfFJduE5WlBw"] },
  ],
  [
    "negations alone",
    { "!src_selector": "has(a)", "!dst_selector": "has(b)" },
    { not_src_ip_set_ids: [sel("has(a)")], not_dst_ip_set_ids: [sel("has(b)")] },
  ],
  [
    "a named port alone",
    { protocol: "tcp", dst_ports: ["web"] },
    { protocol: { name: "tcp" }, dst_named_port_ip_set_ids: [named("all()", "tcp", "web")] },
  ],
  [
    "a named port beside a selector: the selector's set is implied",
    { dst_selector: "has(a)", dst_ports: ["web"] },
    { dst_named_port_ip_set_ids: [named("has(a)", "any", "web")] },
  ],
  [
    "a named port beside both selectors",
    { dst_selector: "has(a)", "!dst_selector": "has(b)", dst_ports: ["web"] },
    { dst_named_port_ip_set_ids: [named("(has(a)) && (!has(b))", "any", "web")] },
  ],
  [
    "a named and a numeric port beside a selector",
    { protocol: "sctp", src_selector: "has(a)", src_ports: ["web", 80] },
    {
      protocol: { name: "sctp" },
      src_ip_set_ids: [sel("has(a)")],
      src_ports: [{ first: 80, last: 80 }],
      src_named_port_ip_set_ids: [named("has(a)", "sctp", "web")],
    },
  ],
  [
    "a negated named port without a selector",
    { protocol: "udp", "!dst_ports": ["web"] },
    { protocol: { name: "udp" }, not_dst_named_port_ip_set_ids: [named("all()", "udp", "web")] },
  ],
  [
    "a negated named port beside both selectors",
    { src_selector: "all()", "!src_selector": "foo == 'bar'", "!src_ports": ["web"] },
    {
      src_ip_set_ids: [sel("(all()) && (!(foo == 'bar'))")],
      not_src_named_port_ip_set_ids: [named("(all()) && (!(foo == 'bar'))", "any", "web")],
    },
  ],
  [
    "services",
    { src_selector: "has(a)", src_service: "s", src_service_ns: "n", dst_service: "t", dst_service_ns: "m" },
    {
      src_ip_set_ids: [sel("has(a)"), serviceSet("n/s", false).id],
      dst_ip_port_set_ids: [serviceSet("m/t", true).id],
      original_src_service: "s",
      original_src_service_namespace: "n",
      original_dst_service: "t",
      original_dst_service_namespace: "m",
    },
  ],
  [
    "nets, the single one last",
    { src_nets: ["10.0.0.0/8"], src_net: "11.0.0.0/8", "!dst_net": "12.0.0.0/8" },
    { src_net: ["10.0.0.0/8", "11.0.0.0/8"], not_dst_net: ["12.0.0.0/8"] },
  ],
  [
    "negated protocol and ICMP",
    { "!protocol": 6, "!icmp_type": 3, "!icmp_code": 1 },
    { not_protocol: { number: 6 }, not_icmp: { type: 3, code: 1 } },
  ],
  [
    "what was written by the author",
    {
      orig_src_selector: "a",
      orig_not_dst_selector: "b",
      orig_src_namespace_selector: "c",
      orig_src_service_acct_names: ["sa"],
      orig_dst_service_acct_selector: "d",
      http: { methods: ["GET"], paths: [{ exact: "/" }] },
      metadata: { annotations: new Map([["x", "y"]]) },
    },
    {
      original_src_selector: "a",
      original_not_dst_selector: "b",
      original_src_namespace_selector: "c",
      src_service_account_match: { selector: "", names: ["sa"] },
      dst_service_account_match: { selector: "d", names: [] },
      http_match: { methods: ["GET"], paths: [{ exact: "/" }] },
      metadata: { annotations: new Map([["x", "y"]]) },
    },
  ],
];

test("scanRule() makes the dataplane's rule of each form", () => {
  const cache = new SpecCache();
  for (const [what, rule, expected] of cases) {
    const scanned = scanRule(rule, cache);
    assert.deepEqual(scanned.rule, { action: "allow", ip_version: "ANY", ...expected }, what);
    const named = Object.entries(scanned.rule).flatMap(([field, value]) =>
      field.endsWith("_ids") ? (value as readonly string[]) : [],
    );
    assert.deepEqual(new Set(scanned.sets.map((set) => set.id)), new Set(named), what);
  }
});
