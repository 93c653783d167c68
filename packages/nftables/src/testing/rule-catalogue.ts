import type { TableFamily } from "../state.ts";
import type { CtKey, Literal, MetaKey, Operand, PayloadField, Right, Statement } from "../statement.ts";

/** A rule, how nft writes it, and what nft makes of that (as `nft --debug=netlink` tells it, in the words of keys). */
export interface CatalogueEntry {
  readonly families: readonly TableFamily[];
  /** Hook that the rule needs; any will do where it is missing. */
  readonly hook?: "nat-prerouting" | "nat-postrouting" | "filter-input";
  readonly statements: readonly Statement[];
  readonly text: string;
  readonly key: string;
}

const payload = (field: PayloadField): Operand => ({ kind: "payload", field });
const meta = (key: MetaKey): Operand => ({ kind: "meta", key });
const ct = (key: CtKey): Operand => ({ kind: "ct", key });
const is = (left: Operand, right: Right): Statement => ({ kind: "match", left, op: "==", right });
const isNot = (left: Operand, right: Right): Statement => ({ kind: "match", left, op: "!=", right });
const value = (literal: Literal): Right => ({ kind: "value", value: literal });
const cidr = (text: string): Right => ({ kind: "cidr", cidr: text });
const masked = (mask: number, wanted: number): Right => ({ kind: "masked", mask, value: wanted });
const range = (first: number, last: number): Right => ({ kind: "range", first, last });
const set = (name: string): Right => ({ kind: "set", name });
const anonymous = (...elements: Extract<Right, { kind: "anonymous" }>["elements"]): Right => ({
  kind: "anonymous",
  elements,
});
const TCP = is(meta("l4proto"), value("tcp"));
const TCP_KEY = "meta load 16 1; cmp eq 1 0x06";
const DROP: Statement = { kind: "verdict", verdict: { kind: "drop" } };
const PORT_KEY = "payload load 1 transport 2 2";

function entry(
  families: readonly TableFamily[],
  statements: readonly Statement[],
  text: string,
  key: string,
  hook?: CatalogueEntry["hook"],
): CatalogueEntry {
  return { families, statements, text, key, ...(hook === undefined ? {} : { hook }) };
}

const IP: readonly TableFamily[] = ["ip"];
const IP6: readonly TableFamily[] = ["ip6"];
const INET: readonly TableFamily[] = ["inet"];
const IPS: readonly TableFamily[] = ["ip", "ip6", "inet"];

/** Every statement, operand and comparison at least once. Sets and maps that they name are in `catalogueTable`. */
export const RULE_CATALOGUE: readonly CatalogueEntry[] = [
  // Marks.
  entry(
    IPS,
    [{ kind: "set-mark", mask: 0x10000, value: 0x10000 }],
    "meta mark set meta mark | 0x00010000",
    "meta load 3 1; bitwise 1 1 0xfffffeff 0x00000100; meta set 3 1",
  ),
  entry(
    IPS,
    [{ kind: "set-mark", mask: 0x10000, value: 0 }],
    "meta mark set meta mark & 0xfffeffff",
    "meta load 3 1; bitwise 1 1 0xfffffeff 0x00000000; meta set 3 1",
  ),
  entry(
    IPS,
    [{ kind: "set-mark", mask: 0x30000, value: 0x10000 }],
    "meta mark set meta mark & 0xfffcffff | 0x00010000",
    "meta load 3 1; bitwise 1 1 0xfffffcff 0x00000100; meta set 3 1",
  ),
  entry(
    IPS,
    [{ kind: "set-mark", mask: 0xffffffff, value: 7 }],
    "meta mark set 0x00000007",
    "immediate 1 0x07000000; meta set 3 1",
  ),
  entry(
    IPS,
    [is(meta("mark"), masked(0x30000, 0x10000))],
    "meta mark & 0x00030000 == 0x00010000",
    "meta load 3 1; bitwise 1 1 0x00000300 0x00000000; cmp eq 1 0x00000100",
  ),
  entry(
    IPS,
    [isNot(meta("mark"), masked(0xff000000, 0xff000000))],
    "meta mark & 0xff000000 != 0xff000000",
    "meta load 3 1; bitwise 1 1 0x000000ff 0x00000000; cmp neq 1 0x000000ff",
  ),
  entry(IPS, [is(meta("mark"), value(0x12345678))], "meta mark 0x12345678", "meta load 3 1; cmp eq 1 0x78563412"),
  // Connection tracking.
  entry(
    IPS,
    [isNot(ct("state"), masked(6, 0))],
    "ct state established,related",
    "ct load 0 1; bitwise 1 1 0x06000000 0x00000000; cmp neq 1 0x00000000",
  ),
  entry(
    IPS,
    [isNot(ct("state"), masked(1, 0))],
    "ct state invalid",
    "ct load 0 1; bitwise 1 1 0x01000000 0x00000000; cmp neq 1 0x00000000",
  ),
  entry(
    IPS,
    [is(ct("state"), masked(64, 0))],
    "ct state & untracked == 0",
    "ct load 0 1; bitwise 1 1 0x40000000 0x00000000; cmp eq 1 0x00000000",
  ),
  entry(
    IPS,
    [is(ct("state"), masked(6, 0))],
    "ct state & 0x6 == 0",
    "ct load 0 1; bitwise 1 1 0x06000000 0x00000000; cmp eq 1 0x00000000",
  ),
  entry(IPS, [is(ct("state"), value(8))], "ct state == 0x8", "ct load 0 1; cmp eq 1 0x08000000"),
  entry(
    IPS,
    [is(ct("status"), masked(0x20, 0))],
    "ct status & dnat == 0",
    "ct load 2 1; bitwise 1 1 0x20000000 0x00000000; cmp eq 1 0x00000000",
  ),
  entry(
    IPS,
    [isNot(ct("status"), masked(0x20, 0))],
    "ct status dnat",
    "ct load 2 1; bitwise 1 1 0x20000000 0x00000000; cmp neq 1 0x00000000",
  ),
  entry(IPS, [is(ct("mark"), value(5))], "ct mark 0x5", "ct load 3 1; cmp eq 1 0x05000000"),
  entry(IPS, [is(ct("direction"), value("reply"))], "ct direction reply", "ct load 1 1; cmp eq 1 0x01"),
  entry(
    IPS,
    [{ kind: "connlimit", count: 4, over: true }, DROP],
    "ct count over 4 drop",
    "connlimit over 4; immediate 0 drop",
  ),
  entry(IPS, [{ kind: "connlimit", count: 4, over: false }], "ct count 4", "connlimit 4"),
  // Interfaces.
  entry(
    IPS,
    [is(meta("iifname"), { kind: "prefix", prefix: "cali" })],
    'iifname "cali*"',
    "meta load 6 1; cmp eq 1 0x63616c69",
  ),
  entry(
    IPS,
    [isNot(meta("oifname"), { kind: "prefix", prefix: "cali" })],
    'oifname != "cali*"',
    "meta load 7 1; cmp neq 1 0x63616c69",
  ),
  entry(
    IPS,
    [isNot(meta("iifname"), value("eth0"))],
    'iifname != "eth0"',
    "meta load 6 1; cmp neq 1 0x65746830000000000000000000000000",
  ),
  entry(
    IPS,
    [is(meta("oifname"), anonymous("eth1", "eth0"))],
    'oifname { "eth0", "eth1" }',
    "meta load 7 1; lookup 1 {41 0x65746830000000000000000000000000,0x65746831000000000000000000000000}",
  ),
  // Networks: whole bytes, other lengths, whole addresses, everything.
  entry(
    IP,
    [is(payload("ip saddr"), cidr("10.0.0.0/8"))],
    "ip saddr 10.0.0.0/8",
    "payload load 1 network 12 1; cmp eq 1 0x0a",
  ),
  entry(
    IP,
    [isNot(payload("ip daddr"), cidr("10.1.2.0/23"))],
    "ip daddr != 10.1.2.0/23",
    "payload load 1 network 16 4; bitwise 1 1 0xfffffe00 0x00000000; cmp neq 1 0x0a010200",
  ),
  entry(
    IP,
    [is(payload("ip saddr"), cidr("10.1.2.1/32"))],
    "ip saddr 10.1.2.1",
    "payload load 1 network 12 4; cmp eq 1 0x0a010201",
  ),
  entry(
    IP,
    [is(payload("ip saddr"), cidr("0.0.0.0/0"))],
    "ip saddr 0.0.0.0/0",
    "payload load 1 network 12 4; bitwise 1 1 0x00000000 0x00000000; cmp eq 1 0x00000000",
  ),
  entry(
    IP,
    [isNot(payload("ip saddr"), cidr("0.0.0.0/0"))],
    "ip saddr != 0.0.0.0/0",
    "payload load 1 network 12 4; bitwise 1 1 0x00000000 0x00000000; cmp neq 1 0x00000000",
  ),
  entry(
    IP,
    [is(payload("ip saddr"), value("192.0.2.1"))],
    "ip saddr 192.0.2.1",
    "payload load 1 network 12 4; cmp eq 1 0xc0000201",
  ),
  entry(
    IP6,
    [is(payload("ip6 saddr"), cidr("fd00::/64"))],
    "ip6 saddr fd00::/64",
    "payload load 1 network 8 8; cmp eq 1 0xfd00000000000000",
  ),
  entry(
    IP6,
    [isNot(payload("ip6 daddr"), cidr("fd00::/57"))],
    "ip6 daddr != fd00::/57",
    "payload load 1 network 24 16; bitwise 1 1 0xffffffffffffff800000000000000000 0x00000000000000000000000000000000; cmp neq 1 0xfd000000000000000000000000000000",
  ),
  entry(
    IP6,
    [is(payload("ip6 daddr"), cidr("fd00::1/128"))],
    "ip6 daddr fd00::1",
    "payload load 1 network 24 16; cmp eq 1 0xfd000000000000000000000000000001",
  ),
  entry(
    INET,
    [is(payload("ip saddr"), cidr("10.0.0.0/8"))],
    "ip saddr 10.0.0.0/8",
    "meta load 15 1; cmp eq 1 0x02; payload load 1 network 12 1; cmp eq 1 0x0a",
  ),
  entry(
    INET,
    [is(meta("nfproto"), value("ipv6")), is(payload("ip6 saddr"), value("fd00::1"))],
    "meta nfproto ipv6 ip6 saddr fd00::1",
    "meta load 15 1; cmp eq 1 0x0a; payload load 1 network 8 16; cmp eq 1 0xfd000000000000000000000000000001",
  ),
  // Protocols and ports.
  entry(IPS, [is(meta("l4proto"), value(253))], "meta l4proto 253", "meta load 16 1; cmp eq 1 0xfd"),
  entry(IPS, [isNot(meta("l4proto"), value("sctp"))], "meta l4proto != sctp", "meta load 16 1; cmp neq 1 0x84"),
  entry(
    IPS,
    [is(meta("l4proto"), anonymous("udp", "tcp"))],
    "meta l4proto { tcp, udp }",
    "meta load 16 1; lookup 1 {12 0x06,0x11}",
  ),
  entry(
    IPS,
    [TCP, is(payload("th dport"), value(80))],
    "meta l4proto tcp th dport 80",
    `${TCP_KEY}; ${PORT_KEY}; cmp eq 1 0x0050`,
  ),
  entry(
    IPS,
    [TCP, is(payload("th sport"), range(100, 200))],
    "meta l4proto tcp th sport 100-200",
    `${TCP_KEY}; payload load 1 transport 0 2; cmp gte 1 0x0064; cmp lte 1 0x00c8`,
  ),
  entry(
    IPS,
    [TCP, isNot(payload("th dport"), range(100, 200))],
    "meta l4proto tcp th dport != 100-200",
    `${TCP_KEY}; ${PORT_KEY}; range neq 1 0x0064 0x00c8`,
  ),
  entry(
    IPS,
    [TCP, is(payload("th dport"), anonymous(443, 80))],
    "meta l4proto tcp th dport { 80, 443 }",
    `${TCP_KEY}; ${PORT_KEY}; lookup 1 {13 0x0050,0x01bb}`,
  ),
  entry(
    IPS,
    [TCP, isNot(payload("th dport"), anonymous({ first: 100, last: 200 }, 80))],
    "meta l4proto tcp th dport != { 80, 100-200 }",
    `${TCP_KEY}; ${PORT_KEY}; lookup 1 {13 interval 0x0050,0x0051!,0x0064,0x00c9!} inverted`,
  ),
  entry(
    IPS,
    [TCP, is(payload("th dport"), anonymous(80, { first: 1024, last: 65535 }))],
    "meta l4proto tcp th dport { 80, 1024-65535 }",
    `${TCP_KEY}; ${PORT_KEY}; lookup 1 {13 interval 0x0050,0x0051!,0x0400}`,
  ),
  entry(
    IPS,
    [TCP, is(payload("th dport"), anonymous(80))],
    "meta l4proto tcp th dport 80",
    `${TCP_KEY}; ${PORT_KEY}; cmp eq 1 0x0050`,
  ),
  entry(
    IPS,
    [TCP, is(payload("th dport"), anonymous({ first: 1, last: 5 }, { first: 4, last: 9 }, 10))],
    "meta l4proto tcp th dport 1-10",
    `${TCP_KEY}; ${PORT_KEY}; cmp gte 1 0x0001; cmp lte 1 0x000a`,
  ),
  // ICMP.
  entry(
    IP,
    [is(payload("icmp type"), value(8))],
    "icmp type 8",
    "meta load 16 1; cmp eq 1 0x01; payload load 1 transport 0 1; cmp eq 1 0x08",
  ),
  entry(
    IP,
    [is(meta("l4proto"), value("icmp")), isNot(payload("icmp type"), value(8))],
    "meta l4proto icmp icmp type != 8",
    "meta load 16 1; cmp eq 1 0x01; payload load 1 transport 0 1; cmp neq 1 0x08",
  ),
  entry(
    IP6,
    [is(payload("icmpv6 type"), anonymous(135, 136))],
    "icmpv6 type { 135, 136 }",
    "meta load 16 1; cmp eq 1 0x3a; payload load 1 transport 0 1; lookup 1 {29 0x87,0x88}",
  ),
  entry(
    IP,
    [is(meta("l4proto"), value("icmp")), is(payload("icmp type-code"), value(0x0301))],
    "meta l4proto icmp @th,0,16 0x0301",
    "meta load 16 1; cmp eq 1 0x01; payload load 1 transport 0 2; cmp eq 1 0x0301",
  ),
  // Sets and maps.
  entry(IP, [is(payload("ip saddr"), set("nets4"))], "ip saddr @nets4", "payload load 1 network 12 4; lookup 1 @nets4"),
  entry(
    IP6,
    [isNot(payload("ip6 daddr"), set("hosts6"))],
    "ip6 daddr != @hosts6",
    "payload load 1 network 24 16; lookup 1 @hosts6 inverted",
  ),
  entry(
    IP,
    [is({ kind: "concat", parts: [payload("ip saddr"), meta("l4proto"), payload("th dport")] }, set("ports4"))],
    "ip saddr . meta l4proto . th dport @ports4",
    "payload load 1 network 12 4; meta load 16 9; payload load 10 transport 2 2; lookup 1 @ports4",
  ),
  entry(
    IP6,
    [isNot({ kind: "concat", parts: [payload("ip6 daddr"), meta("l4proto"), payload("th dport")] }, set("ports6"))],
    "ip6 daddr . meta l4proto . th dport != @ports6",
    "payload load 1 network 24 16; meta load 16 2; payload load 13 transport 2 2; lookup 1 @ports6 inverted",
  ),
  entry(
    IPS,
    [{ kind: "vmap", key: meta("iifname"), map: "dispatch" }],
    "iifname vmap @dispatch",
    "meta load 6 1; lookup 1 @dispatch map",
  ),
  // Routing.
  entry(
    ["ip", "ip6"],
    [is({ kind: "fib", result: "oif", flags: ["saddr", "mark", "iif"] }, value(0))],
    "fib saddr . mark . iif oif 0",
    "fib 1 1 13; cmp eq 1 0x00000000",
  ),
  entry(
    ["ip", "ip6"],
    [is({ kind: "fib", result: "type", flags: ["daddr"] }, value("local"))],
    "fib daddr type local",
    "fib 1 3 2; cmp eq 1 0x02000000",
    "filter-input",
  ),
  // What a rule does.
  entry(
    IPS,
    [{ kind: "counter" }, { kind: "verdict", verdict: { kind: "accept" } }],
    "counter accept",
    "counter; immediate 0 accept",
  ),
  entry(IPS, [{ kind: "verdict", verdict: { kind: "continue" } }], "continue", "immediate 0 continue"),
  entry(IPS, [{ kind: "verdict", verdict: { kind: "return" } }], "return", "immediate 0 return"),
  entry(
    IPS,
    [{ kind: "verdict", verdict: { kind: "jump", chain: "target" } }],
    "jump target",
    "immediate 0 jump target",
  ),
  entry(
    IPS,
    [{ kind: "verdict", verdict: { kind: "goto", chain: "target" } }],
    "goto target",
    "immediate 0 goto target",
  ),
  entry(
    IPS,
    [{ kind: "log", prefix: "calico-packet: ", level: "info" }],
    'log prefix "calico-packet: " level info',
    'log "calico-packet: " level 6',
  ),
  entry(IPS, [{ kind: "log", prefix: "x ", level: "warn" }], 'log prefix "x "', 'log "x " level 4'),
  entry(
    IPS,
    [{ kind: "nflog", group: 1, prefix: "DPI|tier", snaplen: 80 }],
    'log prefix "DPI|tier" group 1 snaplen 80',
    'log "DPI|tier" group 1 snaplen 80',
  ),
  entry(
    IPS,
    [{ kind: "limit", rate: 10, unit: "second", burst: 5, over: true }, DROP],
    "limit rate over 10/second burst 5 packets drop",
    "limit over 10/1 burst 5; immediate 0 drop",
  ),
  entry(
    IPS,
    [{ kind: "limit", rate: 9999, unit: "day", burst: 9999, over: false }],
    "limit rate 9999/day burst 9999 packets",
    "limit 9999/86400 burst 9999",
  ),
  entry(IP, [{ kind: "reject", with: "icmpx-port-unreachable" }], "reject with icmp port-unreachable", "reject icmp 3"),
  entry(
    IP,
    [{ kind: "reject", with: "icmpx-admin-prohibited" }],
    "reject with icmp admin-prohibited",
    "reject icmp 13",
  ),
  entry(
    IP6,
    [{ kind: "reject", with: "icmpx-port-unreachable" }],
    "reject with icmpv6 port-unreachable",
    "reject icmp 4",
  ),
  entry(
    IP6,
    [{ kind: "reject", with: "icmpx-admin-prohibited" }],
    "reject with icmpv6 admin-prohibited",
    "reject icmp 1",
  ),
  entry(
    INET,
    [{ kind: "reject", with: "icmpx-port-unreachable" }],
    "reject with icmpx port-unreachable",
    "reject icmpx 1",
  ),
  entry(
    IPS,
    [TCP, { kind: "reject", with: "tcp-reset" }],
    "meta l4proto tcp reject with tcp reset",
    `${TCP_KEY}; reject tcp-reset 0`,
  ),
  entry(["ip", "ip6"], [{ kind: "notrack" }], "notrack", "notrack"),
  // DSCP.
  entry(
    IP,
    [{ kind: "set-dscp", family: 4, dscp: 23 }],
    "ip dscp set 0x17",
    "payload load 1 network 0 2; bitwise 1 1 0xff03 0x005c; payload write 1 network 0 2 csum 10",
  ),
  entry(
    IP6,
    [{ kind: "set-dscp", family: 6, dscp: 23 }],
    "ip6 dscp set 0x17",
    "payload load 1 network 0 2; bitwise 1 1 0xf03f 0x05c0; payload write 1 network 0 2",
  ),
  entry(
    IP,
    [is(payload("ip dscp"), value(10))],
    "ip dscp 0x0a",
    "payload load 1 network 1 1; bitwise 1 1 0xfc 0x00; cmp eq 1 0x28",
  ),
  entry(
    IP6,
    [isNot(payload("ip6 dscp"), value(10))],
    "ip6 dscp != 0x0a",
    "payload load 1 network 0 2; bitwise 1 1 0x0fc0 0x0000; cmp neq 1 0x0280",
  ),
  // NAT.
  entry(["ip", "ip6"], [{ kind: "masquerade", fullyRandom: false }], "masquerade", "masq 0", "nat-postrouting"),
  entry(
    ["ip", "ip6"],
    [{ kind: "masquerade", fullyRandom: true }],
    "masquerade fully-random",
    "masq 16",
    "nat-postrouting",
  ),
  entry(
    ["ip", "ip6"],
    [TCP, { kind: "masquerade", fullyRandom: true, ports: { first: 100, last: 200 } }],
    "meta l4proto tcp masquerade to :100-200 fully-random",
    `${TCP_KEY}; immediate 1 0x0064; immediate 2 0x00c8; masq 16 ports 1 2`,
    "nat-postrouting",
  ),
  entry(
    IP,
    [{ kind: "nat", type: "snat", address: "192.0.2.1" }],
    "snat to 192.0.2.1",
    "immediate 1 0xc0000201; nat snat 4 1 1 flags 0",
    "nat-postrouting",
  ),
  entry(
    IP,
    [TCP, { kind: "nat", type: "snat", address: "192.0.2.1", ports: { first: 5, last: 9 } }],
    "meta l4proto tcp snat to 192.0.2.1:5-9",
    `${TCP_KEY}; immediate 1 0xc0000201; immediate 2 0x0005; immediate 3 0x0009; nat snat 4 1 1 ports 2 3 flags 0`,
    "nat-postrouting",
  ),
  entry(
    IP,
    [TCP, { kind: "nat", type: "dnat", address: "192.0.2.1", ports: { first: 80, last: 80 } }],
    "meta l4proto tcp dnat to 192.0.2.1:80",
    `${TCP_KEY}; immediate 1 0xc0000201; immediate 2 0x0050; nat dnat 4 1 1 ports 2 2 flags 0`,
    "nat-prerouting",
  ),
  entry(
    IP6,
    [{ kind: "nat", type: "dnat", address: "fd00::1" }],
    "dnat to fd00::1",
    "immediate 1 0xfd000000000000000000000000000001; nat dnat 6 1 1 flags 0",
    "nat-prerouting",
  ),
  entry(
    IP6,
    [TCP, { kind: "nat", type: "dnat", address: "fd00::1", ports: { first: 80, last: 80 } }],
    "meta l4proto tcp dnat to [fd00::1]:80",
    `${TCP_KEY}; immediate 1 0xfd000000000000000000000000000001; immediate 2 0x0050; nat dnat 6 1 1 ports 2 2 flags 0`,
    "nat-prerouting",
  ),
  // ARP.
  entry(
    ["arp"],
    [is(payload("arp operation"), value("reply")), is(payload("arp saddr ip"), value("10.0.0.1")), DROP],
    "arp operation reply arp saddr ip 10.0.0.1 drop",
    "payload load 1 network 6 2; cmp eq 1 0x0002; payload load 1 network 14 4; cmp eq 1 0x0a000001; immediate 0 drop",
  ),
];
