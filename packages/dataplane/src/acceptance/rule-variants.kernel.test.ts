import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { DataplaneRule, PortRange } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, ipSet, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";
import { ipv4Packet } from "../testing/raw-packets.ts";

const ADDRESSES = { a: { 4: "10.65.0.2", 6: "fd65::2" }, b: { 4: "10.65.0.3", 6: "fd65::3" } } as const;
const P = policyId("np/default/p");
const PROTOCOLS = { icmp: 1, tcp: 6, udp: 17, icmpv6: 58, sctp: 132, other: 253 } as const;
/** Lifetimes tell the packets of a case apart, and from what kernels send (64, 255); each is one less when it arrives. */
const FIRST_LIFETIME = 100;

type Protocol = keyof typeof PROTOCOLS;
/** "family protocol destination-port [source-port]", for ICMP "family protocol type code". */
type Packet = `${4 | 6} ${Protocol} ${number} ${number}`;

const tcp = { protocol: { name: "tcp" } } as const;
const icmp = { protocol: { name: "icmp" } } as const;
const ports = (...list: readonly (number | readonly [number, number])[]): PortRange[] =>
  list.map((one) => (typeof one === "number" ? { first: one, last: one } : { first: one[0], last: one[1] }));
const ranges = (from: number): PortRange[] =>
  ports(...Array.from({ length: 30 }, (_, i) => [from + i * 10, from + i * 10 + 4] as const));

/** Sent last in each case, and let through by a rule behind all others: what passes has arrived by then. */
const LAST: Packet = "4 udp 9999 9999";
const LAST_RULE = rule("allow", { protocol: { name: "udp" }, dst_ports: ports(9999) });

const SETS = [
  ipSet("s:a4", "NET", "10.65.0.2/32"),
  ipSet("s:a", "NET", "10.65.0.2/32", "fd65::2/128"),
  ipSet("s:empty", "NET"),
  ipSet("s:every", "NET", "0.0.0.0/0", "::/0"),
  ipSet("s:both-kinds", "NET", "10.65.0.0/28", "203.0.113.7/32", "fd65::/120", "fd99::1/128"),
  ipSet("n:empty", "IP_AND_PORT"),
  ipSet("n:web", "IP_AND_PORT", "10.65.0.3,tcp:80", "10.65.0.3,udp:53", "10.65.0.3,sctp:9", "fd65::3,tcp:80"),
  ipSet("n:from", "IP_AND_PORT", "10.65.0.2,tcp:555", "fd65::2,tcp:555"),
];

/** What a policy of the rules lets through, and what not; all else of the tier is denied. */
const cases: readonly (readonly [
  what: string,
  rules: readonly DataplaneRule[],
  passes: readonly Packet[],
  stops: readonly Packet[],
])[] = [
  ["no rules", [], [], ["4 tcp 80 1", "6 tcp 80 1"]],
  ["a version", [rule("allow", { ip_version: 6 })], ["6 tcp 80 1"], ["4 tcp 80 1"]],
  ["an empty set", [rule("allow", { src_ip_set_ids: ["s:empty"] })], [], ["4 tcp 80 1", "6 udp 80 1"]],
  ["not in an empty set", [rule("allow", { not_src_ip_set_ids: ["s:empty"] })], ["4 tcp 80 1", "6 tcp 80 1"], []],
  ["a set of one family", [rule("allow", { not_src_ip_set_ids: ["s:a4"] })], ["6 tcp 80 1"], ["4 tcp 80 1"]],
  ["not in every network", [rule("allow", { not_src_ip_set_ids: ["s:every"] })], [], ["4 tcp 80 1", "6 tcp 80 1"]],
  [
    "in one set and not in another",
    [rule("allow", { ...tcp, src_ip_set_ids: ["s:both-kinds"], not_src_ip_set_ids: ["s:a4"] })],
    ["6 tcp 80 1"],
    ["4 tcp 80 1", "6 udp 80 1"],
  ],
  [
    "excluded networks of one family take the rule out for the other",
    [rule("allow", { not_src_net: ["203.0.113.0/24"] })],
    ["4 tcp 80 1"],
    ["6 tcp 80 1"],
  ],
  [
    "not a protocol",
    [rule("allow", { not_protocol: { name: "tcp" } })],
    ["4 udp 80 1", "6 sctp 80 1", "4 other 0 0", "4 icmp 8 0"],
    ["4 tcp 80 1", "6 tcp 80 1"],
  ],
  ["not a protocol by number", [rule("allow", { not_protocol: { number: 253 } })], ["4 udp 8 1"], ["6 other 0 0"]],
  [
    "all ports",
    [rule("allow", { ...tcp, dst_ports: ports([0, 65_535]) })],
    ["4 tcp 0 1", "6 tcp 65535 1"],
    ["4 udp 80 1"],
  ],
  ["none of all ports", [rule("allow", { ...tcp, not_dst_ports: ports([0, 65_535]) })], [], ["4 tcp 1 1", "6 tcp 0 1"]],
  [
    "ranges that touch, overlap and repeat",
    [rule("allow", { ...tcp, dst_ports: ports([80, 90], [91, 95], [85, 93], 80, 80, 96, [65_530, 65_535]) })],
    ["4 tcp 80 1", "4 tcp 96 1", "6 tcp 94 1", "6 tcp 65530 1"],
    ["4 tcp 79 1", "4 tcp 97 1", "6 tcp 65529 1"],
  ],
  [
    "thirty ranges of both ends",
    [rule("allow", { ...tcp, src_ports: ranges(1000), dst_ports: ranges(2000) })],
    ["4 tcp 2294 1291", "6 tcp 2000 1000"],
    ["4 tcp 2295 1291", "4 tcp 2294 1295", "6 tcp 2009 1000"],
  ],
  [
    "thirty ranges within a range",
    [rule("allow", { ...tcp, dst_ports: ports([2000, 2299]), not_dst_ports: ranges(2000) })],
    ["4 tcp 2295 1", "6 tcp 2005 1"],
    ["4 tcp 2294 1", "6 tcp 2000 1", "4 tcp 2300 1"],
  ],
  [
    "none of the named ports, whatever the protocol",
    [rule("allow", { not_dst_named_port_ip_set_ids: ["n:web"] })],
    ["4 tcp 81 1", "4 udp 80 1", "4 icmp 8 0", "6 udp 53 1", "6 other 0 0"],
    ["4 tcp 80 1", "4 udp 53 1", "4 sctp 9 1", "6 tcp 80 1"],
  ],
  [
    "an empty named port beside a number",
    [rule("allow", { ...tcp, dst_ports: ports(81), dst_named_port_ip_set_ids: ["n:empty"] })],
    ["4 tcp 81 1", "6 tcp 81 1"],
    ["4 tcp 80 1"],
  ],
  [
    "a named port of the source among numbers, and sets",
    [
      rule("allow", {
        ...tcp,
        src_ip_set_ids: ["s:a"],
        src_ports: ports([500, 554]),
        src_named_port_ip_set_ids: ["n:from"],
      }),
    ],
    ["4 tcp 9 555", "6 tcp 9 555", "6 tcp 9 500"],
    ["4 tcp 9 556", "6 udp 9 555"],
  ],
  [
    "a type and code of ICMP",
    [rule("allow", { ...icmp, icmp: { type: 8, code: 1 } })],
    ["4 icmp 8 1"],
    ["4 icmp 8 0", "4 icmp 13 1", "6 icmpv6 128 1", "6 icmpv6 8 1"],
  ],
  [
    "not a type and code of ICMPv6",
    [rule("allow", { protocol: { name: "ICMPv6" }, not_icmp: { type: 128, code: 1 } })],
    ["6 icmpv6 128 0"],
    ["6 icmpv6 128 1", "4 icmp 8 0", "6 tcp 80 1"],
  ],
  [
    "a port without a protocol is that of any that has ports",
    [rule("allow", { dst_ports: ports(80) })],
    ["4 tcp 80 1", "6 udp 80 1", "4 sctp 80 1"],
    ["4 icmp 8 0", "6 other 80 1"],
  ],
  [
    "log goes on, and pass of the last tier leads to the profiles",
    [
      rule("log", { ...tcp, src_net: ["10.0.0.0/8", "11.0.0.0/8"], not_dst_net: ["12.0.0.0/8"], dst_ports: ranges(1) }),
      rule("deny", { ...tcp, dst_ports: ports(80) }),
      rule("pass", tcp),
    ],
    ["4 tcp 81 1", "6 tcp 3 1"],
    ["4 tcp 80 1", "6 tcp 80 1", "4 udp 81 1"],
  ],
];

/** Ports and whatever conntrack asks of a first packet of the protocol; checksums are left out, and not checked. */
function payloadOf(protocol: Protocol, first: number, second: number): Buffer {
  if (protocol === "icmp" || protocol === "icmpv6") {
    // Echo messages are told apart by what follows: the type and code serve.
    return Buffer.from([first, second, 0, 0, first, second, 0, 1]);
  }
  const payload = Buffer.alloc(protocol === "sctp" ? 32 : 20);
  payload.writeUInt16BE(second, 0);
  payload.writeUInt16BE(first, 2);
  // RFC 9293: data offset 5, SYN. RFC 768: the length. RFC 9260: an INIT chunk of 20 bytes with a tag.
  if (protocol === "tcp") payload.set([5 << 4, 2, 0xff, 0xff], 12);
  if (protocol === "udp") payload.writeUInt16BE(payload.length, 4);
  if (protocol === "sctp") payload.set([1, 0, 0, 20, 0, 0, 0, 7, 0, 1, 0, 0, 0, 4, 0, 4, 0, 0, 0, 7], 12);
  return payload;
}

function ipv6Packet(from: Buffer, to: Buffer, protocol: number, payload: Buffer): Buffer {
  const header = Buffer.from([0x60, 0, 0, 0, 0, payload.length, protocol, 0]);
  return Buffer.concat([header, from, to, payload]);
}

const ipv6Bytes = (last: number): Buffer => Buffer.from([0xfd, 0x65, ...Array.from({ length: 13 }, () => 0), last]);

function packetOf(text: Packet, lifetime: number): { readonly type: string; readonly bytes: Buffer } {
  const [family, protocol = "", first, second] = text.split(" ");
  const payload = payloadOf(protocol as Protocol, Number(first), Number(second));
  const number = PROTOCOLS[protocol as Protocol];
  if (family === "6") {
    const bytes = ipv6Packet(ipv6Bytes(2), ipv6Bytes(3), number, payload);
    bytes.writeUInt8(lifetime, 7);
    return { type: "86dd", bytes };
  }
  const bytes = ipv4Packet(ADDRESSES.a[4], ADDRESSES.b[4], number, payload);
  // The header's sum (RFC 1624): the lifetime is the upper byte of its word.
  const sum = (~bytes.readUInt16BE(10) & 0xffff) + ((lifetime - bytes.readUInt8(8)) << 8);
  bytes.writeUInt16BE(~((sum & 0xffff) + (sum >> 16)) & 0xffff, 10);
  bytes.writeUInt8(lifetime, 8);
  return { type: "0800", bytes };
}

/** Packets go from pod a to pod b, whose ingress policy is that of the case; what arrives is noted in pod b. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let running: KernelDataplane;
  const inB = (command: string, input = ""): string => lab.run(`ip netns exec b ${command}`, input);
  const pod = (name: "a" | "b", tiers: Parameters<typeof workload>[1] = {}) =>
    workload(name, {
      ipv4_nets: [`${ADDRESSES[name][4]}/32`],
      ipv6_nets: [`${ADDRESSES[name][6]}/128`],
      mac: lab.macOf(name),
      profile_ids: ["open"],
      ...tiers,
    });
  const arrived = (): Set<number> => {
    const lifetimes = new Set<number>();
    for (const family of ["ip", "ip6"])
      for (const [, number] of inB(`nft list set ${family} probe seen`).matchAll(/(?<=[{,]\s*)(\d+)(?=\s*[,}])/g))
        lifetimes.add(Number(number) + 1);
    return lifetimes;
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", ADDRESSES.a[4], ADDRESSES.a[6]);
    lab.addPod("b", ADDRESSES.b[4], ADDRESSES.b[6]);
    lab.run("sysctl -qw net.ipv6.conf.all.forwarding=1");
    running = startKernelDataplane();
    await running.send(...SETS, profile("open", [rule("allow")], [rule("allow")]), pod("a"), pod("b"), IN_SYNC);
    lab.run("sysctl -qw net.netfilter.nf_conntrack_checksum=0");
    const routes = (): string => `${lab.run("ip route")}${lab.run("ip -6 route")}`;
    await until("pods have routes", () =>
      [ADDRESSES.a, ADDRESSES.b].every(
        (one) => routes().includes(`${one[4]} dev`) && routes().includes(`${one[6]} dev`),
      ),
    );
  });
  after(async () => {
    await running.stop();
    lab.close();
  });

  for (const [what, rules, wanted, stops] of cases)
    it(`P9, P13: ${what}`, async () => {
      const passes = [...wanted, LAST];
      await running.send(policy(P, [...rules, LAST_RULE]), pod("b", { tiers: [tier("default", [P])] }));
      // Afresh, so that lifetimes tell the packets of this case apart.
      inB(
        "nft -f -",
        [
          ["ip", "ip ttl"],
          ["ip6", "ip6 hoplimit"],
        ]
          .map(
            ([family, field]) => `add table ${family} probe; delete table ${family} probe; table ${family} probe {
              set seen { typeof ${field}; size 256; flags dynamic; };
              chain c { type filter hook prerouting priority -400; update @seen { ${field} }; }; };`,
          )
          .join("\n"),
      );
      const packets = [...stops, ...passes];
      const macs = `eeeeeeeeeeee${lab.macOf("a").replaceAll(":", "")}`;
      const send = (text: Packet): void => {
        const { bytes, type } = packetOf(text, FIRST_LIFETIME + packets.indexOf(text));
        lab.sendFrame("a", `${macs}${type}${bytes.toString("hex")}`);
      };
      for (const text of packets) send(text);
      const missing = (): Packet[] => {
        const there = arrived();
        return passes.filter((text) => !there.has(FIRST_LIFETIME + packets.indexOf(text)));
      };
      await until(`${passes.join(", ")} pass`, () => missing().length === 0);
      const there = arrived();
      assert.deepEqual(
        stops.filter((text) => there.has(FIRST_LIFETIME + packets.indexOf(text))),
        [],
      );
    });
});
