import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { Flow } from "@bulrush/netlink";
import type { Transaction } from "@bulrush/nftables";
import type { InspectableDataplane } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import {
  hostEndpoint,
  IN_SYNC,
  policy,
  policyId,
  profile,
  rule,
  tier,
  workload,
  workloadRemove,
} from "../testing/messages.ts";

const CALICO = { family: "ip", name: "calico" } as const;
const A = "10.65.0.2";
const HOST = "192.168.7.1";
const REMOTE = "192.168.7.2";
const P = policyId("np/default/p");
const WEB = { protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 80 }] } as const;
const WORLD = [
  policy(P, [rule("allow", WEB)]),
  profile("open", [], [rule("allow")]),
  workload("a", { ipv4_nets: [`${A}/32`], profile_ids: ["open"], tiers: [tier("default", [P])] }),
  IN_SYNC,
] as const;

function flow(from: string, to: string, port: number, fields: Partial<Flow> = {}): Flow {
  return {
    family: 4,
    protocol: 6,
    original: { source: from, destination: to, sourcePort: 40000 + port, destinationPort: port },
    reply: { source: to, destination: from, sourcePort: port, destinationPort: 40000 + port },
    status: 0,
    mark: 0,
    zone: 0,
    ...fields,
  };
}

describe("after rules were missing", () => {
  let host: FakeHost;
  let dataplane: InspectableDataplane;
  const portsLeft = (): number[] => host.flows.tracked.map(({ original }) => original.destinationPort ?? 0);

  beforeEach(async () => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
    host.routes.setLink(5, "calia");
    host.routes.putRoute({ destination: "0.0.0.0/0", device: 2, via: "192.168.7.9", metric: 0 });
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
  });

  it("flows that policy denies are ended, and all others stay", async () => {
    host.flows.tracked = [
      flow(REMOTE, A, 80),
      flow(REMOTE, A, 81),
      flow(A, REMOTE, 82),
      flow(REMOTE, "10.99.0.1", 83),
      // An announced one, and one of another zone.
      flow(REMOTE, A, 84, { status: 1 }),
      flow(REMOTE, A, 85, { zone: 7 }),
    ];
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(200);
    assert.deepEqual(portsLeft(), [80, 82, 83, 84, 85]);
    assert.ok(host.logs.some((line) => line.startsWith("warn End flows that policy denies")));
  });

  it("a flow to a service is judged by where it was sent on", async () => {
    const service = (port: number): Flow => ({
      ...flow(REMOTE, "10.96.0.1", 443),
      original: { source: REMOTE, destination: "10.96.0.1", sourcePort: port + 1000, destinationPort: 443 },
      reply: { source: A, destination: REMOTE, sourcePort: port, destinationPort: port + 1000 },
      status: 0x20,
    });
    host.flows.tracked = [service(80), service(8080)];
    await host.editLoudly((transaction) => transaction.flushChain(CALICO, "filter-cali-tw-calia"));
    await host.advance(200);
    assert.deepEqual(
      host.flows.tracked.map(({ reply }) => reply.sourcePort),
      [80],
    );
  });

  it("a flow of the host stays where one interface lets it in, though another leads back", async () => {
    const web = { protocol: { name: "tcp" }, dst_ports: [{ first: 443, last: 443 }] } as const;
    const id = policyId("gnp/web");
    host.routes.setLink(3, "eth1");
    host.routes.putRoute({ destination: `${HOST}/32`, device: 3, table: 255, type: "local", metric: 0 });
    await host.send(
      dataplane,
      policy(id, [rule("allow", web)]),
      hostEndpoint("closed", { name: "eth0" }),
      hostEndpoint("open", { name: "eth1", tiers: [tier("default", [id], [id])] }),
    );
    await host.advance(500);
    host.flows.tracked = [flow(REMOTE, HOST, 443), flow(REMOTE, HOST, 444)];
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(200);
    assert.deepEqual(portsLeft(), [443]);
  });

  it("a flow that do-not-track policy lets in or out of the host stays", async () => {
    const id = policyId("gnp/fast");
    const at = (port: number) => ({ protocol: { name: "tcp" }, dst_ports: [{ first: port, last: port }] }) as const;
    host.routes.putRoute({ destination: `${HOST}/32`, device: 2, table: 255, type: "local", metric: 0 });
    await host.send(
      dataplane,
      policy(id, [rule("allow", at(7000))], [rule("allow", at(7002))], { untracked: true }),
      hostEndpoint("fast", { name: "eth0", untracked_tiers: [tier("default", [id], [id], "Pass")] }),
    );
    await host.advance(500);
    host.flows.tracked = [
      flow(REMOTE, HOST, 7000),
      flow(REMOTE, HOST, 7001),
      flow(HOST, REMOTE, 7002),
      flow(HOST, REMOTE, 7003),
    ];
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(200);
    assert.deepEqual(portsLeft(), [7000, 7002]);
  });

  it("a flow that the other side may start, and perhaps has, is not refused", async () => {
    const between = (from: number, to: number, protocol: number): Flow => ({
      ...flow(REMOTE, A, to),
      protocol,
      original: { source: REMOTE, destination: A, sourcePort: from, destinationPort: to },
      reply: { source: A, destination: REMOTE, sourcePort: to, destinationPort: from },
    });
    const udp = 17;
    host.flows.tracked = [
      between(82, 40000, 6),
      between(40000, 82, 6),
      between(5000, 5000, udp),
      between(40001, 53, udp),
    ];
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(200);
    // What conntrack came to know by an answer of a server outside is allowed: the pod may have asked it.
    assert.deepEqual(portsLeft(), [40000]);
    assert.deepEqual([...(host.nft.readTable("ip", "calico-ended")?.sets.get("ended")?.elements ?? [])].sort(), [
      `tcp . ${A} . 82 . ${REMOTE} . 40000`,
      `tcp . ${REMOTE} . 40000 . ${A} . 82`,
      `udp . ${A} . 53 . ${REMOTE} . 40001`,
      `udp . ${REMOTE} . 40001 . ${A} . 53`,
    ]);
    // Where the pod may start nothing, it cannot have.
    await host.advance(61_000);
    await host.send(dataplane, profile("open", [], []));
    await host.advance(500);
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(200);
    assert.deepEqual(portsLeft(), []);
  });

  it("what is refused is let go as soon as policy allows it, or its pod is gone", async () => {
    const refused = (): string[] =>
      [...(host.nft.readTable("ip", "calico-ended")?.sets.get("ended")?.elements ?? [])].sort();
    const of = (port: number): string[] => [
      `tcp . ${A} . ${port} . ${REMOTE} . ${40000 + port}`,
      `tcp . ${REMOTE} . ${40000 + port} . ${A} . ${port}`,
    ];
    host.flows.tracked = [flow(REMOTE, A, 81), flow(REMOTE, A, 82)];
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(500);
    assert.deepEqual(refused(), [...of(81), ...of(82)].sort());
    const wide = { protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 81 }] } as const;
    await host.send(dataplane, policy(P, [rule("allow", wide)]));
    await host.advance(1000);
    assert.deepEqual(refused(), of(82));
    await host.send(dataplane, workloadRemove("a"));
    await host.advance(1000);
    assert.deepEqual(refused(), []);
  });

  it("a flow that may come through WireGuard stays, though the uplink's forward policy denies what is not encrypted", async () => {
    const id = policyId("gnp/forward");
    const guarded = [
      policy(id, [rule("deny")], [rule("deny")]),
      hostEndpoint("guarded", { name: "eth0", forward_tiers: [tier("default", [id], [id])] }),
    ];
    const left: number[][] = [];
    for (const WireguardEnabled of ["false", "true"]) {
      await dataplane.stop();
      host.routes.setLink(6, "wireguard.cali");
      dataplane = host.start({ WireguardEnabled });
      await host.send(dataplane, ...guarded, ...WORLD);
      await host.advance(1000);
      // It is there all the same where its packets are refused by then.
      host.flows.tracked = [flow(REMOTE, A, 80), flow(REMOTE, A, 81)];
      await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
      await host.advance(2000);
      left.push(portsLeft());
    }
    assert.deepEqual(left, [[], [80]]);
  });

  it("is done once a repair, and not while nothing is repaired", async () => {
    const { listed } = host.flows;
    await host.send(dataplane, policy(P, [rule("allow")]));
    dataplane.resync();
    await host.advance(1000);
    assert.equal(host.flows.listed, listed);
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(1000);
    assert.equal(host.flows.listed, listed + 1);
  });

  it("is not done where others added what nothing leads to", async () => {
    const { listed } = host.flows;
    await host.editLoudly((transaction) => transaction.addChain(CALICO, "somebody"));
    await host.advance(2000);
    assert.equal(host.table()?.chains.has("somebody"), false);
    assert.equal(host.flows.listed, listed);
  });

  for (const [how, change] of [
    [
      "without rules",
      (transaction) => [...(host.table()?.chains.keys() ?? [])].forEach((name) => transaction.flushChain(CALICO, name)),
    ],
    [
      "without the rules that a base chain leads to",
      (transaction) => transaction.flushChain(CALICO, "filter-cali-FORWARD"),
    ],
  ] as const satisfies readonly (readonly [string, (transaction: Transaction) => void])[])
    it(`is done by a start that finds the table ${how}`, async () => {
      await dataplane.stop();
      host.nft.edit(change);
      host.flows.tracked = [flow(REMOTE, A, 80), flow(REMOTE, A, 81)];
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      await host.advance(1000);
      assert.deepEqual(portsLeft(), [80]);
    });

  it("is tried four times where flows cannot be listed, and given up", async () => {
    host.flows.failing = "*";
    const { listed } = host.flows;
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    await host.advance(4000);
    assert.equal(host.flows.listed, listed + 4);
    assert.equal(host.status?.phase, "in-sync");
  });

  it("is made up for by the next start, where a stop came between the repair and it", async () => {
    const isNoted = (): boolean => host.nft.readTable("ip", "calico-ended")?.chains.has("judge") === true;
    host.flows.tracked = [flow(REMOTE, A, 80), flow(REMOTE, A, 81)];
    host.flows.failing = "*";
    await host.editLoudly((transaction) => transaction.deleteTable(CALICO));
    assert.deepEqual([portsLeft(), isNoted()], [[80, 81], true]);
    await dataplane.stop();
    host.flows.failing = undefined;
    assert.equal(host.table()?.chains.has("filter-cali-FORWARD"), true, "the rules are back");
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.deepEqual([portsLeft(), isNoted()], [[80], false]);
    await dataplane.stop();
    const { listed } = host.flows;
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.equal(host.flows.listed, listed, "it is done once");
  });

  it("is noted in the kernel with the repair, in one batch, until it is done", async () => {
    const seen: string[] = [];
    const run = host.nft.run.bind(host.nft);
    host.nft.run = (transaction) => {
      const writes = new Set(transaction.operations.map(({ table }) => `${table.family} ${table.name}`));
      const isDue = host.nft.readTable("ip", "calico-ended")?.chains.has("judge") === true;
      seen.push(`${[...writes].join(", ")} ${isDue}`);
      run(transaction);
    };
    await host.editLoudly((transaction) => transaction.flushChain(CALICO, "filter-cali-FORWARD"));
    await host.advance(200);
    assert.deepEqual(seen, ["ip calico-ended, ip calico false", "ip calico-ended true"]);
    assert.equal(host.nft.readTable("ip", "calico-ended"), undefined);
  });

  it("is done by a start that finds no table, and by none that finds one", async () => {
    await dataplane.stop();
    const { listed } = host.flows;
    host.flows.tracked = [flow(REMOTE, A, 81)];
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(200);
    assert.equal(host.flows.listed, listed);
    await dataplane.stop();
    host.nft.edit((transaction) => transaction.deleteTable(CALICO));
    host.routes.dropRoute({ destination: `${A}/32`, metric: 1024 });
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    assert.deepEqual(portsLeft(), []);
  });
});
