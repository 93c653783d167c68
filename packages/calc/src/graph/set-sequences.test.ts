import type { Rule } from "@bulrush/model";
import {
  EP1,
  EP1_NETS,
  EP2,
  EP2_NETS,
  networkSet,
  policy,
  profileLabels,
  setId,
  slice,
  workload,
} from "../testing/fixtures.ts";
import { sequence } from "../testing/sequence.ts";

const rule = (inbound: Rule): ReturnType<typeof policy> =>
  policy("pol-1", { selector: "all()", order: 20, inbound_rules: [inbound] });
const ports = (nets: readonly string[], port: string): string[] =>
  nets.map((net) => `${net.slice(0, net.indexOf("/"))},${port}`);

const UDP_SET = setId.port("all()", "udp", "udpport");
const TCP2_SET = setId.port("all()", "tcp", "tcpport2");

sequence("named ports make sets of addresses and ports", [
  {
    name: "udp",
    kvs: [rule({ protocol: "udp", dst_ports: ["udpport"] }), EP1],
    expect: { ipSets: { [UDP_SET]: ports(EP1_NETS, "udp:9091") } },
  },
  {
    name: "tcp, two endpoints with different numbers share addresses",
    kvs: [rule({ protocol: "tcp", dst_ports: ["tcpport2"] }), EP1, EP2],
    expect: { ipSets: { [TCP2_SET]: [...ports(EP1_NETS, "tcp:1234"), ...ports(EP2_NETS, "tcp:2345")] } },
  },
  {
    name: "the name of a port of another protocol",
    kvs: [rule({ protocol: "tcp", dst_ports: ["udpport"] }), EP1],
    expect: { ipSets: { [setId.port("all()", "tcp", "udpport")]: [] } },
  },
  {
    name: "udp with the name of a tcp port",
    kvs: [rule({ protocol: "udp", dst_ports: ["tcpport"] }), EP1],
    expect: { ipSets: { [setId.port("all()", "udp", "tcpport")]: [] } },
  },
  {
    name: "no protocol takes all",
    kvs: [
      rule({ dst_ports: ["p"] }),
      workload("w", {
        ipv4_nets: ["10.0.0.1/32"],
        ports: [
          { name: "p", protocol: "tcp", port: 1 },
          { name: "p", protocol: "udp", port: 2 },
          { name: "p", protocol: "sctp", port: 3 },
          { name: "q", protocol: "tcp", port: 4 },
        ],
      }),
      networkSet("n", ["11.0.0.0/8"], {}),
    ],
    expect: {
      ipSets: { [setId.port("all()", "any", "p")]: ["10.0.0.1,tcp:1", "10.0.0.1,udp:2", "10.0.0.1,sctp:3"] },
    },
  },
]);

const inherited = rule({ protocol: "tcp", src_selector: "profile == 'prof-1'", src_ports: ["tcpport"] });
const PORT_SET = setId.port("profile == 'prof-1'", "tcp", "tcpport");

sequence("named ports follow inherited labels", [
  {
    name: "prof-1",
    kvs: [inherited, EP1, EP2, profileLabels("prof-1", { profile: "prof-1" })],
    expect: { ipSets: { [PORT_SET]: ports(EP1_NETS, "tcp:8080") } },
  },
  {
    name: "both",
    kvs: [
      inherited,
      EP1,
      EP2,
      profileLabels("prof-1", { profile: "prof-1" }),
      profileLabels("prof-2", { profile: "prof-1" }),
    ],
    expect: { ipSets: { [PORT_SET]: ports([...new Set([...EP1_NETS, ...EP2_NETS])], "tcp:8080") } },
  },
  {
    name: "relabelled",
    kvs: [inherited, EP1, EP2, profileLabels("prof-1", { profile: "other" })],
    expect: { ipSets: { [PORT_SET]: [] } },
  },
  {
    name: "detached",
    kvs: [
      inherited,
      workload("wl1/ep1", { ...(EP1.value as object), profile_ids: [] }),
      profileLabels("prof-1", { profile: "prof-1" }),
    ],
    expect: { ipSets: { [PORT_SET]: [] } },
  },
]);

sequence("negated named ports: with a selector its set is there too", [
  {
    name: "no selector",
    kvs: [rule({ protocol: "tcp", "!dst_ports": ["tcpport"] }), EP1],
    expect: { ipSets: { [setId.port("all()", "tcp", "tcpport")]: ports(EP1_NETS, "tcp:8080") } },
  },
  {
    name: "with selectors",
    kvs: [
      rule({ protocol: "tcp", src_selector: "all()", "!src_selector": "foo == 'bar'", "!src_ports": ["tcpport"] }),
      EP1,
    ],
    expect: {
      ipSets: {
        [setId.selector("(all()) && (!(foo == 'bar'))")]: EP1_NETS,
        [setId.port("(all()) && (!(foo == 'bar'))", "tcp", "tcpport")]: ports(EP1_NETS, "tcp:8080"),
      },
    },
  },
]);

sequence("one selector may make a plain set and one of ports", [
  {
    name: "both",
    kvs: [
      policy("p", {
        inbound_rules: [
          { src_selector: "a == 'a'" },
          { protocol: "tcp", dst_selector: "a == 'a'", dst_ports: ["tcpport"] },
        ],
      }),
      EP1,
      EP2,
    ],
    expect: {
      ipSets: {
        [setId.selector("a == 'a'")]: [...new Set([...EP1_NETS, ...EP2_NETS])],
        [setId.port("a == 'a'", "tcp", "tcpport")]: ports([...new Set([...EP1_NETS, ...EP2_NETS])], "tcp:8080"),
      },
    },
  },
  {
    name: "plain only",
    kvs: [policy("p", { inbound_rules: [{ src_selector: "a == 'a'" }] }), EP1],
    expect: { ipSets: { [setId.selector("a == 'a'")]: EP1_NETS } },
  },
  {
    name: "port only",
    kvs: [policy("p", { inbound_rules: [{ protocol: "tcp", dst_selector: "a == 'a'", dst_ports: ["tcpport"] }] }), EP1],
    expect: { ipSets: { [setId.port("a == 'a'", "tcp", "tcpport")]: ports(EP1_NETS, "tcp:8080") } },
  },
]);

const toService = policy("p", { outbound_rules: [{ dst_service: "svc", dst_service_ns: "default" }] });
const fromService = policy("q", { inbound_rules: [{ src_service: "svc", src_service_ns: "default" }] });
const PORTS = setId.service("default/svc");
const ADDRESSES = setId.serviceAddresses("default/svc");

sequence("services make sets from the slices that name them", [
  {
    name: "no rule",
    kvs: [slice("s1", "svc", ["10.0.0.1"]), EP1],
    expect: { ipSets: {} },
  },
  {
    name: "egress",
    kvs: [toService, slice("s1", "svc", ["10.0.0.1"]), EP1],
    expect: { ipSets: { [PORTS]: ["10.0.0.1,tcp:80"] } },
  },
  {
    name: "ingress",
    kvs: [fromService, slice("s1", "svc", ["10.0.0.1", "not-an-ip"]), EP1],
    expect: { ipSets: { [ADDRESSES]: ["10.0.0.1/32"] } },
  },
  {
    name: "both, two slices share an address",
    kvs: [
      toService,
      fromService,
      slice("s1", "svc", ["10.0.0.1"]),
      slice(
        "s2",
        "svc",
        ["10.0.0.1", "fd00::1"],
        [
          { protocol: "UDP", port: 53 },
          { protocol: "TCP", port: 80 },
          { protocol: "SCTP", port: 9 },
          { port: 81 },
          { protocol: "TCP" },
        ],
      ),
      EP1,
    ],
    expect: {
      ipSets: {
        [PORTS]: ["10.0.0.1", "fd00::1"].flatMap((address) =>
          ["udp:53", "tcp:80", "sctp:9", "tcp:81"].map((port) => `${address},${port}`),
        ),
        [ADDRESSES]: ["10.0.0.1/32", "fd00::1/128"],
      },
    },
  },
  {
    name: "a slice that changed its service takes its members along",
    kvs: [toService, fromService, slice("s1", "other", ["10.0.0.1"]), EP1],
    expect: { ipSets: { [PORTS]: [], [ADDRESSES]: [] } },
  },
]);
