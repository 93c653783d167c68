import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToDataplane } from "@bulrush/proto";
import { renderRuleset } from "../render/render-ruleset.ts";
import { hostEndpoint, ipSet, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";
import { type Judgement, PacketJudge } from "./judge-packet.ts";
import type { JudgedPacket } from "./judged-packet.ts";

const P = policyId("np/default/p");
const TCP = { name: "tcp" } as const;
const OPEN = profile("open", [rule("allow")], [rule("allow")]);
const PACKET: JudgedPacket = {
  family: 4,
  inInterface: "eth0",
  outInterface: "calia",
  source: "10.65.9.9",
  destination: "10.65.0.2",
  protocol: 6,
  sourcePort: 40000,
  destinationPort: 80,
  status: 0,
};

/** What comes through the host to pod `a`, under a policy of these rules for what comes in. */
function judge(
  rules: readonly ReturnType<typeof rule>[],
  packet: Partial<JudgedPacket> = {},
  more: readonly ToDataplane[] = [],
  fields: Parameters<typeof workload>[1] = {},
): Judgement {
  const messages = [
    ...more,
    policy(P, rules),
    OPEN,
    workload("a", { profile_ids: ["open"], tiers: [tier("default", [P])], ...fields }),
  ];
  const family = packet.family ?? 4;
  const table = renderRuleset(messages).find((one) => one.family === (family === 4 ? "ip" : "ip6")) ?? assert.fail();
  return new PacketJudge(table).judge({ ...PACKET, ...packet }, [["filter-FORWARD"]]);
}

const ports = (...numbers: readonly number[]) => numbers.map((number) => ({ first: number, last: number }));

describe("PacketJudge", () => {
  it("lets what a rule allows through, and drops what none does", () => {
    const web = [rule("allow", { protocol: TCP, dst_ports: ports(80) })];
    assert.equal(judge(web), "accept");
    assert.equal(judge(web, { destinationPort: 81 }), "drop");
    assert.equal(judge(web, { protocol: 17 }), "drop");
  });

  it("asks several blocks of ports, ranges, and negated ports", () => {
    const many = [
      rule("allow", { protocol: TCP, dst_ports: ports(...Array.from({ length: 40 }, (_, i) => 1000 + 2 * i)) }),
    ];
    assert.equal(judge(many, { destinationPort: 1078 }), "accept");
    assert.equal(judge(many, { destinationPort: 1079 }), "drop");
    const range = [rule("allow", { protocol: TCP, dst_ports: [{ first: 70, last: 90 }], not_dst_ports: ports(80) })];
    assert.equal(judge(range, { destinationPort: 79 }), "accept");
    assert.equal(judge(range), "drop");
  });

  it("finds addresses and networks of sets, and what is in none", () => {
    const sets = [ipSet("s:x", "NET", "10.65.9.9/32", "172.16.0.0/12"), ipSet("s:y", "NET", "10.66.0.0/16")];
    const from = [rule("allow", { src_ip_set_ids: ["s:x"], not_src_ip_set_ids: ["s:y"] })];
    for (const [source, outcome] of [
      ["10.65.9.9", "accept"],
      ["172.31.255.1", "accept"],
      ["172.32.0.1", "drop"],
      ["10.66.3.3", "drop"],
    ] as const)
      assert.equal(judge(from, { source }, sets), outcome, source);
  });

  it("finds named ports by address, protocol and port", () => {
    const sets = [ipSet("n:web", "IP_AND_PORT", "10.65.0.2,tcp:80", "10.65.0.2,udp:53")];
    const named = [rule("allow", { dst_named_port_ip_set_ids: ["n:web"] })];
    assert.equal(judge(named, {}, sets), "accept");
    assert.equal(judge(named, { protocol: 17, destinationPort: 53 }, sets), "accept");
    assert.equal(judge(named, { protocol: 17 }, sets), "drop");
  });

  it("compares networks of both families", () => {
    const nets = [rule("allow", { src_net: ["10.65.0.0/16", "fd65::/64"] })];
    assert.equal(judge(nets), "accept");
    assert.equal(judge(nets, { source: "10.64.0.1" }), "drop");
    assert.equal(judge(nets, { family: 6, source: "fd65::9", destination: "fd65::2" }), "accept");
    assert.equal(judge(nets, { family: 6, source: "fd66::9", destination: "fd65::2" }), "drop");
  });

  it("follows deny, pass and the order of rules", () => {
    const deny = rule("deny", { protocol: TCP, dst_ports: ports(80) });
    assert.equal(judge([deny, rule("allow")]), "drop");
    assert.equal(judge([rule("allow"), deny]), "accept");
    assert.equal(judge([rule("pass")]), "accept", "the profile decides");
    assert.equal(judge([rule("pass")], {}, [], { profile_ids: [] }), "drop");
  });

  it("asks both ends where both are pods of the host, and closes an interface without endpoint", () => {
    const inside = { inInterface: "calia", outInterface: "calib" };
    const other = workload("b", { profile_ids: ["open"] });
    assert.equal(judge([], inside, [other]), "accept");
    assert.equal(judge([], { ...inside, outInterface: "calic" }, [other]), "drop");
    assert.equal(judge([rule("deny")], { ...inside, inInterface: "calib", outInterface: "calia" }, [other]), "drop");
  });

  it("does not guess: what it takes more to know of than the flow tells is unknown", () => {
    const icmp = [rule("allow", { protocol: { name: "icmp" }, icmp: { type: 8 } })];
    const ping = { protocol: 1, sourcePort: undefined, destinationPort: undefined };
    assert.equal(judge(icmp, ping), "unknown");
    assert.equal(judge([rule("allow", { protocol: { name: "icmp" } })], ping), "accept");
    assert.equal(judge([rule("allow", { protocol: TCP })], ping), "drop");
  });

  it("takes limits as not reached", () => {
    const qos = { qos_controls: { ingressMaxConnections: 1, ingressPacketRate: 1 } };
    assert.equal(judge([rule("allow")], {}, [], qos), "accept");
    assert.equal(judge([rule("deny")], {}, [], qos), "drop");
  });

  it("judges packets of the host by its endpoint's policy, with failsafe ports open", () => {
    const messages = [
      policy(policyId("gnp/q"), [rule("allow", { protocol: TCP, dst_ports: ports(7000) })], []),
      hostEndpoint("eth0", { name: "eth0", tiers: [tier("default", [policyId("gnp/q")], [policyId("gnp/q")])] }),
    ];
    const table = renderRuleset(messages)[0] ?? assert.fail();
    const input = (destinationPort: number): Judgement =>
      new PacketJudge(table).judge({ ...PACKET, outInterface: "", destinationPort }, [
        ["mangle-PREROUTING"],
        ["filter-INPUT"],
      ]);
    assert.deepEqual([input(7000), input(7001), input(22)], ["accept", "drop", "accept"]);
  });
});
