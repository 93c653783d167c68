import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, ipSet, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const B = "10.65.0.3";
const EXT = "192.168.7.2";
const P = policyId("np/default/p");
const OPEN = profile("open", [rule("allow")], [rule("allow")]);

/** Each test has a dataplane of its own, on the kernel state that the one before left. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let running: KernelDataplane | undefined;

  const pod = (name: "a" | "b", fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload(name, {
      ipv4_nets: [`${name === "a" ? A : B}/32`],
      mac: lab.macOf(name),
      profile_ids: ["open"],
      ...fields,
    });
  const start = async (settings: Readonly<Record<string, string>>, ...messages: readonly ToDataplane[]) => {
    const started = startKernelDataplane(settings);
    running = started;
    await started.send(OPEN, pod("a"), pod("b"), ...messages, IN_SYNC);
    const routes = (): string => lab.run("ip route");
    await until("pods have routes", () => [A, B].every((address) => routes().includes(`${address} dev cali`)));
    return started;
  };
  /** Packets of the counters of a table `probe`, in order. */
  const counts = (list: string): number[] =>
    [...lab.run(list).matchAll(/counter packets (\d+)/g)].map(([, packets]) => Number(packets));

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    lab.addPod("b", B);
    await Promise.all([lab.serve("a", 80), lab.serve("b", 80), lab.serve("ext", 80)]);
  });
  afterEach(() => running?.stop());
  after(() => lab.close());

  it("P4: the egress rules of a policy that is for ingress alone count for nothing", async () => {
    const { send } = await start({});
    await send(policy(P, [rule("allow")], [rule("deny")]), pod("a", { tiers: [tier("default", [P], [])] }));
    assert.equal(await lab.connect("a", B, 80), "connected");
    await send(pod("a", { tiers: [tier("default", [P], [P])] }));
    assert.equal(await lab.connect("a", B, 80), "silence");
  });

  for (const [row, protocol] of [
    ["P10", { protocol: { name: "tcp" } }],
    ["P12", {}],
  ] as const)
    it(`${row}: a named port is that of its protocol, ${row === "P12" ? "where the rule names none" : "not the other's of one number"}`, async () => {
      const named = rule("allow", { ...protocol, dst_named_port_ip_set_ids: ["n:web"] });
      const under = pod("b", { tiers: [tier("default", [P])] });
      const { send } = await start({}, ipSet("n:web", "IP_AND_PORT", `${B},udp:80`), policy(P, [named]), under);
      assert.equal(await lab.connect("a", B, 80), "silence");
      await send(ipSet("n:web", "IP_AND_PORT", `${B},udp:80`, `${B},tcp:80`));
      assert.equal(await lab.connect("a", B, 80), "connected");
    });

  it("P34: what is sent to an unused service address goes no further, and in circles where nobody says that it is one", async () => {
    const services = (...cidrs: readonly string[]): ToDataplane => ({
      msg: "GlobalBGPConfigUpdate",
      service_cluster_cidrs: cidrs,
      service_external_cidrs: [],
      service_loadbalancer_cidrs: [],
      local_workload_peering_ip_v4: "",
      local_workload_peering_ip_v6: "",
    });
    lab.run("ip route add 10.96.0.0/16 via 192.168.7.2");
    lab.run("ip -n ext route add 10.96.0.0/16 via 192.168.7.1");
    lab.run("ip netns exec ext sysctl -qw net.ipv4.ip_forward=1");
    lab.run("ip netns exec ext sysctl -qw net.ipv4.conf.all.send_redirects=0");
    lab.nft("table ip probe { chain c { type filter hook prerouting priority -400; ip daddr 10.96.0.9 counter; }; }");
    const { send } = await start({}, services("10.96.0.0/16"));
    const socket = await lab.openDatagrams("a", A, 6000);
    socket.send("10.96.0.9", 9, "x");
    await until("the packet has come", () => (counts("nft list table ip probe")[0] ?? 0) >= 1);
    // Were it sent back, it would be here again by the time that another one, sent later, has come and gone.
    socket.send("10.96.0.9", 9, "y");
    await until("the next packet has come", () => (counts("nft list table ip probe")[0] ?? 0) >= 2);
    assert.deepEqual(counts("nft list table ip probe"), [2]);
    await send(services("10.97.0.0/16"));
    socket.send("10.96.0.9", 9, "z");
    await until("the packet comes again and again", () => (counts("nft list table ip probe")[0] ?? 0) > 10);
    lab.nft("delete table ip probe");
  });

  it("P39: packets that leave the cluster have source ports of the range that is set", async () => {
    const pool: ToDataplane = {
      msg: "IPAMPoolUpdate",
      id: "pool",
      pool: { cidr: "10.65.0.0/16", masquerade: true, ipip_mode: "", vxlan_mode: "", allowed_uses: [] },
    };
    await start({ NATPortRange: "40000:40003" }, pool);
    lab.run(
      "ip netns exec ext nft -f -",
      `table ip probe { chain c { type filter hook input priority 0;
        ip saddr 192.168.7.1 udp dport 9 udp sport 40000-40003 counter;
        udp dport 9 ip saddr != 192.168.7.1 counter; udp dport 9 udp sport != 40000-40003 counter; }; }`,
    );
    const socket = await lab.openDatagrams("a", A, 6001);
    socket.send(EXT, 9, "x");
    await until("the packet has come", () => counts("ip netns exec ext nft list table ip probe")[0] === 1);
    assert.deepEqual(counts("ip netns exec ext nft list table ip probe"), [1, 0, 0]);
    lab.run("ip netns exec ext nft delete table ip probe");
  });

  it("P41: a floating address leads to its workload while it has it, and floating addresses are on", async () => {
    lab.run("ip -n ext route add 10.70.0.0/16 via 192.168.7.1");
    const floating = pod("a", { ipv4_nat: [{ ext_ip: "10.70.0.1", int_ip: A }] });
    const { send, stop } = await start({ FloatingIPs: "Enabled" }, floating);
    await until("the address has a route", () => lab.run("ip route").includes("10.70.0.1 dev calia"));
    assert.equal(await lab.connect("ext", "10.70.0.1", 80), "connected");
    assert.equal(await lab.connect("b", "10.70.0.1", 80), "connected");
    await send(pod("a"));
    await until("the route is gone", () => !lab.run("ip route").includes("10.70.0.1"));
    assert.notEqual(await lab.connect("ext", "10.70.0.1", 80), "connected");
    await stop();
    running = undefined;
    await start({}, floating);
    assert.notEqual(await lab.connect("ext", "10.70.0.1", 80), "connected");
  });

  it("R23: a machine that moves here has its route when it says that it is here, elevated until its migration is long over", async () => {
    const machine = (role?: "target"): ToDataplane => pod("a", role === undefined ? {} : { live_migration_role: role });
    const routes = (): string => lab.run("ip route show 10.65.0.2");
    const started = startKernelDataplane({ LiveMigrationRouteConvergenceTime: "1" });
    running = started;
    await started.send(OPEN, machine("target"), pod("b"), IN_SYNC);
    await until("the other pod has its route", () => lab.run("ip route").includes(`${B} dev calib`));
    await until("the machine has none", () => routes() === "");
    const mac = lab.macOf("a").replaceAll(":", "");
    const own = "0a410002";
    lab.sendFrame("a", `ffffffffffff ${mac} 0806 0001 0800 06 04 0001 ${mac} ${own} 000000000000 ${own}`);
    await until("the machine has an elevated route", () => routes().includes("metric 512"));
    await started.send(machine());
    await until("the machine has a normal route", () => routes().includes("metric 1024"));
    assert.doesNotMatch(routes(), /metric 512/);
  });

  it("N14: a range that somebody puts into a set of networks is taken out again", async () => {
    const networks = ipSet("s:nets", "NET", "10.9.0.0/24");
    const under = pod("b", { tiers: [tier("default", [P])] });
    const refresh = { IpsetsRefreshInterval: "1", NftablesRefreshInterval: "1" };
    await start(refresh, networks, policy(P, [rule("allow", { src_ip_set_ids: ["s:nets"] })]), under);
    const listed = (): string => lab.run("nft list ruleset");
    const name = /set (cali40s-nets\S*) \{/.exec(listed())?.[1];
    assert.ok(name !== undefined);
    lab.nft(`add element ip calico ${name} { 10.9.1.3-10.9.1.9 }`);
    await until("the range is gone", () => !listed().includes("10.9.1.3"));
    assert.match(listed(), /10\.9\.0\.0\/24/);
  });
});
