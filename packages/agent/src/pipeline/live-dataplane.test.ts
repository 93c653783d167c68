import assert from "node:assert/strict";
import { test } from "node:test";
import { DataplaneState } from "@bulrush/calc";
import type { DataplaneEvents, FromDataplane } from "@bulrush/dataplane";
import type { ToDataplane } from "@bulrush/proto";
import { COUNTERS } from "../testing/agent-rig.ts";
import { type HostExplanation, LiveDataplane } from "./live-dataplane.ts";

const RULE = { action: "allow", src_ip_set_ids: ["s:x"] } as const;
const ID = { kind: "GlobalNetworkPolicy", namespace: "", name: "p" } as const;
const workload = (name: string) => ({ orchestrator: "k8s", workload: `shop/${name}`, endpoint: "eth0" });

/** A set, a policy that uses it, and an endpoint that the policy is for. */
const WORLD: readonly ToDataplane[] = [
  { msg: "IPSetUpdate", id: "s:x", type: "IP", members: ["10.0.0.1", "10.0.0.2"] },
  { msg: "ActivePolicyUpdate", id: ID, policy: { tier: "default", inbound_rules: [RULE], outbound_rules: [] } },
  {
    msg: "WorkloadEndpointUpdate",
    id: workload("a"),
    endpoint: {
      state: "active",
      name: "calia",
      profile_ids: [],
      ipv4_nets: ["10.0.0.9/32"],
      ipv6_nets: [],
      tiers: [{ name: "default", ingress_policies: [ID], egress_policies: [], default_action: "Deny" }],
    },
  },
  { msg: "HostMetadataUpdate", hostname: "h", ipv4_addr: "192.0.2.1" },
  { msg: "InSync" },
] as unknown as readonly ToDataplane[];

/** One of the dataplanes that were started. */
interface Started {
  readonly settings: string;
  readonly sent: ToDataplane[];
  sends: number;
  readonly marks: number[];
  readonly events: DataplaneEvents;
  stopped: boolean;
}

async function rig() {
  const started: Started[] = [];
  const told: FromDataplane[] = [];
  const statuses: boolean[] = [];
  const heard: (number | string)[] = [];
  const state = { fails: false, messages: 0 };
  const live = await LiveDataplane.start(
    (settings, events) => {
      if (state.fails) return Promise.reject(new Error("no sockets"));
      const one: Started = { settings: settings.get("X") ?? "", sends: 0, sent: [], marks: [], events, stopped: false };
      started.push(one);
      return Promise.resolve({
        send(messages) {
          one.sends++;
          return Promise.resolve(void one.sent.push(...messages));
        },
        mark: (sequence) => void one.marks.push(sequence),
        resync: () => {},
        stop: () => {
          one.stopped = true;
          return Promise.resolve();
        },
      });
    },
    new Map([["X", "1"]]),
    {
      onMessage: (message) => void told.push(message),
      onApplied: (sequence) => void heard.push(sequence),
      onFatal: ({ message }) => void heard.push(message),
      onStatus({ counters, ready }) {
        statuses.push(ready);
        state.messages = counters.messages;
      },
    },
  );
  const at = (i: number): Started => started[i] ?? assert.fail(`no dataplane ${i}`);
  return { live, started, told, heard, statuses, state, at };
}

/** What a dataplane knows after these messages; throws where one refers to what was not sent. */
function known(messages: readonly ToDataplane[]): DataplaneState {
  const state = new DataplaneState();
  for (const message of messages) state.apply(message);
  return state;
}

test("reconfigure() starts the next dataplane before it stops the last one, and tells it everything in order", async () => {
  const { live, at, started } = await rig();
  await live.send(WORLD);
  await live.send([{ msg: "IPSetDeltaUpdate", id: "s:x", added_members: ["10.0.0.3"], removed_members: ["10.0.0.1"] }]);
  live.mark(5);
  await live.reconfigure(new Map([["X", "2"]]));
  assert.deepEqual([started.length, at(0).stopped, at(1).settings, at(1).marks], [2, true, "2", [5]]);
  assert.deepEqual(known(at(1).sent), known(at(0).sent));
  await live.send([{ msg: "WorkloadEndpointRemove", id: workload("a") }]);
  assert.deepEqual([at(0).sent.length, at(1).sent.at(-1)?.msg], [WORLD.length + 1, "WorkloadEndpointRemove"]);
  await live.stop();
  assert.equal(at(1).stopped, true);
});

test("a next dataplane that cannot be started leaves the last one as it is", async () => {
  const { live, at, started, state } = await rig();
  await live.send(WORLD);
  state.fails = true;
  await assert.rejects(live.reconfigure(new Map()), /no sockets/);
  await live.send([{ msg: "WorkloadEndpointRemove", id: workload("a") }]);
  assert.deepEqual([started.length, at(0).stopped, at(0).sent.length], [1, false, WORLD.length + 1]);
});

test("what is sent while dataplanes change comes after what was known, and marks do too", async () => {
  const { live, at } = await rig();
  await live.send(WORLD);
  const changing = live.reconfigure(new Map());
  const sending = live.send([{ msg: "WorkloadEndpointRemove", id: workload("a") }]);
  live.mark(9);
  await Promise.all([changing, sending]);
  await live.send([]);
  assert.equal(at(1).sent.at(-1)?.msg, "WorkloadEndpointRemove");
  assert.deepEqual([at(0).marks, at(1).marks.at(-1)], [[], 9]);
});

test("renew() keeps the last dataplane until another graph sends its first messages", async () => {
  const { live, at } = await rig();
  await live.send(WORLD);
  await live.renew(new Map([["X", "3"]]));
  assert.deepEqual([at(0).stopped, at(1).sent], [false, []]);
  await live.send(WORLD);
  assert.deepEqual([at(0).stopped, at(1).sent.length], [true, WORLD.length]);
  assert.deepEqual(live.sizes(), { endpoints: 1, policies: 1, ipSets: 1 });
});

test("settings that change while a renewal waits are those of the one that takes over, and it alone is heard", async () => {
  const { live, at, heard, started, statuses } = await rig();
  await live.send(WORLD);
  await live.renew(new Map([["X", "2"]]));
  await live.reconfigure(new Map([["X", "3"]]));
  assert.deepEqual(
    started.map(({ stopped }) => stopped),
    [false, true, false],
  );
  at(0).events.onApplied?.(4);
  await live.send(WORLD);
  assert.deepEqual([at(0).stopped, at(2).settings, at(2).sent.length], [true, "3", WORLD.length]);
  for (const [i, { events }] of started.entries()) {
    events.onApplied?.(10 + i);
    events.onFatal?.(new Error(`end of ${i}`));
    events.onStatus?.({ phase: "in-sync", reason: "", ready: true, counters: COUNTERS });
  }
  assert.deepEqual([heard, statuses], [[4, 12, "end of 2"], [true]]);
});

test("an empty send leaves a renewal waiting, and goes to the one in charge", async () => {
  const { live, at } = await rig();
  await live.send(WORLD);
  await live.renew(new Map());
  await live.send([]);
  assert.deepEqual([at(0).stopped, at(0).sends, at(1).sends], [false, 2, 0]);
  assert.deepEqual(live.sizes(), { endpoints: 1, policies: 1, ipSets: 1 });
  await live.send(WORLD);
  assert.deepEqual([at(0).stopped, at(1).sends], [true, 1]);
});

test("a renewal that takes the place of another stops it, and the end of the one that waits is told", async () => {
  const { live, at, heard } = await rig();
  await live.renew(new Map());
  await live.renew(new Map());
  at(1).events.onFatal?.(new Error("unused"));
  at(2).events.onFatal?.(new Error("waits"));
  assert.deepEqual([at(0).stopped, at(1).stopped, at(2).stopped, heard], [false, true, false, ["waits"]]);
  await live.stop();
  assert.deepEqual([at(0).stopped, at(2).stopped], [true, true]);
});

test("the owner is not told twice that it is in sync, hears nothing of the last one, and of what went meanwhile", async () => {
  const { live, at, told } = await rig();
  await live.send(WORLD);
  const up = (name: string) => ({ msg: "WorkloadEndpointStatusUpdate", id: workload(name), status: "up" }) as const;
  at(0).events.onMessage?.(up("a"));
  at(0).events.onMessage?.(up("b"));
  at(0).events.onMessage?.({ msg: "DataplaneInSync" });
  await live.reconfigure(new Map());
  told.length = 0;
  at(0).events.onMessage?.(up("late"));
  at(1).events.onMessage?.(up("a"));
  at(1).events.onMessage?.({ msg: "DataplaneInSync" });
  assert.deepEqual(told, [up("a"), { msg: "WorkloadEndpointStatusRemove", id: workload("b") }]);
});

test("counters go on over dataplanes, and a host that was ready stays so", async () => {
  const { live, at, state, statuses } = await rig();
  const status = (messages: number, ready: boolean) =>
    ({
      phase: ready ? "in-sync" : "waiting-datastore",
      reason: "",
      ready,
      counters: { ...COUNTERS, messages },
    }) as const;
  at(0).events.onStatus?.(status(7, true));
  await live.reconfigure(new Map());
  at(0).events.onStatus?.({ ...status(9, false), phase: "stopped" });
  at(1).events.onStatus?.(status(2, false));
  assert.deepEqual([state.messages, statuses], [9, [true, true]]);
});

test("LiveDataplane.report() tells what each endpoint is judged by, and what the dataplane has said of it", async () => {
  const { live, started } = await rig();
  assert.deepEqual([live.report().phase, live.report().endpoints], ["starting", []]);
  const staged = { kind: "StagedNetworkPolicy", namespace: "shop", name: "s" };
  const host = {
    msg: "HostEndpointUpdate",
    id: "eth0",
    endpoint: {
      name: "eth0",
      profile_ids: ["open"],
      expected_ipv4_addrs: ["192.0.2.1"],
      expected_ipv6_addrs: ["2001:db8::1"],
      tiers: [{ name: "t", ingress_policies: [], egress_policies: [ID, staged], default_action: "Pass" }],
      untracked_tiers: [],
      pre_dnat_tiers: [{ name: "u", ingress_policies: [ID], egress_policies: [], default_action: "" }],
      forward_tiers: [],
    },
  };
  const profile = { msg: "ActiveProfileUpdate", id: "open", profile: { inbound_rules: [], outbound_rules: [] } };
  const policy = { tier: "t", inbound_rules: [], outbound_rules: [] };
  await live.send([
    ...WORLD.slice(0, -1),
    profile,
    { msg: "ActivePolicyUpdate", id: staged, policy },
    host,
    { msg: "InSync" },
  ] as unknown as readonly ToDataplane[]);
  started[0]?.events.onMessage?.({ msg: "WorkloadEndpointStatusUpdate", id: workload("a"), status: "up" });
  started[0]?.events.onStatus?.({ phase: "in-sync", reason: "all is written", ready: true, counters: COUNTERS });
  assert.deepEqual(live.report(), {
    phase: "in-sync",
    reason: "all is written",
    endpoints: [
      {
        kind: "host",
        name: "eth0",
        interfaceName: "eth0",
        addresses: ["192.0.2.1", "2001:db8::1"],
        tiers: [
          { name: "u", stage: "pre-dnat", ingress: ["GlobalNetworkPolicy/p"], egress: [], end: "Deny" },
          {
            name: "t",
            stage: "normal",
            ingress: [],
            egress: ["GlobalNetworkPolicy/p", "StagedNetworkPolicy/shop/s"],
            end: "Pass",
          },
        ],
        profiles: ["open"],
      },
      {
        kind: "workload",
        name: "shop/a",
        interfaceName: "calia",
        addresses: ["10.0.0.9/32"],
        status: "up",
        tiers: [{ name: "default", stage: "normal", ingress: ["GlobalNetworkPolicy/p"], egress: [], end: "Deny" }],
        profiles: [],
      },
    ],
  });
});

test("LiveDataplane.explain() judges a flow at a pod of this host by what the dataplane was told", async () => {
  const { live, at } = await rig();
  const explained = (from: string): HostExplanation =>
    live.explain({ from, to: "shop/a", protocol: "tcp", port: "80" }, () => undefined);
  assert.match(JSON.stringify(explained("10.0.0.1")), /"problem":"Unknown pod/);
  const policy = { tier: "default", inbound_rules: [{ ...RULE, ip_version: "ANY" }], outbound_rules: [] };
  const full = { msg: "ActivePolicyUpdate", id: ID, policy } as unknown as ToDataplane;
  await live.send(
    WORLD.flatMap((one) => (one.msg === "HostMetadataUpdate" ? [] : one.msg === full.msg ? [full] : [one])),
  );
  const verdictOf = (from: string): unknown => {
    const found = explained(from);
    return "problem" in found
      ? found.problem
      : [found.verdict.verdict, found.verdict.ingress?.policy, found.verdict.notes];
  };
  const behind = "This may not be in the kernel yet (starting: the dataplane has said nothing yet)";
  assert.deepEqual(verdictOf("10.0.0.1"), ["allow", "GlobalNetworkPolicy/p", [behind]]);
  at(0).events.onStatus?.({ phase: "in-sync", reason: "all is written", ready: true, counters: COUNTERS });
  assert.deepEqual(verdictOf("10.0.0.3"), ["deny", "", undefined]);
  await live.send([{ msg: "IPSetDeltaUpdate", id: "s:x", added_members: ["10.0.0.3"], removed_members: [] }]);
  assert.deepEqual(verdictOf("10.0.0.3"), ["allow", "GlobalNetworkPolicy/p", undefined]);
  assert.match(String(verdictOf("shop/elsewhere")), /Unknown pod.*own host only/);
  assert.match(String(verdictOf("fd00::1")), /\S/, "there is no such address at the pod");
});
