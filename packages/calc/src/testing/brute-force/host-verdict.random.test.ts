import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { parseAddress } from "@bulrush/ip";
import {
  formatKey,
  type HostEndpoint,
  type HostEndpointKey,
  type Policy,
  PROTOCOL_NUMBERS,
  type WorkloadEndpoint,
  type WorkloadEndpointKey,
} from "@bulrush/model";
import type { WorkloadEndpointID } from "@bulrush/proto";
import { explainFlow } from "../../explain/explain-flow.ts";
import type { Flow, FlowEnd } from "../../explain/flow.ts";
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

interface SaidOfPart extends Said {
  readonly part: Part;
  readonly direction: HostFlow["direction"];
}

/** What is said on each way in or out that the packet takes, in its order; on each the first that decides is the last. */
function naiveHosts(view: View, endpoint: HostEndpoint, flow: HostFlow): SaidOfPart[] {
  return waysOf(endpoint, flow).flatMap(({ direction, parts }) => {
    const said: SaidOfPart[] = [];
    for (const part of parts) {
      // The endpoint of all interfaces has no policy ahead of connection tracking; nothing leaves ahead of DNAT.
      if (part === "untracked" && endpoint.name === "*") continue;
      if (part === "pre-dnat" && direction === "egress") continue;
      if (part !== "normal" && !hasPart(view, endpoint, direction, part)) continue;
      const verdict = judge(view, endpoint, direction, flow.packet, part);
      said.push({ ...verdict, part, direction });
      if (verdict.verdict !== "none") break;
    }
    return said;
  });
}

interface Way {
  readonly direction: HostFlow["direction"];
  readonly parts: readonly Part[];
}

/** A workload's own interface is one of all: what it sends comes in by it, what it gets goes out by it. */
function waysOf(endpoint: HostEndpoint, { direction, workload }: HostFlow): readonly Way[] {
  if (workload === undefined) return [{ direction, parts: ["untracked", "pre-dnat", "normal"] }];
  const isOfAll = endpoint.name === "*";
  if (direction === "ingress")
    return [
      { direction, parts: ["untracked", "pre-dnat", "forward"] },
      ...(isOfAll ? [{ direction: "egress", parts: ["forward"] } as const] : []),
    ];
  return [
    ...(isOfAll ? [{ direction: "ingress", parts: ["pre-dnat", "forward"] } as const] : []),
    // What a workload sends out through its host has met the host's other policy, if any, before.
    { direction, parts: ["forward"] },
  ];
}

interface HostFlow {
  readonly flow: Flow;
  readonly packet: Packet;
  readonly direction: "ingress" | "egress";
  /** The workload behind the host endpoint; undefined for a flow of the host itself. */
  readonly workload: WorkloadEndpoint | undefined;
}

/** A flow between the host, or a workload on it, and an address that is nobody's. */
function randomHostFlow(
  d: Dice,
  [key, value]: readonly [HostEndpointKey, HostEndpoint],
  workloads: readonly (readonly [WorkloadEndpointKey, WorkloadEndpoint])[],
): HostFlow | undefined {
  const behind = workloads.length > 0 && d.chance(0.5) ? d.pick(workloads) : undefined;
  const texts =
    behind === undefined
      ? [...value.expected_ipv4_addrs, ...value.expected_ipv6_addrs]
      : [...behind[1].ipv4_nets, ...behind[1].ipv6_nets].map((net) => net.split("/")[0] ?? "");
  const own = texts.map(parseAddress).filter((address) => address !== undefined);
  if (own.length === 0) return undefined;
  const ipVersion = d.pick(own).family;
  const peer = ipVersion === 4 ? d.pick(["8.8.8.8", "11.0.0.7"]) : "2001:db8::9";
  // Of its addresses the first of the family is the flow's.
  const [near, far] = [own.find((one) => one.family === ipVersion), parseAddress(peer)];
  assert.ok(near !== undefined && far !== undefined);
  const protocol = d.pick(["tcp", "udp", "sctp", ipVersion === 4 ? "icmp" : "icmpv6"]);
  const ports = protocol.startsWith("icmp") ? {} : { port: d.pick(PORT_NUMBERS), sourcePort: d.pick(PORT_NUMBERS) };
  const direction = d.pick(["ingress", "egress"] as const);
  const nearEnd: FlowEnd =
    behind === undefined ? { hostEndpoint: `${key.hostname}/${key.endpoint}` } : { endpoint: idOf(behind[0]) };
  const ends = direction === "ingress" ? [{ address: peer }, nearEnd] : [nearEnd, { address: peer }];
  const [src, dst] = direction === "ingress" ? [far, near] : [near, far];
  return {
    flow: { source: ends[0] as FlowEnd, destination: ends[1] as FlowEnd, protocol, ipVersion, ...ports },
    packet: {
      ipVersion,
      protocol: PROTOCOL_NUMBERS.get(protocol) ?? 0,
      src: { address: src, port: ports.sourcePort },
      dst: { address: dst, port: ports.port },
      icmp: undefined,
    },
    direction,
    workload: behind?.[1],
  };
}

function idOf({ hostname, orchestrator, workload, endpoint }: WorkloadEndpointKey): WorkloadEndpointID {
  return { hostname, orchestrator, workload, endpoint };
}

/** Policies of one of these kinds are few among random ones, and those that decide fewer. */
function ofOneKind(d: Dice, { key, value }: KV): KV {
  const { untracked: _, pre_dnat: __, ...rest } = value as Policy;
  const rules = [{ action: d.pick(["allow", "deny"] as const), ...(d.chance(0.3) && { protocol: "tcp" }) }];
  const lists = d.chance(0.5) ? { inbound_rules: rules, outbound_rules: rules } : {};
  const kind = d.pick([
    { untracked: true },
    { pre_dnat: true },
    { apply_on_forward: true },
    { apply_on_forward: true },
  ]);
  return { key, value: { ...rest, ...lists, ...kind } };
}

test("explainFlow() says of host endpoints what reading all policies says", (t) => {
  const counts = new Map<string, number>();
  for (let seed = SEED; seed < SEED + CLUSTERS; seed++) {
    const random = seededRandom(seed);
    const d = dice(random);
    const kvs = randomContents(d).map((kv) => (kv.key.type === "Policy" && d.chance(0.6) ? ofOneKind(d, kv) : kv));
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
      // Of several endpoints of a host it cannot be said which one a workload's packets pass.
      const isAlone = endpoints.filter(([{ hostname }]) => hostname === entry[0].hostname).length === 1;
      const workloads = entriesOf(contents, "WorkloadEndpoint").filter(([one]) => one.hostname === entry[0].hostname);
      const made = randomHostFlow(d, entry, isAlone ? workloads : []);
      if (made === undefined) continue;
      const { flow, packet, direction, workload } = made;
      const expected = naiveHosts(view, entry[1], made);
      const own = workload && judge(view, workload, direction, packet).verdict;
      const said = explainFlow(rig.state, flow, { hosts: NO_FAILSAFE });
      const shown = (): string => `seed ${seed} (BULRUSH_SEED=${seed} begins with it): ${inspect(flow, { depth: 5 })}`;
      assert.deepEqual(
        (said.hosts ?? []).map((host) => line(host.stage, host.direction, host)),
        expected.map((one) => line(one.part, one.direction, one)),
        shown(),
      );
      const isDenied = own === "deny" || expected.some(({ verdict }) => verdict === "deny");
      assert.equal(said.verdict, isDenied ? "deny" : "allow", shown());
      for (const { part, direction: way, verdict } of expected) {
        const name = `${part} ${way} ${verdict}${way === direction ? "" : " beside the other way"}`;
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
    ...["allow", "deny", "none"].flatMap((verdict) => [`forward ingress ${verdict}`, `forward egress ${verdict}`]),
    ...["deny", "none"].map((verdict) => `forward egress ${verdict} beside the other way`),
    ...["allow", "deny"].flatMap((verdict) => [`normal ingress ${verdict}`, `normal egress ${verdict}`]),
  ];
  assert.deepEqual(
    wanted.filter((name) => (counts.get(name) ?? 0) < 3),
    [],
    "something was hardly there",
  );
});
