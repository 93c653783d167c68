import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { hostEndpoint, IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";
import { ipv4Packet, strayAck } from "../testing/raw-packets.ts";

const A = "10.65.0.2";
const HOST = "192.168.7.1";
const EXT = "192.168.7.2";
const Q = policyId("gnp/q");
const R = policyId("gnp/r");
const TCP = { name: "tcp" } as const;
/** RFC 3692: protocol numbers for experiments. */
const [EXPERIMENT_1, EXPERIMENT_2] = [253, 254] as const;

/** Host endpoints and packets that come from outside, or from where no socket would send them. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  const port = (number: number) => ({ protocol: TCP, dst_ports: [{ first: number, last: number }] });
  const guard = (fields: Parameters<typeof hostEndpoint>[1]): Promise<void> =>
    dataplane.send(hostEndpoint("eth0", { name: "eth0", ...fields }));
  const preDnat = (id: typeof Q, ...rules: readonly ReturnType<typeof rule>[]): ToDataplane =>
    policy(id, rules, [], { pre_dnat: true });
  /** Packets of the counters of table `probe` of a namespace, in order. */
  const counts = (where = ""): number[] =>
    [...lab.run(`${where}nft list table ip probe`).matchAll(/counter packets (\d+)/g)].map(([, n]) => Number(n));
  /** Sends until the last counter says that a packet has come by: what counts before it has been asked by then. */
  const sendUntilCounted = (what: string, send: () => void, where = ""): Promise<void> => {
    const before = counts(where).at(-1) ?? 0;
    return until(what, () => {
      send();
      return (counts(where).at(-1) ?? 0) > before;
    });
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    await Promise.all([lab.serve("a", 80, 8055), lab.serve("ext", 80, 5473), lab.serve(undefined, 7000, 8055)]);
  });
  beforeEach(async () => {
    dataplane = startKernelDataplane();
    await dataplane.send(
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"] }),
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  });
  afterEach(async () => {
    await dataplane.stop();
    lab.nft("add table ip probe; delete table ip probe; add table ip foreign; delete table ip foreign;");
  });
  after(() => lab.close());

  it("P17: the host answers a stray acknowledgement with a reset, with and without a host endpoint that is open", async () => {
    lab.run(
      "ip netns exec ext nft -f -",
      "table ip probe { chain c { type filter hook input priority 0; tcp sport 7009 tcp flags & rst == rst counter; }; }",
    );
    const where = "ip netns exec ext ";
    const stray = (): void => lab.sendIpv4("ext", strayAck(EXT, HOST, 40000, 7009));
    await sendUntilCounted("a reset comes back", stray, where);
    await guard({ profile_ids: ["open"] });
    await sendUntilCounted("a reset comes back past a host endpoint", stray, where);
    lab.run("ip netns exec ext nft delete table ip probe");
  });

  it("P21: a closed host endpoint lets no protocol without ports in or to others, and leaves what must work alone", async () => {
    lab.nft(`table ip probe {
      chain behind { type filter hook input priority 10; ip protocol { 253, 254 } counter; }
      chain came { type filter hook prerouting priority -400; ip protocol { 253, 254 } counter; }
    }`);
    lab.nft(`table ip foreign { chain output { type nat hook output priority -100;
      ip daddr 10.96.0.1 tcp dport 1 dnat to ${A}:80; }; }`);
    lab.run("ip route replace 10.96.0.0/16 via 192.168.7.2");
    await guard({});
    for (const protocol of [EXPERIMENT_1, EXPERIMENT_2])
      await sendUntilCounted("the packet has come", () =>
        lab.sendIpv4("ext", ipv4Packet(EXT, HOST, protocol, Buffer.alloc(8))),
      );
    assert.equal(counts()[0], 0);
    const outcomes = await Promise.all([
      lab.connect(undefined, EXT, 80),
      lab.connect(undefined, EXT, 5473),
      lab.connect(undefined, "10.96.0.1", 1),
      lab.connect("a", EXT, 80),
    ]);
    assert.deepEqual(outcomes, ["silence", "connected", "connected", "connected"]);
    lab.run("ip route del 10.96.0.0/16");
  });

  for (const to of ["host", "pod"] as const)
    it(`P26: one protocol is allowed, to a ${to}, and its neighbour is not`, async () => {
      const hook = to === "host" ? "input" : "forward";
      lab.nft(`table ip probe {
        chain behind { type filter hook ${hook} priority 10; ip protocol 253 counter; ip protocol 254 counter; }
        chain came { type filter hook prerouting priority -400; ip protocol { 253, 254 } counter; }
      }`);
      await dataplane.send(policy(Q, [rule("allow", { protocol: { number: EXPERIMENT_1 } })]));
      const tiers = [tier("default", [Q])];
      if (to === "host") await guard({ tiers });
      else
        await dataplane.send(
          workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"], tiers }),
        );
      const address = to === "host" ? HOST : A;
      const send = (protocol: number): void => lab.sendIpv4("ext", ipv4Packet(EXT, address, protocol, Buffer.alloc(8)));
      for (const protocol of [EXPERIMENT_2, EXPERIMENT_1]) await sendUntilCounted("it has come", () => send(protocol));
      await until("the allowed one has passed", () => (counts()[0] ?? 0) >= 1);
      assert.equal(counts()[1], 0);
    });

  it("P27: a port of the host is open beside workloads alone, closed by a host endpoint, and opened ahead of DNAT by its own number", async () => {
    assert.equal(await lab.connect("ext", HOST, 8055), "connected");
    await guard({});
    assert.equal(await lab.connect("ext", HOST, 8055), "silence");
    await dataplane.send(preDnat(Q, rule("allow", port(8056))));
    await guard({ pre_dnat_tiers: [tier("default", [Q], [], "Pass")] });
    assert.equal(await lab.connect("ext", HOST, 8055), "silence");
    await dataplane.send(preDnat(Q, rule("allow", port(8055))));
    assert.equal(await lab.connect("ext", HOST, 8055), "connected");
  });

  it("P29, P20: policy ahead of DNAT knows a port by its number before the translation, and its allow goes ahead of its deny", async () => {
    lab.nft(`table ip foreign { chain prerouting { type nat hook prerouting priority -100;
      ip daddr ${HOST} tcp dport 32010 dnat to ${A}:8055; }; }`);
    assert.equal(await lab.connect("ext", HOST, 32010), "connected");
    await dataplane.send(preDnat(Q, rule("allow", port(8055))), preDnat(R, rule("deny")));
    await guard({ pre_dnat_tiers: [tier("default", [Q, R], [], "Pass")], profile_ids: ["open"] });
    assert.equal(await lab.connect("ext", HOST, 32010), "silence");
    await dataplane.send(preDnat(Q, rule("allow", port(32010))));
    assert.equal(await lab.connect("ext", HOST, 32010), "connected");
    assert.equal(await lab.connect("ext", HOST, 8055), "silence");
  });

  // projectcalico/vpp-dataplane#299, projectcalico/calico#2232
  it("P20: policy ahead of DNAT of the wildcard endpoint judges what a workload sends, and its allow leaves the action", async () => {
    const wildcard = hostEndpoint("all", {
      name: "*",
      pre_dnat_tiers: [tier("default", [Q], [], "Pass")],
      profile_ids: ["open"],
    });
    const pod = workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"] });
    for (const [action, ofAction] of [
      ["ACCEPT", "connected"],
      ["DROP", "silence"],
    ] as const) {
      await dataplane.stop();
      dataplane = startKernelDataplane({ DefaultEndpointToHostAction: action });
      const open = profile("open", [rule("allow")], [rule("allow")]);
      await dataplane.send(open, pod, preDnat(Q, rule("deny", port(7000))), wildcard, IN_SYNC);
      assert.equal(await lab.connect("a", HOST, 7000), "silence", action);
      assert.equal(await lab.connect("a", HOST, 8055), ofAction, action);
      await dataplane.send(preDnat(Q, rule("allow", port(7000))));
      assert.equal(await lab.connect("a", HOST, 7000), ofAction, action);
    }
    await dataplane.send(preDnat(Q, rule("deny", port(80))));
    assert.equal(await lab.connect("a", EXT, 80), "silence", "what it sends through its host, too");
    assert.equal(await lab.connect(undefined, A, 80), "connected", "the host reaches its own workloads");
  });

  it("P25: forward policy of the wildcard endpoint judges what a workload sends and gets, and not what its host sends it", async () => {
    for (const direction of ["ingress", "egress"] as const) {
      const forward = [direction === "ingress" ? tier("default", [Q]) : tier("default", [], [Q])];
      await dataplane.send(
        direction === "ingress" ? policy(Q, [rule("deny")]) : policy(Q, [], [rule("deny")]),
        hostEndpoint("all", { name: "*", forward_tiers: forward, profile_ids: ["open"] }),
      );
      assert.equal(await lab.connect("a", EXT, 80), "silence", direction);
      assert.equal(await lab.connect("ext", A, 80), "silence", direction);
      assert.equal(await lab.connect(undefined, A, 80), "connected", direction);
    }
    await dataplane.send(hostEndpoint("all", { name: "*", profile_ids: ["open"] }));
    assert.equal(await lab.connect("a", EXT, 80), "connected");
  });

  it("P30: do-not-track policy that drops leaves the failsafe ports open, both ways", async () => {
    await dataplane.send(policy(Q, [rule("deny")], [rule("deny")], { untracked: true }));
    await guard({ untracked_tiers: [tier("default", [Q], [Q], "Pass")], profile_ids: ["open"] });
    const outcomes = await Promise.all([
      lab.connect("ext", HOST, 7000),
      lab.connect(undefined, EXT, 80),
      lab.connect("ext", HOST, 22),
      lab.connect("ext", HOST, 2379),
      lab.connect(undefined, EXT, 2379),
    ]);
    assert.deepEqual(outcomes, ["silence", "silence", "refused", "refused", "refused"]);
  });

  it("E3: a host endpoint has the chains of its kinds of policy, and loses them with the kind", async () => {
    const chains = (): string[] =>
      [...(dataplane.kernel.nft.readTable("ip", "calico")?.chains.keys() ?? [])]
        .filter((name) => /-cali-(?:th|fh|thfw|fhfw|pi|po)-/.test(name))
        .sort((a, b) => (a < b ? -1 : 1));
    const rules = [rule("allow", port(80))];
    const both = [tier("default", [Q], [Q])];
    const kinds: readonly (readonly [
      fields: Parameters<typeof hostEndpoint>[1],
      kind: Parameters<typeof policy>[3],
      chains: readonly string[],
    ])[] = [
      [{ tiers: both }, {}, ["filter-cali-pi", "filter-cali-po", "mangle-cali-po"]],
      [{ untracked_tiers: both }, { untracked: true }, ["raw-cali-pi", "raw-cali-po"]],
      [{ pre_dnat_tiers: [tier("default", [Q], [], "Pass")] }, { pre_dnat: true }, ["mangle-cali-pi"]],
      [{ forward_tiers: both }, {}, ["filter-cali-pi", "filter-cali-po"]],
    ];
    for (const [fields, kind, wanted] of [...kinds, ...kinds]) {
      await dataplane.send(policy(Q, rules, rules, kind), hostEndpoint("eth0", { name: "eth0", ...fields }));
      const policies = chains().filter((name) => /-p[io]-/.test(name));
      assert.deepEqual(
        policies.map((name) => name.slice(0, name.lastIndexOf("cali-") + 7)),
        wanted,
      );
    }
    await dataplane.send({ msg: "HostEndpointRemove", id: "eth0" });
    assert.deepEqual(chains(), []);
  });
});
