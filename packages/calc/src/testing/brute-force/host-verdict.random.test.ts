import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import { formatKey, type HostEndpoint, type HostEndpointKey, type Policy, PROTOCOL_NUMBERS } from "@bulrush/model";
import { explainFlow } from "../../explain/explain-flow.ts";
import type { Flow } from "../../explain/flow.ts";
import { DEFAULT_CALC_CONFIG } from "../../graph/config.ts";
import { type KV, Rig } from "../harness.ts";
import { entriesOf, type View } from "./contents.ts";
import { type Dice, dice } from "./dice.ts";
import type { Packet } from "./packet.ts";
import { PORT_NUMBERS } from "./random-rule.ts";
import { randomContents } from "./sequence.ts";
import { hasPart, judge, type NaiveVerdict, type Part } from "./verdict.ts";

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";
const CLUSTERS = IS_LONG ? 3_000 : 150;
const FLOWS = 30;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);
const NO_FAILSAFE = { inbound: [], outbound: [] };

/** What a part of a host endpoint says, in one line, with every step. */
function line(part: string, direction: string, { verdict, tier, policy, rule, steps }: Said): string {
  const way = steps.map((step) => [step.tier, step.policy, step.rule, step.outcome, step.action].join("|"));
  return [part, direction, verdict, tier, policy, rule, ...way].join("\n  ");
}

type Said = Pick<NaiveVerdict, "verdict" | "tier" | "policy" | "rule" | "steps">;

/** The parts in the order of the packet's way; the first that decides is the last. */
function naiveHosts(view: View, endpoint: HostEndpoint, direction: "ingress" | "egress", packet: Packet): Said[] {
  const parts: readonly Part[] = ["untracked", "pre-dnat", "normal"];
  const said: Said[] = [];
  for (const part of parts) {
    // The endpoint of all interfaces has no policy ahead of connection tracking; nothing leaves ahead of DNAT.
    if (part === "untracked" && endpoint.name === "*") continue;
    if (part === "pre-dnat" && direction === "egress") continue;
    if (part !== "normal" && !hasPart(view, endpoint, direction, part)) continue;
    const verdict = judge(view, endpoint, direction, packet, part);
    said.push({ ...verdict, part } as Said);
    if (verdict.verdict !== "none") break;
  }
  return said;
}

function randomHostFlow(
  d: Dice,
  [key, value]: readonly [HostEndpointKey, HostEndpoint],
): { readonly flow: Flow; readonly packet: Packet; readonly direction: "ingress" | "egress" } | undefined {
  const own = [...value.expected_ipv4_addrs, ...value.expected_ipv6_addrs].map((text) => parseAddress(text));
  const address = d.pick(own);
  if (address === undefined) return undefined;
  const ipVersion = address.family;
  // Nobody's: so no workload and no other host judges as well.
  const peer = ipVersion === 4 ? d.pick(["8.8.8.8", "11.0.0.7"]) : "2001:db8::9";
  const peerAddress = parseAddress(peer);
  assert.ok(peerAddress !== undefined);
  const protocol = d.pick(["tcp", "udp", "sctp", ipVersion === 4 ? "icmp" : "icmpv6"]);
  const ports = protocol.startsWith("icmp") ? {} : { port: d.pick(PORT_NUMBERS), sourcePort: d.pick(PORT_NUMBERS) };
  const direction = d.pick(["ingress", "egress"] as const);
  const host = { hostEndpoint: `${key.hostname}/${key.endpoint}` };
  const [source, destination] = direction === "ingress" ? [{ address: peer }, host] : [host, { address: peer }];
  // Of its addresses the first of the family is the flow's.
  const first = own.find((one) => one?.family === ipVersion) ?? address;
  const [src, dst] = direction === "ingress" ? [peerAddress, first] : [first, peerAddress];
  return {
    flow: { source, destination, protocol, ipVersion, ...ports },
    packet: {
      ipVersion,
      protocol: PROTOCOL_NUMBERS.get(protocol) ?? 0,
      src: { address: src, port: ports.sourcePort },
      dst: { address: dst, port: ports.port },
      icmp: undefined,
    },
    direction,
  };
}

/** Policies ahead of connection tracking or DNAT are few among random ones, and those that decide fewer. */
function aheadOfAll(d: Dice, { key, value }: KV): KV {
  const { untracked: _, pre_dnat: __, ...rest } = value as Policy;
  const rules = [{ action: d.pick(["allow", "deny"] as const), ...(d.chance(0.3) && { protocol: "tcp" }) }];
  const outbound_rules = d.chance(0.5) ? rules : rest.outbound_rules;
  return { key, value: { ...rest, outbound_rules, ...d.pick([{ untracked: true }, { pre_dnat: true }]) } };
}

test("explainFlow() says of host endpoints what reading all policies says", (t) => {
  const counts = new Map<string, number>();
  for (let seed = SEED; seed < SEED + CLUSTERS; seed++) {
    const random = seededRandom(seed);
    const d = dice(random);
    const kvs = randomContents(d).map((kv) => (kv.key.type === "Policy" && d.chance(0.4) ? aheadOfAll(d, kv) : kv));
    const contents = new Map(kvs.map((kv) => [formatKey(kv.key), kv]));
    const view: View = { contents, hostname: "*", config: DEFAULT_CALC_CONFIG };
    const endpoints = entriesOf(contents, "HostEndpoint");
    if (endpoints.length === 0) continue;
    const rig = new Rig("*");
    rig.go(kvs);
    rig.inSync();
    rig.flush();
    for (let i = 0; i < FLOWS; i++) {
      const entry = d.pick(endpoints);
      const made = randomHostFlow(d, entry);
      if (made === undefined) continue;
      const { flow, packet, direction } = made;
      const expected = naiveHosts(view, entry[1], direction, packet) as (Said & { readonly part: Part })[];
      const said = explainFlow(rig.state, flow, { hosts: NO_FAILSAFE });
      const shown = (): string => `seed ${seed} (BULRUSH_SEED=${seed} begins with it): ${inspect(flow, { depth: 5 })}`;
      assert.deepEqual(
        (said.hosts ?? []).map((host) => line(host.stage, host.direction, host)),
        expected.map((one) => line(one.part, direction, one)),
        shown(),
      );
      assert.equal(said.verdict, expected.at(-1)?.verdict === "deny" ? "deny" : "allow", shown());
      for (const { part, verdict } of expected) {
        const name = `${part} ${direction} ${verdict}`;
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
  }
  t.diagnostic([...counts].map(([name, count]) => `${name}: ${count}`).join(", "));
  const wanted = [
    ...["allow", "deny", "none"].flatMap((verdict) => [
      `untracked ingress ${verdict}`,
      `untracked egress ${verdict}`,
      `pre-dnat ingress ${verdict}`,
    ]),
    ...["allow", "deny"].flatMap((verdict) => [`normal ingress ${verdict}`, `normal egress ${verdict}`]),
  ];
  assert.deepEqual(
    wanted.filter((name) => (counts.get(name) ?? 0) < 3),
    [],
    "something was hardly there",
  );
});
