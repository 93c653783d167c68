import assert from "node:assert/strict";
import { test } from "node:test";
import type { Policy, Update, WorkloadEndpoint } from "@bulrush/model";
import type { ToDataplane } from "@bulrush/proto";
import { EXIT_RESTART } from "./agent.ts";
import { type AgentRig, agentRig, readyFlag, setting, update } from "./testing/agent-rig.ts";

function pod(hostname: string, name: string, address: string): Update {
  const value: WorkloadEndpoint = {
    state: "active",
    name: `cali${name}`,
    profile_ids: [],
    ipv4_nets: [`${address}/32`],
    ipv6_nets: [],
    labels: new Map([["app", name]]),
  };
  return update(
    { type: "WorkloadEndpoint", hostname, orchestrator: "k8s", workload: `shop/${name}`, endpoint: "eth0" },
    value,
  );
}

function policy(selector: string): Update {
  const value: Policy = {
    tier: "default",
    order: 1,
    selector,
    inbound_rules: [{ action: "allow", src_selector: "app == 'web'" }],
    outbound_rules: [],
    types: ["ingress"],
  };
  return update({ type: "Policy", kind: "GlobalNetworkPolicy", namespace: "", name: "p" }, value);
}

const names = (messages: readonly ToDataplane[]): string[] => messages.map(({ msg }) => msg);
const row = (rig: AgentRig, name: string): string =>
  rig.health
    .summary()
    .text.split("\n")
    .find((line) => line.startsWith(name)) ?? "";

test("the agent starts its dataplane with the settings of all sources, then sends what its host needs", async () => {
  const rig = agentRig({ FELIX_LOGPREFIX: "env" });
  await rig.source.onStatusUpdated("resync");
  await rig.source.onUpdates([pod("h", "db", "10.0.0.1")]);
  assert.deepEqual(rig.dataplane.starts, []);
  await rig.sync([
    readyFlag(),
    pod("other", "web", "10.0.0.2"),
    policy("app == 'db'"),
    setting("LogPrefix", "store"),
    setting("VXLANPort", "1"),
  ]);
  assert.deepEqual(rig.dataplane.starts, [
    new Map([
      ["VXLANPort", "1"],
      ["LogPrefix", "env"],
      ["FelixHostname", "h"],
      ["MTUFile", "none"],
      ["EndpointStatusPathPrefix", "none"],
    ]),
  ]);
  const sent = names(rig.dataplane.sent);
  assert.ok(!sent.includes("ConfigUpdate"));
  assert.ok(sent.indexOf("IPSetUpdate") < sent.indexOf("ActivePolicyUpdate"));
  assert.ok(sent.indexOf("ActivePolicyUpdate") < sent.indexOf("WorkloadEndpointUpdate"));
  assert.equal(sent.filter((msg) => msg === "WorkloadEndpointUpdate").length, 1);
  assert.deepEqual(rig.dataplane.sent.find((message) => message.msg === "IPSetUpdate")?.members, ["10.0.0.2/32"]);
  assert.deepEqual(rig.requests, []);
});

test("a later change reaches the dataplane, and its ack the source", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), pod("h", "db", "10.0.0.1"), policy("app == 'db'")]);
  await rig.source.onSequence(4);
  await rig.clock.advance(100);
  rig.dataplane.sent.length = 0;
  await rig.source.onUpdates([pod("other", "web", "10.0.0.2")]);
  await rig.source.onSequence(5);
  // The mark follows what was sent.
  await rig.clock.advance(0);
  assert.deepEqual(names(rig.dataplane.sent), ["IPSetDeltaUpdate"]);
  assert.deepEqual(rig.dataplane.marks, [4, 5]);
  rig.dataplane.events?.onApplied?.(5);
  assert.deepEqual(rig.acks, [5]);
});

test("an invalid update is named, holds the last good one, and changes nothing", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), pod("h", "db", "10.0.0.1"), policy("app == 'db'")]);
  await rig.clock.advance(100);
  rig.dataplane.sent.length = 0;
  await rig.source.onUpdates([policy("app == ")]);
  await rig.clock.advance(100);
  assert.deepEqual(rig.dataplane.sent, []);
  const warning = rig.logger.records.find(({ message }) => message === "Invalid update");
  assert.deepEqual(
    [warning?.fields["path"], warning?.fields["outcome"]],
    ["/calico/v1/policy/GlobalNetworkPolicy//p", "kept-last-good"],
  );
  assert.match(await rig.metrics.text(), /^bulrush_agent_invalid_updates 1$/m);
});

test("a setting of the process is taken up at once, one without effect by nobody", async () => {
  const told: string[] = [];
  const rig = agentRig({ FELIX_LOGPREFIX: "env" }, undefined, {
    onSettings: ({ values }) => void told.push(values.LogSeverityScreen),
  });
  await rig.sync([readyFlag(), setting("VXLANPort", "1")]);
  for (const change of [
    setting("LogPrefix", "hidden by the environment"),
    setting("UsageReportingEnabled", "true"),
    setting("ClusterGUID", "x"),
    setting("HealthTimeoutOverrides", "CalculationGraph=60,InternalDataplaneMainLoop=2m1s"),
    setting("LogSeverityScreen", "debug"),
  ]) {
    await rig.source.onUpdates([change]);
    await rig.clock.advance(100);
  }
  assert.deepEqual([rig.requests, rig.dataplane.starts.length], [[], 1]);
  assert.deepEqual(told, ["INFO", "INFO", "DEBUG"]);
  assert.match(row(rig, "CalculationGraph"), / 60s /);
  assert.match(row(rig, "InternalDataplaneMainLoop"), / 121s /);
});

test("a setting of the dataplane brings another dataplane, which is told everything", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), setting("VXLANPort", "1"), pod("h", "db", "10.0.0.1"), policy("app == 'db'")]);
  await rig.source.onSequence(7);
  await rig.clock.advance(100);
  const before = names(rig.dataplane.sent);
  rig.dataplane.sent.length = 0;
  rig.dataplane.marks.length = 0;
  await rig.source.onUpdates([setting("VXLANPort", "2")]);
  await rig.clock.advance(100);
  assert.deepEqual(
    rig.dataplane.starts.map((settings) => settings.get("VXLANPort")),
    ["1", "2"],
  );
  assert.deepEqual(names(rig.dataplane.sent).toSorted(), before.toSorted());
  assert.equal(names(rig.dataplane.sent).at(-1), "InSync");
  assert.deepEqual([rig.dataplane.marks, rig.requests], [[7], []]);
});

test("a setting of the graph ends the agent with 129 where nothing is saved", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag()]);
  await rig.source.onUpdates([setting("RouteSource", "WorkloadIPs")]);
  await rig.clock.advance(100);
  assert.deepEqual(rig.requests, [{ reason: "config changed", exitCode: EXIT_RESTART }]);
});

test("a setting that cannot be read any more is named once, and changes nothing", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), setting("VXLANPort", "4789")]);
  for (const text of ["many", "many", "lots"]) {
    await rig.source.onUpdates([setting("VXLANPort", text)]);
    await rig.clock.advance(100);
  }
  assert.deepEqual(rig.requests, []);
  const named = rig.logger.records.filter(
    ({ message, fields }) => message === "Setting" && fields["name"] === "VXLANPort",
  );
  assert.deepEqual(
    named.map(({ fields }) => /"(\w+)"/.exec(String(fields["message"]))?.[1]),
    ["many", "lots"],
  );
});

test("a pool that brings another encapsulation ends the agent with 129", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag()]);
  const cidr = "10.0.0.0/16";
  const value = {
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
  } as const;
  await rig.source.onUpdates([update({ type: "IPPool", cidr }, value)]);
  await rig.clock.advance(100);
  assert.deepEqual(rig.requests, [{ reason: "encapsulation changed", exitCode: EXIT_RESTART }]);
});

test("a datastore that is not ready is waited for at the start, and ends a running agent with 1", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(false)]);
  assert.deepEqual(rig.dataplane.starts, []);
  assert.match(row(rig, "CalculationGraph"), /NOT READY +the datastore says that it is not ready/);
  await rig.source.onUpdates([readyFlag()]);
  assert.equal(rig.dataplane.starts.length, 1);
  await rig.clock.advance(100);
  await rig.source.onUpdates([readyFlag(false)]);
  await rig.clock.advance(100);
  assert.deepEqual(rig.requests, [{ reason: "datastore not ready", exitCode: 1 }]);
});

test("readiness says in words what is waited for", async () => {
  const rig = agentRig();
  rig.report = { connected: false, detail: "no Typha, trying again: connection refused" };
  await rig.clock.advance(10_000);
  assert.match(
    row(rig, "CalculationGraph"),
    /live +NOT READY +waiting for the datastore to be in sync, 0 keys so far, no Typha, trying again: connection refused/,
  );
  assert.match(row(rig, "InternalDataplaneMainLoop"), /live +NOT READY +not started: waiting for the datastore/);
  rig.report = { connected: true, detail: "following typha-1" };
  await rig.sync([readyFlag()]);
  rig.dataplane.status("programming", "writing 3 chains");
  assert.match(row(rig, "InternalDataplaneMainLoop"), /NOT READY +writing 3 chains/);
  rig.dataplane.status("in-sync", "all applied");
  assert.equal(rig.health.summary().ready, true);
  assert.match(row(rig, "CalculationGraph"), /ready +in-sync, following typha-1/);
});

test("the loss of the source leaves the agent ready and the dataplane alone", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), pod("h", "db", "10.0.0.1")]);
  rig.dataplane.status("in-sync", "all applied");
  rig.dataplane.sent.length = 0;
  rig.report = { connected: false, detail: "no Typha, trying again" };
  await rig.clock.advance(3600_000);
  assert.deepEqual([rig.health.summary().live, rig.health.summary().ready], [true, true]);
  assert.deepEqual([rig.dataplane.sent, rig.requests], [[], []]);
  assert.match(await rig.metrics.text(), /^bulrush_source_connected 0$/m);
});

test("a dataplane that hangs turns the agent not live at its watchdog time", async () => {
  const rig = agentRig({ FELIX_DATAPLANEWATCHDOGTIMEOUT: "30" });
  await rig.sync([readyFlag()]);
  rig.dataplane.status("in-sync", "all applied");
  await rig.clock.advance(60_000);
  assert.equal(rig.health.summary().live, true);
  rig.dataplane.hangs = true;
  await rig.clock.advance(30_000);
  assert.equal(rig.health.summary().live, true);
  await rig.clock.advance(10_001);
  assert.equal(rig.health.summary().live, false);
});

test("a dataplane that cannot start is tried again", async () => {
  const rig = agentRig();
  rig.dataplane.startError = new Error("Open netlink socket: EPERM");
  const syncing = rig.sync([readyFlag()]);
  await rig.clock.advance(5000);
  assert.ok(rig.dataplane.starts.length >= 2);
  assert.match(row(rig, "CalculationGraph"), /the dataplane does not start/);
  rig.dataplane.startError = undefined;
  await rig.clock.advance(30_000);
  await syncing;
  assert.ok(names(rig.dataplane.sent).includes("InSync"));
});

test("a dataplane that ends by itself ends the agent with 1", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag()]);
  rig.dataplane.events?.onFatal?.(new Error("bug"));
  assert.deepEqual(rig.requests, [{ reason: "dataplane ended", exitCode: 1 }]);
});

test("stop() stops the source and the dataplane and sends nothing", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), pod("h", "db", "10.0.0.1")]);
  rig.dataplane.sent.length = 0;
  await rig.agent.stop();
  assert.deepEqual([rig.sourceStopped, rig.dataplane.stopped, rig.dataplane.sent], [true, true, []]);
  assert.equal(rig.health.summary().text, "");
});

test("the metrics page has upstream's names", async () => {
  const rig = agentRig();
  await rig.sync([readyFlag(), pod("h", "db", "10.0.0.1"), policy("all()")]);
  rig.dataplane.status("in-sync", "ok", {
    nftTransactions: 2,
    chains: { ip: 5, ip6: 6 },
    drift: { chain: 1, set: 0, map: 0, route: 0, neighbour: 0, device: 0, sysctl: 0 },
  });
  const page = await rig.metrics.text();
  for (const line of [
    'felix_host{host="h"} 1',
    "felix_resync_state 3",
    "felix_resyncs_started 1",
    'felix_calc_graph_updates_processed{type="WorkloadEndpoint"} 1',
    "felix_calc_graph_update_time_seconds_count 1",
    "felix_cluster_num_workload_endpoints 1",
    "felix_cluster_num_policies 1",
    "felix_nft_calls 2",
    'felix_nft_chains{ip_version="4"} 5',
    'felix_nft_chains{ip_version="6"} 6',
    'bulrush_dataplane_drift_total{kind="chain"} 1',
    "bulrush_source_connected 1",
    "bulrush_state_saved 0",
    "felix_active_local_endpoints 1",
    "felix_active_local_policies 1",
    "felix_active_local_selectors 1",
    'felix_ipsets_calico{ip_version="inet"} 0',
    'felix_route_table_num_routes{table="IPv4:254"} 0',
    "felix_log_errors 0",
    'felix_int_dataplane_messages{type="WorkloadEndpointUpdate"} 1',
    'felix_int_dataplane_messages{type="InSync"} 1',
  ])
    assert.ok(page.split("\n").includes(line), line);
});
