/** What explain says of a flow is what the ruleset of the host does with its first packet, host endpoints included. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { seededRandom } from "@bulrush/base";
import { type CalcMessage, Explainer, type FlowEnd } from "@bulrush/calc";
import { type JudgedPacket, PacketJudge, renderRuleset } from "@bulrush/dataplane";
import { convertResources } from "@bulrush/datastore";
import { PROTOCOL_NUMBERS } from "@bulrush/model";
import { graphInSync } from "../input/graph.ts";
import { ADDRESSES, type End, type Guard, guardedHost, GUARDS } from "../testing/guarded-host.ts";

const IS_LONG = process.env["BULRUSH_LONG_TESTS"] === "1";
const WORLDS = IS_LONG ? 400 : 40;
const FLOWS = 40;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

const SETTINGS = new Map([
  ["FailsafeInboundHostPorts", "none"],
  ["FailsafeOutboundHostPorts", "none"],
  // Explain leaves it to a note what becomes of packets from a workload to its host behind policy.
  ["DefaultEndpointToHostAction", "ACCEPT"],
]);

const OF_HOST: ReadonlySet<End> = new Set(["host", "x/a", "x/b"]);

interface World {
  readonly explainer: Explainer;
  readonly judge: PacketJudge;
  /** Of pods, by `namespace/name`. */
  readonly interfaces: ReadonlyMap<string, string>;
}

function worldOf(random: () => number, guard: Guard): World {
  const resources = guardedHost(random, guard).map((resource) => ({
    resource,
    source: { file: "", document: 1, line: 1 },
  }));
  const { updates, problems } = convertResources(resources);
  assert.deepEqual(problems, []);
  const explainer = new Explainer();
  explainer.update(updates);
  const messages: CalcMessage[] = [];
  graphInSync(updates, "host", (message) => messages.push(message));
  const sent = messages.filter((message) => message.msg !== "DatastoreNotReady");
  const interfaces = new Map<string, string>();
  for (const message of sent)
    if (message.msg === "WorkloadEndpointUpdate") interfaces.set(message.id.workload, message.endpoint.name);
  const table = renderRuleset(sent, SETTINGS).find(({ family }) => family === "ip");
  assert.ok(table !== undefined);
  return { explainer, judge: new PacketJudge(table), interfaces };
}

interface TriedFlow {
  readonly from: End;
  readonly to: End;
  readonly protocol: string;
  readonly port: number;
  readonly sourcePort: number;
}

function endOf(end: End): FlowEnd {
  if (end === "host" || end === "other") return { host: end };
  return end === "outside" ? { address: ADDRESSES.outside } : { workload: end };
}

/** What the chains make of the first packet, in the order in which the kernel asks them. */
function ruled({ judge, interfaces }: World, { from, to, protocol, port, sourcePort }: TriedFlow): string {
  const interfaceOf = (end: End): string => (end === "host" ? "" : (interfaces.get(end) ?? "eth0"));
  const packet: JudgedPacket = {
    family: 4,
    inInterface: interfaceOf(from),
    outInterface: interfaceOf(to),
    source: ADDRESSES[from],
    destination: ADDRESSES[to],
    protocol: PROTOCOL_NUMBERS.get(protocol) ?? 0,
    sourcePort,
    destinationPort: port,
    status: 0,
  };
  if (from === "host") return judge.judge(packet, [["raw-OUTPUT"], ["filter-OUTPUT"], ["mangle-POSTROUTING"]]);
  const comes = { ...packet, outInterface: "" };
  // In raw a workload's packet is asked for its route alone, of which nothing is known here.
  const raw = OF_HOST.has(from) ? [] : ([["raw-PREROUTING", comes]] as const);
  const rest = to === "host" ? ([["filter-INPUT"]] as const) : ([["filter-FORWARD"], ["mangle-POSTROUTING"]] as const);
  return judge.judge(packet, [...raw, ["mangle-PREROUTING", comes], ...rest]);
}

for (const guard of GUARDS)
  test(`explain says what the rules of a host do: host endpoints ${guard}`, (t) => {
    const counts = { allow: 0, deny: 0 };
    for (let seed = SEED; seed < SEED + WORLDS; seed++) {
      const random = seededRandom(seed);
      const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
      const world = worldOf(random, guard);
      for (let i = 0; i < FLOWS; i++) {
        const ends = Object.keys(ADDRESSES) as End[];
        const flow: TriedFlow = {
          from: pick(ends),
          to: pick(ends),
          protocol: pick(["tcp", "udp", "sctp"]),
          port: pick([80, 85, 443, 22, 53, 99]),
          sourcePort: pick([80, 443, 5000]),
        };
        const { from, to, protocol, port, sourcePort } = flow;
        // The host reaches its own workloads whatever their policy says: explain leaves that to a note.
        const isOpen = from === "host" && OF_HOST.has(to);
        if (from === to || isOpen || !(OF_HOST.has(from) || OF_HOST.has(to))) continue;
        const said = world.explainer.explain({
          source: endOf(from),
          destination: endOf(to),
          protocol,
          port,
          sourcePort,
        });
        const done = ruled(world, flow);
        const shown = (): string =>
          `seed ${seed} (BULRUSH_SEED=${seed} begins with it): ${inspect({ flow, said }, { depth: 4 })}`;
        assert.equal(done, said.verdict === "allow" ? "accept" : "drop", shown());
        counts[said.verdict]++;
      }
    }
    t.diagnostic(`allowed ${counts.allow}, denied ${counts.deny}`);
    assert.ok(counts.allow > 50 && counts.deny > 50, "hardly anything was allowed, or denied");
  });
