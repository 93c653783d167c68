import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Update } from "@bulrush/model";
import type { ToDataplane } from "@bulrush/proto";
import { EXIT_RESTART } from "./agent.ts";
import { type AgentRig, agentRig, readyFlag, setting, update } from "./testing/agent-rig.ts";

const root = mkdtempSync(join(tmpdir(), "bulrush-held-"));
after(() => rmSync(root, { recursive: true }));

const fresh = (): string => mkdtempSync(join(root, "d"));

const pod = (name: string, address = "10.0.0.1"): Update =>
  update(
    { type: "WorkloadEndpoint", hostname: "h", orchestrator: "k8s", workload: `shop/${name}`, endpoint: "eth0" },
    {
      state: "active",
      name: `cali${name}`,
      profile_ids: [],
      ipv4_nets: [`${address}/32`],
      ipv6_nets: [],
      labels: new Map([["app", name]]),
    },
  );
function vxlanPool(): Update {
  const cidr = "10.0.0.0/16";
  return update(
    { type: "IPPool", cidr },
    {
      cidr,
      ipip: "",
      ipip_mode: "",
      vxlan_mode: "always",
      masquerade: true,
      ipam: true,
      disabled: false,
      disableBGPExport: false,
      assignment_mode: "Automatic",
      allowed_uses: [],
    },
  );
}
const gone = (one: Update): Update => ({ ...one, value: undefined, type: "deleted" });

/** An agent that has seen these, and was stopped. */
async function saved(directory: string, ...contents: readonly Update[]): Promise<void> {
  const rig = agentRig({}, undefined, { stateDirectory: directory });
  await rig.started;
  await rig.sync([readyFlag(), ...contents]);
  await rig.agent.stop();
}

async function startOn(directory: string, hasRules: boolean): Promise<AgentRig> {
  const rig = agentRig({}, undefined, { stateDirectory: directory, hasRules: () => hasRules });
  rig.report = { connected: false, detail: "no Typha, trying again" };
  await rig.started;
  return rig;
}

/** Waits, without moving time, for what does not wait for it: files are read and written meanwhile. */
async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  while (!condition()) {
    assert.ok(performance.now() < deadlineMs, `What was waited for did not come: ${condition.toString()}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const workloads = (messages: readonly ToDataplane[]): string[] =>
  messages.flatMap((message) => {
    if (message.msg === "WorkloadEndpointUpdate") return [`+${message.id.workload}`];
    return message.msg === "WorkloadEndpointRemove" ? [`-${message.id.workload}`] : [];
  });
const graphRow = (rig: AgentRig): string => /^CalculationGraph.*$/m.exec(rig.health.summary().text)?.[0] ?? "";

test("a host without rules has those that were saved before any source is there, and says so", async () => {
  const directory = fresh();
  await saved(directory, pod("a"), pod("b", "10.0.0.2"));
  const rig = await startOn(directory, false);
  await until(() => rig.dataplane.sent.some(({ msg }) => msg === "InSync"));
  assert.deepEqual(workloads(rig.dataplane.sent), ["+shop/a", "+shop/b"]);
  assert.match(graphRow(rig), /NOT READY +enforcing what was saved at 1970-\S+, no Typha, trying again/);
  assert.equal(rig.held?.updates.length, 3);
  await rig.agent.stop();
});

test("later differences are applied, and nothing else is told again", async () => {
  const directory = fresh();
  await saved(directory, pod("a"), pod("b", "10.0.0.2"));
  const rig = await startOn(directory, false);
  await until(() => rig.dataplane.sent.some(({ msg }) => msg === "InSync"));
  rig.dataplane.sent.length = 0;
  await rig.sync([gone(pod("a")), pod("c", "10.0.0.3")]);
  await rig.clock.advance(100);
  assert.deepEqual(workloads(rig.dataplane.sent).toSorted(), ["+shop/c", "-shop/a"]);
  assert.match(graphRow(rig), / ready +in-sync/);
  await rig.agent.stop();
  const third = await startOn(directory, false);
  await until(() => third.dataplane.sent.some(({ msg }) => msg === "InSync"));
  assert.deepEqual(workloads(third.dataplane.sent), ["+shop/b", "+shop/c"]);
  await third.agent.stop();
});

test("a host that has rules waits for its source, for ten seconds", async () => {
  const directory = fresh();
  await saved(directory, pod("a"));
  const waits = await startOn(directory, true);
  await waits.clock.advance(9_900);
  assert.deepEqual(waits.dataplane.starts, []);
  await waits.clock.advance(200);
  await until(() => waits.dataplane.sent.some(({ msg }) => msg === "InSync"));
  assert.deepEqual(workloads(waits.dataplane.sent), ["+shop/a"]);
  await waits.agent.stop();

  const meets = await startOn(directory, true);
  await meets.sync([gone(pod("a")), pod("b")]);
  await until(() => meets.dataplane.sent.some(({ msg }) => msg === "InSync"));
  assert.deepEqual(workloads(meets.dataplane.sent), ["+shop/b"]);
  await meets.clock.advance(20_000);
  assert.equal(meets.dataplane.starts.length, 1);
  await meets.agent.stop();
});

test("settings of the graph make another graph out of what is saved", async () => {
  const rig = agentRig({}, undefined, { stateDirectory: fresh() });
  await rig.started;
  await rig.sync([readyFlag(), pod("a")]);
  await rig.source.onUpdates([pod("b", "10.0.0.2")]);
  await rig.source.onSequence(3);
  await rig.clock.advance(100);
  rig.dataplane.sent.length = 0;
  rig.dataplane.marks.length = 0;
  await rig.source.onUpdates([setting("RouteSource", "WorkloadIPs"), gone(pod("a"))]);
  await rig.clock.advance(100);
  rig.dataplane.sent.length = 0;
  await until(() => rig.dataplane.starts.length === 2);
  await until(() => rig.dataplane.sent.some(({ msg }) => msg === "InSync"));
  assert.deepEqual(workloads(rig.dataplane.sent), ["+shop/b"]);
  assert.deepEqual(rig.requests, []);
  assert.deepEqual(rig.dataplane.marks, [3]);
  await rig.source.onUpdates([pod("c", "10.0.0.3")]);
  await rig.clock.advance(100);
  assert.deepEqual(workloads(rig.dataplane.sent), ["+shop/b", "+shop/c"]);
  await rig.agent.stop();
});

for (const [title, others] of [
  ["", []],
  [", with others that make another graph", [setting("RouteSource", "WorkloadIPs"), vxlanPool()]],
] as const)
  test(`WorkloadSourceSpoofing${title} ends the agent with 129: what was refused is not saved, and comes again at the start`, async () => {
    const directory = fresh();
    const value = { ...(pod("a").value as object), allow_spoofed_source_ips: ["192.168.0.0/16"] };
    const contents = [readyFlag(), { ...pod("a"), value } as unknown as Update];
    const rig = agentRig({}, undefined, { stateDirectory: directory });
    await rig.started;
    await rig.sync([...contents, setting("WorkloadSourceSpoofing", "Disabled")]);
    await rig.clock.advance(100);
    assert.deepEqual(workloads(rig.dataplane.sent), []);
    const changed = [setting("WorkloadSourceSpoofing", "Any"), ...others];
    await rig.source.onUpdates(changed);
    await rig.clock.advance(100);
    await until(() => rig.requests.length > 0);
    assert.equal(rig.requests[0]?.exitCode, EXIT_RESTART);
    await rig.agent.stop();

    const next = await startOn(directory, true);
    await next.sync([...contents, ...changed]);
    await until(() => next.dataplane.sent.some(({ msg }) => msg === "InSync"));
    assert.deepEqual([workloads(next.dataplane.sent), next.requests], [["+shop/a"], []]);
    await next.agent.stop();
  });

test("where the state cannot be saved, settings of the graph end the agent with 129", async () => {
  const file = join(fresh(), "file");
  writeFileSync(file, "");
  const rig = agentRig({}, undefined, { stateDirectory: join(file, "state") });
  await rig.started;
  await rig.sync([readyFlag(), pod("a")]);
  await rig.source.onUpdates([setting("RouteSource", "WorkloadIPs")]);
  await rig.clock.advance(100);
  await until(() => rig.requests.length > 0);
  assert.deepEqual(rig.requests, [{ reason: "config changed", exitCode: EXIT_RESTART }]);
  await rig.agent.stop();
});
