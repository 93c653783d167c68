import assert from "node:assert/strict";
import { test } from "node:test";
import type { Update } from "@bulrush/model";
import { type AgentRig, agentRig, readyFlag, update } from "./testing/agent-rig.ts";
import { FakeKernel } from "./testing/fake-kernel.ts";

/** A database pod on this host that only web pods may reach, and a web pod elsewhere. */
function contents(webAddress = "10.0.0.2"): Update[] {
  const pod = (hostname: string, name: string, address: string): Update =>
    update(
      { type: "WorkloadEndpoint", hostname, orchestrator: "k8s", workload: `shop/${name}`, endpoint: "eth0" },
      {
        state: "active",
        name: `cali${name}`,
        profile_ids: [],
        ipv4_nets: [`${address}/32`],
        ipv6_nets: [],
        labels: new Map([["app", name]]),
      },
    );
  const policy = update(
    { type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "p" },
    {
      tier: "default",
      order: 1,
      selector: "app == 'db'",
      inbound_rules: [{ action: "allow", src_selector: "app == 'web'" }],
      outbound_rules: [],
      types: ["ingress"],
    },
  );
  return [readyFlag(), pod("h", "db", "10.0.0.1"), pod("other", "web", webAddress), policy];
}

/** Moves time in small steps, so that the dataplane's loop runs at each. */
async function run(rig: AgentRig, spanMs: number): Promise<void> {
  for (let left = spanMs; left > 0; left -= 50) await rig.clock.advance(50);
}

test("policy goes from the source into the kernel, and the ack comes back once it is there", async () => {
  const kernel = new FakeKernel();
  const rig = agentRig({}, kernel.start);
  await rig.source.onUpdates(contents());
  assert.deepEqual(kernel.chains(""), []);
  await rig.sync([]);
  await rig.source.onSequence(1);
  await run(rig, 1000);
  assert.deepEqual(kernel.members(), ["10.0.0.2"]);
  assert.ok(kernel.chains("calidb").length > 0);
  assert.deepEqual(rig.acks, [1]);
  assert.equal(rig.health.summary().ready, true);

  await rig.source.onUpdates(contents("10.0.0.3"));
  await rig.source.onSequence(2);
  await run(rig, 1000);
  assert.deepEqual([kernel.members(), rig.acks], [["10.0.0.3"], [1, 2]]);
  await rig.agent.stop();
});

test("stopping leaves the kernel as it is, and a start on the same contents writes nothing", async () => {
  const kernel = new FakeKernel();
  const first = agentRig({}, kernel.start);
  await first.sync(contents());
  await run(first, 1000);
  const before = kernel.nft.transactions.length;
  assert.ok(before > 0);
  await first.agent.stop();
  assert.deepEqual(kernel.members(), ["10.0.0.2"]);

  const second = agentRig({}, kernel.start);
  await second.sync(contents());
  await second.source.onSequence(1);
  await run(second, 1000);
  assert.deepEqual([kernel.nft.transactions.length, second.acks], [before, [1]]);
  await second.agent.stop();
});

test("nothing is written before in-sync, nor while the source is lost", async () => {
  const kernel = new FakeKernel();
  const rig = agentRig({}, kernel.start);
  await rig.source.onStatusUpdated("resync");
  await rig.source.onUpdates(contents());
  await run(rig, 5000);
  assert.equal(kernel.nft.transactions.length, 0);
  await rig.sync([]);
  await run(rig, 1000);
  const written = kernel.nft.transactions.length;
  assert.ok(written > 0);
  rig.report = { connected: false, detail: "no Typha, trying again" };
  await run(rig, 5000);
  await rig.source.onStatusUpdated("resync");
  await rig.source.onStatusUpdated("in-sync");
  await run(rig, 1000);
  assert.equal(kernel.nft.transactions.length, written);
  await rig.agent.stop();
});
