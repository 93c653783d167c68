import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import type { LogPacket } from "@bulrush/netlink";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, workload } from "../testing/messages.ts";

const ON = { FlowLogsLocalReporter: "Enabled" };
const PACKET: LogPacket = {
  group: 1,
  prefix: "B1|D|I|default|np/shop/web|rule 0",
  outDevice: 5,
  inDevice: 2,
  mark: 0,
  hook: 2,
  source: "10.65.0.2",
  destination: "10.65.0.7",
  protocol: 6,
  sourcePort: 40000,
  destinationPort: 80,
};
const RECORD = {
  verdict: "deny",
  direction: "ingress",
  tier: "default",
  policy: "np/shop/web",
  rule: "rule 0",
  endpoint: "default/a",
  interfaceName: "calia",
  source: "10.65.0.2",
  destination: "10.65.0.7",
  protocol: "tcp",
  sourcePort: 40000,
  destinationPort: 80,
} as const;

describe("the flow log", () => {
  let host: FakeHost;
  const hand = (...packets: readonly LogPacket[]): void => host.logMonitor?.onPackets(packets);
  const flows = (): unknown[] =>
    host.flowBatches.flatMap((batch) => batch.flows.map(({ atMs: _atMs, ...rest }) => rest));

  beforeEach(async () => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
    host.routes.setLink(5, "calia");
    const dataplane = host.start(ON);
    await host.send(dataplane, workload("a", { ipv4_nets: ["10.65.0.7/32"] }), IN_SYNC);
  });

  it("takes no group when it is off", async () => {
    const quiet = new FakeHost();
    await quiet.send(quiet.start(), IN_SYNC);
    assert.equal(quiet.logMonitor, undefined);
  });

  it("names endpoint, tier, policy and rule, and makes one record of a flow's packets of a second", async () => {
    const atMs = host.clock.nowMs();
    hand(PACKET, PACKET);
    await host.advance(500);
    hand(PACKET);
    await host.advance(500);
    assert.deepEqual(flows(), [{ ...RECORD, packets: 3 }]);
    assert.equal(host.flowBatches[0]?.flows[0]?.atMs, atMs);
    hand(PACKET);
    await host.advance(1000);
    assert.equal(flows().length, 2);
  });

  it("tells flows and rules apart", async () => {
    hand(PACKET, { ...PACKET, sourcePort: 40001 }, { ...PACKET, prefix: "B1|L|I|default|np/shop/web|rule 1" });
    await host.advance(1000);
    assert.equal(flows().length, 3);
  });

  it("names the endpoint that a packet leaves from the interface that it came in by", async () => {
    hand({ ...PACKET, prefix: "B1|D|E|||no profile", inDevice: 5, outDevice: 2 });
    await host.advance(1000);
    assert.deepEqual(flows(), [
      { ...RECORD, direction: "egress", tier: "", policy: "", rule: "no profile", packets: 1 },
    ]);
  });

  it("names the interface of a host endpoint, and nothing when it is gone", async () => {
    hand({ ...PACKET, hook: 1, inDevice: 2, outDevice: 0 }, { ...PACKET, outDevice: 99 });
    const { outDevice: _none, ...inward } = PACKET;
    hand({ ...inward, sourcePort: 1 });
    await host.advance(1000);
    assert.deepEqual(
      host.flowBatches[0]?.flows.map(({ endpoint }) => endpoint),
      ["", "eth0"],
    );
  });

  it("counts what it was not told, and flows beyond its bound, as lost", async () => {
    for (let i = 0; i < 1005; i++) hand({ ...PACKET, sourcePort: i });
    host.logMonitor?.onLost();
    await host.advance(1000);
    assert.deepEqual([host.flowBatches[0]?.flows.length, host.flowBatches[0]?.lost], [1000, 6]);
  });

  it("passes packets of other rules by", async () => {
    hand({ ...PACKET, prefix: "someone else" });
    await host.advance(1000);
    assert.deepEqual(host.flowBatches, []);
  });

  it("asks again for groups that another program has", async () => {
    const busy = new FakeHost();
    const other = { groups: [1, 2], onPackets: () => {}, onLost: () => {}, onError: () => {} };
    busy.logMonitor = other;
    await busy.send(busy.start(ON), IN_SYNC);
    await busy.advance(30_000);
    assert.equal(busy.logs.filter((line) => /packet log/.test(line)).length, 1);
    busy.logMonitor = undefined;
    await busy.advance(10_000);
    assert.notEqual(busy.logMonitor, undefined);
  });
});
