import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ToDataplane } from "@bulrush/proto";
import {
  clusterRoute,
  hostEndpoint,
  policy,
  policyId,
  profile,
  rule,
  tunnelEnd,
  workload,
} from "../testing/messages.ts";
import { readableMessage } from "./readable-message.ts";

const KEY = "YGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGBgYGA=";
const BAD_DENY = rule("deny", { src_net: ["x"] });

/** What is odd is left out, and the whole of it named. */
const ROWS: readonly (readonly [of: string, what: readonly string[], odd: ToDataplane, read: ToDataplane])[] = [
  [
    "policy np/default/p",
    ["inbound: src_net of rule 0", "outbound: src_net of rule 1"],
    policy(policyId("np/default/p"), [BAD_DENY], [rule("allow"), BAD_DENY]),
    policy(policyId("np/default/p"), [rule("deny")], [rule("allow"), rule("deny")]),
  ],
  [
    "profile p",
    ["inbound: src_net of rule 0"],
    profile("p", [BAD_DENY], [rule("allow")]),
    profile("p", [rule("deny")], [rule("allow")]),
  ],
  [
    "workload endpoint k8s default/a eth0",
    ["ipv4_nets", "ipv6_nets", "allow_spoofed_source_prefixes", "DSCP", "mac"],
    workload("a", {
      ipv4_nets: ["10.0.0.1/32", "fd00::1/128", ""],
      ipv6_nets: ["10.0.0.1/32", "fd00::1/128"],
      allow_spoofed_source_prefixes: ["10.0.0.0/33", "10.9.0.0/16"],
      qos_policies: [{ destination: "", dscp: 64 }],
      mac: "aa:bb",
    }),
    workload("a", {
      ipv4_nets: ["10.0.0.1/32"],
      ipv6_nets: ["fd00::1/128"],
      allow_spoofed_source_prefixes: ["10.9.0.0/16"],
    }),
  ],
  [
    "workload endpoint k8s default/a eth0",
    ["ingressPacketRate of 0.5", "egressPacketRate of -1", "egressBandwidth of NaN", "ingressMaxConnections of 1e+300"],
    workload("a", {
      qos_controls: {
        ingressPacketRate: 0.5,
        egressPacketRate: -1,
        egressBandwidth: NaN,
        ingressMaxConnections: 1e300,
        ingressBandwidth: 1000,
      },
    }),
    workload("a", {
      qos_controls: {
        ingressPacketRate: 1,
        egressPacketRate: undefined,
        egressBandwidth: undefined,
        ingressMaxConnections: 0xffffffff,
        ingressBandwidth: 1000,
      },
    }),
  ],
  [
    "host endpoint h",
    ["expected_ipv4_addrs", "expected_ipv6_addrs", "DSCP"],
    hostEndpoint("h", {
      expected_ipv4_addrs: ["192.0.2.1", "192.0.2.0/24"],
      expected_ipv6_addrs: ["192.0.2.1"],
      qos_policies: [{ destination: "", dscp: 0.5 }],
    }),
    hostEndpoint("h", { expected_ipv4_addrs: ["192.0.2.1"] }),
  ],
  ["route 10.0.0.0/99", ["dst"], clusterRoute("10.0.0.0/99"), { msg: "RouteRemove", dst: "10.0.0.0/99" }],
  [
    "route 10.0.0.0/26",
    ["dst_node_ip"],
    clusterRoute("10.0.0.0/26", { dst_node_ip: "oak", dst_node_name: "oak" }),
    clusterRoute("10.0.0.0/26", { dst_node_name: "oak" }),
  ],
  [
    "host oak",
    ["mac", "ipv6_addr"],
    tunnelEnd("oak", "10.0.0.1, aa, 192.0.2.1", "10.0.0.1, 66:00:00:00:00:01, fd00::1"),
    tunnelEnd("oak", "10.0.0.1, , 192.0.2.1", ", 66:00:00:00:00:01, fd00::1"),
  ],
  [
    "host oak",
    ["public_key"],
    { msg: "WireguardEndpointUpdate", hostname: "oak", public_key: "short", interface_ipv4_addr: "10.0.0.1" },
    { msg: "WireguardEndpointUpdate", hostname: "oak", public_key: "", interface_ipv4_addr: "10.0.0.1" },
  ],
  [
    "host oak",
    ["ipv4_addr"],
    {
      msg: "HostMetadataUpdate",
      hostname: "oak",
      ipv4_addr: "x",
      ipv6_addr: "fd00::1/64",
      asnumber: "",
      labels: new Map(),
    },
    {
      msg: "HostMetadataUpdate",
      hostname: "oak",
      ipv4_addr: "",
      ipv6_addr: "fd00::1/64",
      asnumber: "",
      labels: new Map(),
    },
  ],
];

describe("readableMessage()", () => {
  for (const [of, what, odd, read] of ROWS)
    it(`leaves ${what.join(", ")} out of ${odd.msg}, and says so`, () => {
      const told: unknown[] = [];
      assert.deepEqual(
        readableMessage(odd, (...words) => told.push(words)),
        read,
      );
      assert.deepEqual(told, [[of, what]]);
    });

  it("gives back the same message, where all can be read", () => {
    const messages: readonly ToDataplane[] = [
      ...ROWS.map(([, , , read]) => read).filter(({ msg }) => msg !== "ActiveProfileUpdate"),
      workload("a", {
        mac: "EE:00:00:00:00:01",
        qos_policies: [{ destination: "", dscp: 63 }],
        qos_controls: { a: 1 },
      }),
      hostEndpoint("h", { name: "*", expected_ipv6_addrs: ["fd00::1/128"] }),
      { msg: "WireguardEndpointV6Update", hostname: "a", public_key_v6: KEY, interface_ipv6_addr: "fd00::1" },
      { msg: "InSync" },
    ];
    for (const message of messages) assert.equal(readableMessage(message, assert.fail), message);
  });
});
