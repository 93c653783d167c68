import assert from "node:assert/strict";
import { after, before, beforeEach, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import {
  hostEndpoint,
  IN_SYNC,
  ipSet,
  ipSetDelta,
  policy,
  policyId,
  profile,
  rule,
  tier,
  workload,
} from "../testing/messages.ts";

const A = "10.65.0.2";
const B = "10.65.0.3";
const EXT = "192.168.7.2";
const HOST = "192.168.7.1";
const P = policyId("np/default/p");
const Q = policyId("gnp/q");

const TCP = { name: "tcp" } as const;
const port = (first: number, last = first) => ({ first, last });

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let running: KernelDataplane;

  const start = (settings: Readonly<Record<string, string>> = {}): void => {
    running = startKernelDataplane(settings);
  };
  const stop = (): Promise<void> => running.stop();
  const send = (...messages: readonly ToDataplane[]): Promise<void> => running.send(...messages);
  const pod = (name: "a" | "b", fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload(name, {
      ipv4_nets: [`${name === "a" ? A : B}/32`],
      mac: lab.macOf(name),
      profile_ids: ["open"],
      ...fields,
    });
  const inbound = (...policies: readonly (typeof P)[]) => ({ tiers: [tier("default", policies)] });

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    lab.addPod("b", B);
    await Promise.all([
      lab.serve("a", 80),
      lab.serve("b", 80, 81, 8080, 1016),
      lab.serve("ext", 80, 81),
      lab.serve(undefined, 7000, 7001),
    ]);
    start();
    await send(profile("open", [rule("allow")], [rule("allow")]), profile("shut", [], []), pod("a"), pod("b"), IN_SYNC);
  });
  beforeEach(() => send({ msg: "HostEndpointRemove", id: "eth0" }, pod("a"), pod("b")));
  after(async () => {
    await stop();
    lab.close();
  });

  it("P1: denies without policy and profile, and allows with an allowing profile", async () => {
    assert.equal(await lab.connect("a", B, 80), "connected");
    await send(pod("b", { profile_ids: [] }));
    assert.equal(await lab.connect("a", B, 80), "silence");
    await send(pod("b", { profile_ids: ["shut"] }));
    assert.equal(await lab.connect("a", B, 80), "silence");
  });

  it("P2: ingress policy lets in what it names, and leaves egress free", async () => {
    await send(
      ipSet("s:a", "NET", `${A}/32`),
      policy(P, [rule("allow", { src_ip_set_ids: ["s:a"] })]),
      pod("b", inbound(P)),
    );
    assert.equal(await lab.connect("a", B, 80), "connected");
    assert.equal(await lab.connect("ext", B, 80), "silence");
    assert.equal(await lab.connect("b", EXT, 80), "connected");
    await send(ipSetDelta("s:a", [], [`${A}/32`]));
    assert.equal(await lab.connect("a", B, 80), "silence");
  });

  it("P5: denies all egress where a policy is for egress and has no rule", async () => {
    await send(policy(P, [rule("allow")], []), pod("a", { tiers: [tier("default", [P], [P])] }));
    assert.equal(await lab.connect("a", B, 80), "silence");
    assert.equal(await lab.connect("b", A, 80), "connected");
  });

  it("P6: Deny ends, Pass goes on to the next tier and at last to the profiles", async () => {
    await send(policy(Q, [rule("deny")], [], { tier: "first" }), policy(P, [rule("pass")]));
    const tiers = (order: readonly (typeof P)[]) => ({ tiers: order.map((id) => tier(id.name, [id])) });
    await send(pod("b", tiers([Q, P])));
    assert.equal(await lab.connect("a", B, 80), "silence");
    await send(policy(Q, [rule("pass")], [], { tier: "first" }));
    assert.equal(await lab.connect("a", B, 80), "connected");
    await send(policy(P, [rule("deny")]));
    assert.equal(await lab.connect("a", B, 80), "silence");
  });

  it("P8: is exact through every change of a set of networks and addresses", async () => {
    await send(ipSet("s:n", "NET"), policy(P, [rule("allow", { src_ip_set_ids: ["s:n"] })]), pod("b", inbound(P)));
    const steps: readonly (readonly [added: string[], removed: string[], fromA: boolean, fromExt: boolean])[] = [
      [["10.65.0.0/24"], [], true, false],
      [["192.168.7.2/32"], [], true, true],
      [["10.0.0.0/8"], ["10.65.0.0/24"], true, true],
      [["0.0.0.0/1"], ["10.0.0.0/8", "192.168.7.2/32"], true, false],
      [["128.0.0.0/1"], [], true, true],
      [[`${A}/32`], ["0.0.0.0/1", "128.0.0.0/1"], true, false],
      [[], [`${A}/32`], false, false],
    ];
    for (const [added, removed, fromA, fromExt] of steps) {
      await send(ipSetDelta("s:n", added, removed));
      const outcome = (allowed: boolean) => (allowed ? "connected" : "silence");
      assert.equal(await lab.connect("a", B, 80), outcome(fromA), `from a, after ${added.join()} - ${removed.join()}`);
      assert.equal(
        await lab.connect("ext", B, 80),
        outcome(fromExt),
        `from ext, after ${added.join()} - ${removed.join()}`,
      );
    }
  });

  it("asks for every set of a rule, each of addresses and networks, and for none of the negated", async () => {
    await send(
      ipSet("s:x", "NET", `${A}/32`, "192.168.0.0/16"),
      ipSet("s:y", "NET", "10.65.0.0/24", "192.168.7.2/32"),
      ipSet("s:z", "NET", "10.99.0.0/16", `${A}/32`),
      policy(P, [
        rule("allow", {
          src_ip_set_ids: ["s:x", "s:y"],
          not_src_ip_set_ids: ["s:z"],
          dst_ports: [port(80)],
          protocol: TCP,
        }),
      ]),
      pod("b", inbound(P)),
    );
    assert.equal(await lab.connect("a", B, 80), "silence");
    assert.equal(await lab.connect("ext", B, 80), "connected");
    assert.equal(await lab.connect("ext", B, 81), "silence");
    await send(ipSetDelta("s:z", [], [`${A}/32`]));
    assert.equal(await lab.connect("a", B, 80), "connected");
  });

  it("P9: opens the ports that are listed, numeric ones in several blocks and named ones, and no other", async () => {
    const many = Array.from({ length: 16 }, (_, i) => port(1001 + i));
    await send(
      ipSet("n:web", "IP_AND_PORT", `${B},tcp:8080`, `${B},udp:81`),
      policy(P, [rule("allow", { protocol: TCP, dst_ports: many, dst_named_port_ip_set_ids: ["n:web"] })]),
      pod("b", inbound(P)),
    );
    const outcomes = await Promise.all([1016, 8080, 81, 80].map((number) => lab.connect("a", B, number)));
    assert.deepEqual(outcomes, ["connected", "connected", "silence", "silence"]);
  });

  it("P13: a negated port wins over a range that holds it", async () => {
    await send(
      policy(P, [rule("allow", { protocol: TCP, dst_ports: [port(1, 9000)], not_dst_ports: [port(81)] })]),
      pod("b", inbound(P)),
    );
    assert.equal(await lab.connect("a", B, 80), "connected");
    assert.equal(await lab.connect("a", B, 81), "silence");
  });

  it("P16: drops what a workload sends with another source than its own", async () => {
    lab.run("ip -n a addr add 10.65.0.99/32 dev lo");
    lab.run("ip route add 10.65.0.99/32 via 192.168.7.2");
    try {
      assert.equal(await lab.connect("a", EXT, 80), "connected");
      lab.run("ip -n a route replace default via 169.254.1.1 dev eth0 src 10.65.0.99");
      assert.equal(await lab.connect("a", EXT, 80), "silence");
    } finally {
      lab.run(`ip -n a route replace default via 169.254.1.1 dev eth0`);
      lab.run("ip -n a addr del 10.65.0.99/32 dev lo");
      lab.run("ip route del 10.65.0.99/32");
    }
    assert.equal(await lab.connect("a", EXT, 80), "connected");
  });

  it("P18: treats packets from a workload to its host as configured; the host always reaches its workloads", async () => {
    assert.equal(await lab.connect("a", HOST, 7000), "silence");
    assert.equal(await lab.connect(undefined, A, 80), "connected");
    for (const action of ["ACCEPT", "RETURN"]) {
      await stop();
      start({ DefaultEndpointToHostAction: action });
      await send(profile("open", [rule("allow")], [rule("allow")]), pod("a"), pod("b"), IN_SYNC);
      assert.equal(await lab.connect("a", HOST, 7000), "connected");
    }
    await stop();
    start();
    await send(profile("open", [rule("allow")], [rule("allow")]), profile("shut", [], []), pod("a"), pod("b"), IN_SYNC);
    assert.equal(await lab.connect("a", HOST, 7000), "silence");
  });

  it("closes an interface that no endpoint is known for", async () => {
    lab.addPod("c", "10.65.0.4");
    lab.run("ip route add 10.65.0.4/32 dev calic");
    assert.equal(await lab.connect("c", EXT, 80), "silence");
    assert.equal(await lab.connect("a", "10.65.0.4", 80), "silence");
  });

  it("keeps an allowed connection over a stop and a start, and writes nothing when nothing changed", async () => {
    await send(
      ipSet("s:a", "NET", `${A}/32`),
      policy(P, [rule("allow", { src_ip_set_ids: ["s:a"] })]),
      pod("b", inbound(P)),
    );
    const echo = await lab.openConnection("a", B, 80);
    assert.equal(await echo("one"), "one");
    const generation = running.kernel.nft.generation();
    await stop();
    assert.equal(await echo("two"), "two");
    start();
    await send(
      ipSet("s:a", "NET", `${A}/32`),
      policy(P, [rule("allow", { src_ip_set_ids: ["s:a"] })]),
      profile("open", [rule("allow")], [rule("allow")]),
      pod("a"),
      pod("b", inbound(P)),
      IN_SYNC,
    );
    assert.equal(running.kernel.nft.generation(), generation);
    assert.equal(await echo("three"), "three");
    assert.equal(await lab.connect("ext", B, 80), "silence");
    await send(profile("shut", [], []));
  });

  it("routes to workloads by a permanent neighbour", () => {
    assert.match(lab.run("ip route show dev calia"), /^10\.65\.0\.2 scope link metric 1024/m);
    assert.match(
      lab.run("ip neigh show dev calia"),
      new RegExp(`^10\\.65\\.0\\.2 lladdr ${lab.macOf("a")} PERMANENT`, "m"),
    );
  });

  const guard = (fields: Parameters<typeof hostEndpoint>[1]): Promise<void> =>
    send(hostEndpoint("eth0", { name: "eth0", ...fields }));
  const OUT_81 = policy(
    Q,
    [rule("allow", { protocol: TCP, dst_ports: [port(7000)] })],
    [rule("allow", { protocol: TCP, dst_ports: [port(81)] })],
  );
  const guardBoth = async (): Promise<void> => {
    await send(OUT_81);
    await guard({ tiers: [tier("default", [Q], [Q])] });
  };

  it("P21: a host endpoint closes the host but for failsafe ports, and leaves pods and the way to own pods alone", async () => {
    await guard({});
    assert.equal(await lab.connect(undefined, EXT, 80), "silence");
    assert.equal(await lab.connect("ext", HOST, 7000), "silence");
    assert.equal(await lab.connect("ext", HOST, 22), "refused");
    assert.equal(await lab.connect(undefined, A, 80), "connected");
    assert.equal(await lab.connect("a", EXT, 80), "connected");
    assert.equal(await lab.connect("ext", A, 80), "connected");
  });

  it("a host endpoint opens what its policy names, in both directions", async () => {
    await guardBoth();
    const outcomes = await Promise.all([
      lab.connect(undefined, EXT, 81),
      lab.connect(undefined, EXT, 80),
      lab.connect("ext", HOST, 7000),
      lab.connect("ext", HOST, 7001),
    ]);
    assert.deepEqual(outcomes, ["connected", "silence", "connected", "silence"]);
  });

  it("defect a: judges a DNATed packet by where it really goes, and only it", async () => {
    await guardBoth();
    lab.nft(`table ip foreign { chain output { type nat hook output priority -100;
          ip daddr 9.9.9.9 tcp dport 1 dnat to ${EXT}:81;
          ip daddr 9.9.9.9 tcp dport 81 dnat to ${EXT}:80; }; }`);
    lab.run("ip route add 9.9.9.9/32 via 192.168.7.2");
    try {
      assert.equal(await lab.connect(undefined, "9.9.9.9", 1), "connected");
      assert.equal(await lab.connect(undefined, "9.9.9.9", 81), "silence");
      assert.equal(await lab.connect(undefined, EXT, 80), "silence");
    } finally {
      lab.run("ip route del 9.9.9.9/32");
      lab.run("nft delete table ip foreign");
    }
  });

  it("defect b: judges packets that are not tracked too", async () => {
    await guard({ tiers: [tier("default", [], [Q])], profile_ids: ["open"] });
    lab.nft("table ip foreign { chain output { type filter hook output priority -250; tcp dport 80 notrack; }; }");
    try {
      assert.equal(await lab.connect(undefined, EXT, 80), "silence");
    } finally {
      lab.run("nft delete table ip foreign");
    }
  });

  it("P23: forward policy judges what passes through, but not the host's way to its own pods", async () => {
    await send(policy(Q, [rule("deny")], [rule("deny")]));
    await guard({ forward_tiers: [tier("default", [Q], [Q])], profile_ids: ["open"] });
    assert.equal(await lab.connect("ext", A, 80), "silence");
    assert.equal(await lab.connect("a", EXT, 80), "silence");
    assert.equal(await lab.connect("a", B, 80), "connected");
    assert.equal(await lab.connect(undefined, A, 80), "connected");
  });

  it("P20: pre-DNAT policy denies what comes in, to the host and to pods", async () => {
    await send(policy(Q, [rule("deny", { protocol: TCP, dst_ports: [port(80), port(7000)] })], [], { pre_dnat: true }));
    await guard({ pre_dnat_tiers: [tier("default", [Q], [], "Pass")], profile_ids: ["open"] });
    const outcomes = await Promise.all([
      lab.connect("ext", HOST, 7000),
      lab.connect("ext", HOST, 7001),
      lab.connect("ext", A, 80),
      lab.connect("a", B, 80),
    ]);
    assert.deepEqual(outcomes, ["silence", "connected", "silence", "connected"]);
  });

  it("P30: do-not-track policy both ways lets a port through without conntrack, and nothing when one way is missing", async () => {
    const ports = { protocol: TCP, dst_ports: [port(7000)] };
    const answers = { protocol: TCP, src_ports: [port(7000)] };
    await send(policy(Q, [rule("allow", ports)], [rule("allow", answers)], { untracked: true }));
    await guard({ untracked_tiers: [tier("default", [Q], [Q], "Pass")] });
    assert.equal(await lab.connect("ext", HOST, 7000), "connected");
    assert.equal(await lab.connect("ext", HOST, 7001), "silence");
    await send(policy(Q, [rule("allow", ports)], [], { untracked: true }));
    assert.equal(await lab.connect("ext", HOST, 7000), "silence");
  });
});
