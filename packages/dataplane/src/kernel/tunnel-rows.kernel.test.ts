import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import {
  clusterRoute,
  encapsulation,
  hostEndpoint,
  IN_SYNC,
  policy,
  policyId,
  profile,
  rule,
  tier,
  tunnelEnd,
  workload,
} from "../testing/messages.ts";
import { ipv4Packet } from "../testing/raw-packets.ts";

const A = "10.65.0.2";
const HOST = "192.168.7.1";
const EXT = "192.168.7.2";
const OWN_END = { address: "10.65.0.1", mac: "66:00:00:00:00:0a" };
const OTHER_END = { address: "10.65.1.0", mac: "66:00:00:00:00:0b" };
/** A pod of the other host. */
const FAR = "10.65.1.5";
const FAR_BLOCK = "10.65.1.0/26";
const Q = policyId("gnp/q");
const IPIP = 4;

/** The outside machine is another host of the cluster, with its end of the VXLAN tunnel and a pod behind it. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  const start = async (
    settings: Readonly<Record<string, string>>,
    ...messages: readonly ToDataplane[]
  ): Promise<void> => {
    dataplane = startKernelDataplane({ FelixHostname: "oak", ...settings });
    await dataplane.send(
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"] }),
      ...messages,
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  };
  const startTunnel = async (): Promise<void> => {
    await start(
      {},
      encapsulation({ vxlan_enabled: true }),
      tunnelEnd("oak", `${OWN_END.address}, ${OWN_END.mac}, ${HOST}`),
      tunnelEnd("elm", `${OTHER_END.address}, ${OTHER_END.mac}, ${EXT}`),
      clusterRoute(FAR_BLOCK, { dst_node_name: "elm", dst_node_ip: EXT }),
    );
    await until("the other host's block has its route", () => lab.run("ip route").includes(`${FAR_BLOCK} via`));
  };
  const count = (rules: string): void =>
    lab.nft(`add table ip probe; delete table ip probe; table ip probe {
      chain behind { type filter hook input priority 10; ${rules} counter; }
      chain came { type filter hook prerouting priority -400; ${rules} counter; }
    }`);
  /** Packets that came, and those that passed our rules for this host. */
  const counted = (): { came: number; passed: number } => {
    const [passed = 0, came = 0] = [...lab.run("nft list table ip probe").matchAll(/counter packets (\d+)/g)].map(
      ([, packets]) => Number(packets),
    );
    return { came, passed };
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    for (const words of [
      `link add vx0 address ${OTHER_END.mac} type vxlan id 4096 dstport 4789 local ${EXT} remote ${HOST} dev eth0`,
      `addr add ${OTHER_END.address}/32 dev vx0`,
      `addr add ${FAR}/32 dev lo`,
      "link set vx0 up",
      `neigh replace ${OWN_END.address} lladdr ${OWN_END.mac} dev vx0 nud permanent`,
      `route add 10.65.0.0/26 via ${OWN_END.address} dev vx0 onlink src ${FAR}`,
    ])
      lab.run(`ip -n ext ${words}`);
    await Promise.all([lab.serve("a", 80), lab.serve("ext", 80)]);
  });
  afterEach(() => dataplane.stop());
  after(() => lab.close());

  it("P31: a host endpoint that lets nothing through leaves the traffic of pods in the tunnel alone, both ways", async () => {
    await startTunnel();
    assert.equal(await lab.connect("ext", A, 80), "connected");
    await dataplane.send(hostEndpoint("eth0", { name: "eth0" }));
    count("udp dport 4789");
    assert.equal(await lab.connect("ext", A, 80), "connected");
    assert.equal(await lab.connect("a", FAR, 80), "connected");
    assert.ok(counted().passed > 0, "it came by the tunnel");
    assert.equal(await lab.connect(undefined, EXT, 80), "silence");
  });

  it("P25: forward policy of the wildcard endpoint denies what comes out of the tunnel for a pod", async () => {
    await startTunnel();
    await dataplane.send(
      policy(Q, [rule("deny")]),
      hostEndpoint("all", { name: "*", forward_tiers: [tier("default", [Q])], profile_ids: ["open"] }),
    );
    assert.equal(await lab.connect("ext", A, 80), "silence");
    await dataplane.send(policy(Q, [rule("allow")]));
    assert.equal(await lab.connect("ext", A, 80), "connected");
  });

  for (const [external, passes] of [
    ["", false],
    ["192.168.7.0/24", true],
  ] as const)
    it(`P33: packets of a tunnel from a host that is ${passes ? "" : "not "}among the external nodes ${passes ? "pass" : "do not"}`, async () => {
      // IP in IP is judged as packets of its protocol are: no device is needed for that.
      await start(
        external === "" ? {} : { ExternalNodesCIDRList: external },
        encapsulation({ vxlan_enabled: true, ipip_enabled: true }),
      );
      const kinds = {
        "udp dport 4789": () => lab.run("ip netns exec ext bash -c echo>/dev/udp/10.65.0.2/9"),
        "ip protocol 4": () =>
          lab.sendIpv4("ext", ipv4Packet(EXT, HOST, IPIP, ipv4Packet(FAR, A, 253, Buffer.alloc(8)))),
      };
      for (const [rules, send] of Object.entries(kinds)) {
        count(rules);
        await until(`${rules} has come`, () => {
          send();
          return counted().came > 2;
        });
        await until(`${rules} has been judged`, () => counted().passed > 0 === passes);
        assert.equal(counted().passed > 0, passes);
      }
    });

  it("R11: a network goes from kind to kind of route, ours and others', and has one in the end", async () => {
    await startTunnel();
    const routes = (): string[] =>
      lab
        .run("ip route show 10.65.1.0/26")
        .trim()
        .split("\n")
        .map((line) => line.trim());
    const isOnly = (words: RegExp) => (): boolean => routes().length === 1 && words.test(routes()[0] ?? "");
    const TUNNEL = /^10\.65\.1\.0\/26 via 10\.65\.1\.0 dev vxlan\.calico proto 80 onlink/;
    const BLACKHOLE = /^blackhole 10\.65\.1\.0\/26 proto 80/;
    for (const type of ["throw", "blackhole", "prohibit"]) {
      lab.run(`ip route replace ${type} ${FAR_BLOCK} proto 80`);
      await until(`ours is in the place of ${type}`, isOnly(TUNNEL));
    }
    const own = clusterRoute(FAR_BLOCK, { types: ["LOCAL_WORKLOAD"], dst_node_name: "oak", dst_node_ip: HOST });
    await dataplane.send(own);
    await until("the block is a blackhole, and nothing else", isOnly(BLACKHOLE));
    await dataplane.send(clusterRoute(FAR_BLOCK, { dst_node_name: "elm", dst_node_ip: EXT }));
    await until("the block leads into the tunnel, and nowhere else", isOnly(TUNNEL));
  });
});
