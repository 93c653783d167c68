import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "@bulrush/base";
import type { Flow, FlowEnd } from "@bulrush/calc";
import { convertResources } from "@bulrush/datastore";
import type { Resource } from "@bulrush/model";
import { type Explainer, explainerFor } from "../flow/explain-input.ts";
import { compareWorlds, type FlowChange, sideChanges } from "./compare.ts";

const WORLDS = process.env["BULRUSH_LONG_TESTS"] === "1" ? 500 : 20;
const FLOWS = 400;
const SEED = Number(process.env["BULRUSH_SEED"] ?? 1);

const V3 = "projectcalico.org/v3";
const PODS = ["a", "b", "c", "d", "e", "f"];
const NETS = ["10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "203.0.113.0/24", "0.0.0.0/0", "10.0.0.0/30", "10.0.0.4/32"];
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } } as Resource;
const PORTS = [1, 22, 79, 80, 81, 443, 8080, 65535];

/** Values out of a few, so that what two rules say meets. */
class Maker {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  chance(p: number): boolean {
    return this.#random() < p;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  some<T>(list: readonly T[], most: number): T[] {
    return Array.from({ length: 1 + Math.floor(this.#random() * most) }, () => this.pick(list));
  }

  selector(): string {
    return this.pick(["all()", "app == 'x'", "app == 'y'", "app != 'x'", "has(role)", "role in {'r', 's'}"]);
  }

  side(): object {
    return {
      ...(this.chance(0.4) && { selector: this.selector() }),
      ...(this.chance(0.3) && { nets: this.some(NETS, 2) }),
      ...(this.chance(0.15) && { notNets: this.some(NETS.slice(0, 4), 1) }),
    };
  }

  rule(): object {
    const protocol = this.pick(["TCP", "TCP", "UDP", "ICMP", "SCTP", undefined]);
    const hasPorts = protocol !== undefined && protocol !== "ICMP";
    const ports = (): object =>
      this.chance(0.6)
        ? { ports: this.some([80, 443, "web", "80:443", "1:79"], 2) }
        : this.chance(0.2)
          ? { notPorts: [80] }
          : {};
    return {
      action: this.pick(["Allow", "Allow", "Deny", "Pass", "Log"]),
      ...(protocol !== undefined && { protocol }),
      ...(protocol === "ICMP" && this.chance(0.5) && { icmp: { type: this.pick([0, 8]) } }),
      source: this.side(),
      destination: { ...this.side(), ...(hasPorts && ports()) },
    };
  }

  policy(name: string): Resource {
    return {
      apiVersion: V3,
      kind: this.chance(0.15) ? "StagedGlobalNetworkPolicy" : "GlobalNetworkPolicy",
      metadata: { name },
      spec: {
        order: this.pick([1, 2, 3]),
        selector: this.selector(),
        types: this.pick([["Ingress"], ["Egress"], ["Ingress", "Egress"]]),
        ingress: this.chance(0.8) ? Array.from({ length: 2 }, () => this.rule()) : [],
        egress: this.chance(0.8) ? Array.from({ length: 2 }, () => this.rule()) : [],
      },
    } as Resource;
  }

  pod(name: string, index: number): Resource {
    return {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace: "n",
        labels: { app: this.pick(["x", "y", "z"]), ...(this.chance(0.3) && { role: this.pick(["r", "s", "t"]) }) },
      },
      spec: {
        nodeName: `node-${index % 2}`,
        containers: [
          {
            name: "c",
            ports: this.chance(0.5) ? [{ name: "web", containerPort: this.pick([80, 8080]), protocol: "TCP" }] : [],
          },
        ],
      },
      status: { phase: "Running", podIP: `10.0.0.${index + 1}`, podIPs: [{ ip: `10.0.0.${index + 1}` }] },
    } as Resource;
  }

  flow(): Flow {
    const pod = (): FlowEnd => ({ workload: `n/${this.pick(PODS)}` });
    const address = (): FlowEnd => ({
      address: this.pick(["10.1.0.9", "10.1.2.9", "10.1.2.3", "203.0.113.9", "9.9.9.9", "10.0.0.200"]),
    });
    const ends = this.pick([
      [pod(), pod()],
      [pod(), pod()],
      [pod(), address()],
      [address(), pod()],
    ]);
    const traffic = this.pick([
      { protocol: "tcp", port: this.pick(PORTS) },
      { protocol: "tcp", port: this.pick(PORTS) },
      { protocol: "udp", port: this.pick(PORTS) },
      { protocol: "sctp", port: this.pick(PORTS) },
      { protocol: "icmp", icmp: { type: this.pick([0, 8, 3]) } },
      { protocol: 47 },
    ]);
    return { source: ends[0] as FlowEnd, destination: ends[1] as FlowEnd, ...traffic };
  }
}

test("compareWorlds() tells of every flow that changes, and of none that does not", async (t) => {
  const seen = { changed: 0, same: 0, changes: 0 };
  for (let seed = SEED; seed < SEED + WORLDS; seed++) {
    const make = new Maker(seededRandom(seed));
    const pods = [NAMESPACE, ...PODS.map((name, i) => make.pod(name, i))];
    const policies = ["p", "q", "r"].map((name) => make.policy(name));
    const later = policies.flatMap((policy) =>
      make.chance(0.5) ? [policy] : make.chance(0.3) ? [] : [make.policy(policy.metadata.name)],
    );
    const [before, after] = [await explainerOf([...pods, ...policies]), await explainerOf([...pods, ...later])];
    const comparison = compareWorlds(before, after, 1_000_000);
    assert.deepEqual(comparison.bounded, [], `seed ${seed}`);
    seen.changes += comparison.changes.length;
    for (let i = 0; i < FLOWS; i++) {
      const flow = make.flow();
      if (JSON.stringify(flow.source) === JSON.stringify(flow.destination)) continue;
      const [a, b] = [before.explain(flow), after.explain(flow)];
      const sides = sideChanges(a, b);
      const told = comparison.changes.some(
        (change) => JSON.stringify(change.sides) === JSON.stringify(sides) && hasTraffic(change, flow),
      );
      if (a.verdict === b.verdict) {
        seen.same++;
        continue;
      }
      seen.changed++;
      assert.ok(
        told,
        `seed ${seed}: ${JSON.stringify({ flow, sides })} is not among ${JSON.stringify(comparison.changes)}`,
      );
    }
    for (const { before: was, after: is, sides } of comparison.changes)
      assert.ok(was !== is && sides.length > 0, `seed ${seed}`);
  }
  t.diagnostic(`${WORLDS} worlds: ${seen.changed} flows changed, ${seen.same} did not, ${seen.changes} changes told`);
  assert.ok(seen.changed > 100 && seen.same > 100 && seen.changes > 20, JSON.stringify(seen));
});

function explainerOf(resources: readonly Resource[]): Promise<Explainer> {
  const { updates, problems } = convertResources(resources);
  assert.deepEqual(problems, []);
  return explainerFor({ updates, resources: [] });
}

function hasTraffic({ traffic }: FlowChange, flow: Flow): boolean {
  return traffic.some(({ protocol, ports, icmp }) => {
    if (protocol === 253) return flow.protocol === 47 || flow.protocol === "sctp";
    if (protocol !== flow.protocol) return false;
    if (ports !== undefined)
      return ports.some(({ first, last }) => first <= (flow.port ?? 0) && (flow.port ?? 0) <= last);
    return icmp === undefined || icmp.type === flow.icmp?.type;
  });
}
