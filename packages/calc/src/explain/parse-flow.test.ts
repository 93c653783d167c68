import assert from "node:assert/strict";
import { test } from "node:test";
import { DataplaneState, type StateWorkload } from "../state/dataplane-state.ts";
import { knownEnds } from "./known-ends.ts";
import { type FlowText, parseFlow } from "./parse-flow.ts";

const STATE = new DataplaneState();
for (const workload of ["x/a", "x/b"])
  STATE.workloadEndpoints.set(workload, { id: { workload } } as unknown as StateWorkload);
STATE.hostEndpoints.set("one/eth0", {} as never);
const NODE = { type: "Resource", kind: "Node", namespace: "", name: "one" } as const;
const ENDS = knownEnds(STATE, [{ key: NODE, path: "", value: undefined, revision: "", type: "new" }]);
const base = { from: "x/a", to: "x/b", protocol: "TCP", port: 80 };

function parse(change: Partial<Record<keyof FlowText, unknown>>): unknown {
  const parsed = parseFlow({ ...base, ...change }, ENDS);
  return "flow" in parsed ? parsed.flow : parsed.problem;
}

test("parseFlow() reads pods, addresses, protocols of any case and ports of any type", () => {
  const flow = { source: { workload: "x/a" }, destination: { workload: "x/b" }, protocol: "tcp", port: 80 };
  assert.deepEqual(parse({}), flow);
  assert.deepEqual(parse({ protocol: "tcp", port: "80" }), flow);
  assert.deepEqual(parse({ from: "10.0.0.1" }), { ...flow, source: { address: "10.0.0.1" } });
  assert.deepEqual(parse({ to: "2001:DB8::0:1" }), { ...flow, destination: { address: "2001:db8::1" } });
  assert.deepEqual(parse({ from: "node:one" }), { ...flow, source: { host: "one" } });
  assert.deepEqual(parse({ to: "hostendpoint:one/eth0" }), { ...flow, destination: { hostEndpoint: "one/eth0" } });
  assert.deepEqual(parse({ protocol: 132 }), { ...flow, protocol: 132 });
  assert.deepEqual(parse({ protocol: "17" }), { ...flow, protocol: 17 });
  assert.deepEqual(parse({ ipVersion: "6", sourcePort: 1024 }), { ...flow, ipVersion: 6, sourcePort: 1024 });
  assert.deepEqual(parse({ protocol: "ICMPv6", port: undefined, icmpType: 128, icmpCode: "0" }), {
    source: flow.source,
    destination: flow.destination,
    protocol: "icmpv6",
    icmp: { type: 128, code: 0 },
  });
});

const bad: readonly [change: Partial<Record<keyof FlowText, unknown>>, want: RegExp][] = [
  [{ from: "x/nobody" }, /^Unknown pod "x\/nobody"$/],
  [{ to: "y/b" }, /^Unknown pod "y\/b"; did you mean "x\/b"\?$/],
  [{ to: "node:oen" }, /^Unknown node "oen"; did you mean "one"\?$/],
  [{ to: "hostendpoint:one/eth1" }, /^Unknown host endpoint "one\/eth1"; did you mean "one\/eth0"\?$/],
  [{ from: undefined }, /^No "from" in the flow/],
  [{ to: 7 }, /^No "to" in the flow/],
  [{ to: "web" }, /^"web" \(to\) is neither namespace\/pod nor an address$/],
  [{ from: "10.0.0.256" }, /is neither/],
  [{ protocol: "http" }, /^Unknown protocol "http"; expected icmp, tcp, udp/],
  [{ protocol: 0 }, /^Unknown protocol 0/],
  [{ protocol: "256" }, /^Unknown protocol/],
  [{ protocol: undefined }, /^Unknown protocol/],
  [{ port: 65536 }, /^Bad port 65536/],
  [{ port: "http" }, /^Bad port "http"/],
  [{ port: -1 }, /^Bad port/],
  [{ port: 1.5 }, /^Bad port/],
  [{ port: undefined }, /^A flow of protocol tcp needs a port$/],
  [{ protocol: 17, port: undefined }, /^A flow of protocol udp needs a port$/],
  [{ ipVersion: 5 }, /^Bad IP version 5/],
  [{ icmpType: 256 }, /^Bad icmpType/],
];
for (const [change, want] of bad) {
  test(`parseFlow() refuses ${JSON.stringify(change)}`, () => {
    assert.match(String(parse(change)), want);
  });
}
