import assert from "node:assert/strict";
import { test } from "node:test";
import type { DataplaneRule } from "@bulrush/proto";
import type { JudgedPacket } from "../recheck/judged-packet.ts";
import { PacketJudge } from "../recheck/judge-packet.ts";
import { renderRuleset } from "../render/render-ruleset.ts";
import { ipSet, policy, policyId, rule, tier, workload } from "../testing/messages.ts";

const P = policyId("np/default/p");
const POD = "10.65.0.2";
const PEER = "10.65.9.9";
const PROTOCOLS = { tcp: 6, udp: 17, sctp: 132 } as const;
type Protocol = keyof typeof PROTOCOLS;
/** The named port is at both ends' addresses, for TCP 5000 and UDP 5001. */
const NAMED = ipSet("n:web", "IP_AND_PORT", ...[POD, PEER].flatMap((one) => [`${one},tcp:5000`, `${one},udp:5001`]));
const isNamed = (protocol: Protocol, port: number): boolean =>
  (protocol === "tcp" && port === 5000) || (protocol === "udp" && port === 5001);

/** Whether a packet into the pod is let through by the one rule. */
function allows(fields: Partial<DataplaneRule>): (packet: Partial<JudgedPacket>) => boolean {
  const messages = [NAMED, policy(P, [rule("allow", fields)]), workload("a", { tiers: [tier("default", [P])] })];
  const judge = new PacketJudge(renderRuleset(messages)[0] ?? assert.fail());
  const plain: JudgedPacket = {
    family: 4,
    inInterface: "eth0",
    outInterface: "calia",
    source: PEER,
    destination: POD,
    protocol: 6,
    sourcePort: 9999,
    destinationPort: 9999,
    status: 0,
  };
  return (packet) => {
    const judgement = judge.judge({ ...plain, ...packet }, [["filter-FORWARD"]]);
    assert.notEqual(judgement, "unknown");
    return judgement === "accept";
  };
}

for (const side of ["src", "dst"] as const)
  for (const negated of [false, true])
    for (const count of [0, 1, 16])
      for (const named of [false, true]) {
        if (count === 0 && !named) continue;
        const numbers = Array.from({ length: count }, (_, i) => 1000 + 2 * i);
        const what = `${count} ports${named ? " and a named one" : ""}, ${side}${negated ? ", negated" : ""}`;
        test(`P9: only the ports that are listed: ${what}`, () => {
          const prefix = negated ? (`not_${side}` as const) : side;
          for (const protocol of Object.keys(PROTOCOLS) as Protocol[]) {
            const passes = allows({
              protocol: { name: protocol },
              ...(count > 0 ? { [`${prefix}_ports`]: numbers.map((number) => ({ first: number, last: number })) } : {}),
              ...(named ? { [`${prefix}_named_port_ip_set_ids`]: ["n:web"] } : {}),
            });
            for (const port of [999, 1000, 1001, 1028, 1030, 1031, 5000, 5001, 5002]) {
              const isListed = numbers.includes(port) || (named && isNamed(protocol, port));
              const packet = {
                protocol: PROTOCOLS[protocol],
                [side === "src" ? "sourcePort" : "destinationPort"]: port,
              };
              assert.equal(passes(packet), isListed !== negated, `${protocol} ${port}`);
            }
            const other = protocol === "tcp" ? PROTOCOLS.udp : PROTOCOLS.tcp;
            assert.equal(passes({ protocol: other, destinationPort: 1000, sourcePort: 1000 }), false);
          }
        });
      }

test("P10: a named port of one protocol is not that of another with its number", () => {
  const passes = allows({ protocol: { name: "tcp" }, dst_named_port_ip_set_ids: ["n:web"] });
  assert.deepEqual([passes({ destinationPort: 5000 }), passes({ destinationPort: 5001 })], [true, false]);
});

test("P12: without a protocol in the rule, a named port matches by that of its entry", () => {
  const passes = allows({ dst_named_port_ip_set_ids: ["n:web"] });
  assert.equal(passes({ protocol: PROTOCOLS.tcp, destinationPort: 5000 }), true);
  assert.equal(passes({ protocol: PROTOCOLS.udp, destinationPort: 5001 }), true);
  assert.equal(passes({ protocol: PROTOCOLS.udp, destinationPort: 5000 }), false);
  assert.equal(passes({ protocol: PROTOCOLS.sctp, destinationPort: 5000 }), false);
});

test("thousands of ports in one rule are exactly those", () => {
  const numbers = Array.from({ length: 5000 }, (_, i) => 2 * i + 1);
  const ports = numbers.map((number) => ({ first: number, last: number }));
  const passes = allows({ protocol: { name: "tcp" }, dst_ports: ports });
  const not = allows({ protocol: { name: "tcp" }, not_dst_ports: ports });
  for (const port of [1, 2, 4999, 5000, 9997, 9998, 9999, 10_000, 65_535]) {
    const isListed = port % 2 === 1 && port < 10_000;
    assert.equal(passes({ destinationPort: port }), isListed, String(port));
    assert.equal(not({ destinationPort: port }), !isListed, String(port));
  }
});

test("protocols by number and name, and excluded ones, are what they say", () => {
  const cases: readonly (readonly [Partial<DataplaneRule>, readonly number[]])[] = [
    [{ protocol: { number: 132 } }, [132]],
    [{ protocol: { name: "UDPLite" } }, [136]],
    [{ protocol: { number: 253 } }, [253]],
    [{ not_protocol: { number: 6 } }, [17, 132, 136, 253]],
    [{ not_protocol: { name: "SCTP" } }, [6, 17, 136, 253]],
    [{ protocol: { number: 6 }, not_protocol: { name: "tcp" } }, []],
  ];
  for (const [fields, wanted] of cases) {
    const passes = allows(fields);
    assert.deepEqual(
      [6, 17, 132, 136, 253].filter((protocol) => passes({ protocol })),
      wanted,
      JSON.stringify(fields),
    );
  }
});
