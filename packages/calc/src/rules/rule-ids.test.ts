import assert from "node:assert/strict";
import { test } from "node:test";
import type { DataplaneRule } from "@bulrush/proto";
import { encodeRule } from "./encode-rule.ts";
import { ProtobufWriter } from "./protobuf-writer.ts";
import { identifyRules, policySeed } from "./rule-ids.ts";

type Unidentified = Omit<DataplaneRule, "rule_id">;

const seed = policySeed("in", "default", { kind: "GlobalNetworkPolicy", namespace: "", name: "pol-1" });

test("identifyRules() makes the known ids", () => {
  const empty = { action: "", ip_version: "ANY" } as unknown as Unidentified;
  const ids = (rules: readonly Unidentified[]): string[] => identifyRules(seed, rules).map((rule) => rule.rule_id);
  assert.deepEqual(ids([empty, empty]), ["JR-bt3cp1nq1VnqZ", "GFlmljySoGDK3mA9"]);
  assert.deepEqual(ids([{ action: "allow", ip_version: "ANY" }]), ["EU-9xcjcFZGlPaGw"]);
});

test("policySeed() differs for policies of one name", () => {
  const ids = [
    { kind: "GlobalNetworkPolicy", namespace: "", name: "x" },
    { kind: "StagedGlobalNetworkPolicy", namespace: "", name: "x" },
    { kind: "NetworkPolicy", namespace: "a", name: "x" },
    { kind: "NetworkPolicy", namespace: "b", name: "x" },
    { kind: "KubernetesNetworkPolicy", namespace: "a", name: "x" },
  ] as const;
  const seeds = ids.flatMap((id) => [policySeed("in", "t", id), policySeed("out", "t", id)]);
  assert.equal(new Set(seeds).size, seeds.length);
});

test("encodeRule() writes fields by number, in order, nested and long ones too", () => {
  const out = new ProtobufWriter();
  encodeRule(
    {
      action: "deny",
      ip_version: 6,
      protocol: { name: "tcp" },
      src_net: ["10.0.0.0/8"],
      dst_ports: [{ first: 80, last: 300 }],
      icmp: { type: 0 },
      not_icmp: { type: 3, code: 1 },
      dst_ip_port_set_ids: ["x".repeat(130)],
      http_match: { methods: ["GET"], paths: [{ prefix: "/a" }] },
      metadata: { annotations: new Map([["k", "v"]]) },
    },
    out,
  );
  const text = (hex: string): string => hex.replaceAll(" ", "");
  const ascii = (value: string): string => Buffer.from(value).toString("hex");
  assert.equal(
    Buffer.from(out.bytes()).toString("hex"),
    text(
      [
        `0a 04 ${ascii("deny")}`,
        "10 06",
        `1a 05 12 03 ${ascii("tcp")}`,
        `22 0a ${ascii("10.0.0.0/8")}`,
        "3a 05 08 50 10 ac02",
        "40 00",
        `7a 8201 ${"78".repeat(130)}`,
        "e206 04 08 03 10 01",
        `d207 0b 0a 03 ${ascii("GET")} 12 04 12 02 ${ascii("/a")}`,
        `da07 08 0a 06 0a 01 ${ascii("k")} 12 01 ${ascii("v")}`,
      ].join(""),
    ),
  );
});
