import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type Flow, openConntrack } from "@bulrush/netlink";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { strayAck } from "../testing/raw-packets.ts";
import { IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const A6 = "fd65::2";
const EXT = "192.168.7.2";
const P = policyId("np/default/p");
const port = (number: number) => ({ first: number, last: number });

/** Rules that somebody has taken away, flows that come in meanwhile, and what is left of these afterwards. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const world = () =>
    [
      policy(P, [rule("allow", { protocol: { name: "tcp" }, dst_ports: [port(80)] })]),
      profile("open", [], [rule("allow")]),
      workload("a", {
        ipv4_nets: [`${A}/32`],
        ipv6_nets: [`${A6}/128`],
        mac: lab.macOf("a"),
        profile_ids: ["open"],
        tiers: [tier("default", [P])],
      }),
      IN_SYNC,
    ] as const;
  const flows = (): readonly Flow[] => {
    const conntrack = openConntrack();
    const found = conntrack
      .flows()
      .filter(({ original, reply }) => [original.source, reply.source].some((one) => one === A || one === A6));
    conntrack.close();
    return found;
  };
  const tracked = (): readonly number[] =>
    flows()
      .map(({ original }) => original.destinationPort ?? 0)
      .sort((a, b) => a - b);
  const start = async (): Promise<void> => {
    dataplane = startKernelDataplane();
    await dataplane.send(...world());
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  };

  before(async () => {
    lab = new KernelLab();
    lab.addIpv6("fd07::1", "fd07::2", "fd65::/64");
    lab.addPod("a", A, A6);
    // Somebody else's rules keep connection tracking on while ours are gone, as kube-proxy's would.
    for (const family of ["ip", "ip6"])
      lab.nft(`table ${family} other { chain c { type filter hook forward priority 10; ct state new counter; }; }`);
    await Promise.all([lab.serve("a", 80, 81), lab.serve("ext", 82)]);
    await start();
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("a connection that is denied does not outlive the repair, and allowed ones do, of both families", async () => {
    const allowed = [await lab.openConnection("ext", A, 80), await lab.openConnection("a", EXT, 82)];
    // As a program that stops listening to the kernel would find it: the table is gone for as long as this takes.
    await dataplane.stop();
    lab.nft("delete table ip calico; delete table ip6 calico;");
    const denied = [await lab.openConnection("ext", A, 81), await lab.openConnection("ext", A6, 81)];
    for (const echo of [...allowed, ...denied]) assert.equal(await echo("one"), "one");
    assert.deepEqual(tracked(), [80, 81, 81, 82]);
    const { sourcePort = 0 } =
      flows().find(({ family, original }) => family === 4 && original.destinationPort === 81)?.original ?? {};
    await start();
    await until("the denied ones are no more tracked", () => !tracked().includes(81));
    // A packet of the old connection from the pod, who may start what it likes: it must not be taken for a start.
    lab.nft(`table ip other { chain p { type filter hook prerouting priority -400; tcp sport 81 counter; }; }`);
    lab.sendIpv4("a", strayAck(A, EXT, 81, sourcePort));
    await until("it has come by", () => !/counter packets 0 /.test(lab.run("nft list chain ip other p")));
    assert.ok(flows().every(({ original }) => original.sourcePort !== 81));
    for (const echo of allowed) assert.equal(await echo("two"), "two");
    for (const echo of denied) assert.equal(await echo("two"), "");
    assert.deepEqual(tracked(), [80, 82]);
  });

  for (const [what, change] of [
    ["the rules alone were gone", "flush table ip calico;"],
    ["the table was asleep", "table ip calico { flags dormant; }"],
  ] as const)
    it(`a connection that came in while ${what}, and nobody looked, ends with the next start`, async () => {
      const allowed = await lab.openConnection("ext", A, 80);
      assert.equal(await allowed("one"), "one");
      await dataplane.stop();
      lab.nft(change);
      const denied = await lab.openConnection("ext", A, 81);
      assert.equal(await denied("one"), "one");
      await start();
      await until("the denied one is no more tracked", () => !tracked().includes(81));
      assert.equal(await allowed("two"), "two");
      assert.equal(await denied("two"), "");
    });

  it("a table that is put to sleep under a running dataplane is woken, with what else was changed", async () => {
    lab.nft(`table ip calico { flags dormant; }
      delete chain ip calico filter-INPUT; flush chain ip calico filter-FORWARD;`);
    const rules = (): string => lab.run("nft list table ip calico");
    await until("all of it is back", () => {
      const text = rules();
      return (
        !text.includes("dormant") && text.includes("chain filter-INPUT") && /filter-FORWARD \{[^}]*jump/.test(text)
      );
    });
    assert.equal(await lab.connect("ext", A, 81), "silence");
    assert.equal(await lab.connect("ext", A, 80), "connected");
  });

  it("a connection that came in while rules were flushed under a running dataplane ends with the repair", async () => {
    const echo = await lab.openConnection("ext", A, 80);
    const outside = await lab.openDatagrams("ext", EXT, 4001);
    const isTracked = (): boolean => tracked().some((number) => number >= 5000);
    // Until one has come through: the repair is quick, and the hole has to be hit. Each is a flow of its own.
    let next = 5000;
    await until("a datagram has passed a hole", () => {
      lab.nft("flush chain ip calico filter-FORWARD");
      outside.send(A, next++, "x");
      return isTracked();
    });
    const isWhole = (): boolean => lab.run("nft list chain ip calico filter-FORWARD").includes("jump");
    await until("the hole is closed, and the flow ended", () => isWhole() && !isTracked());
    for (let port = 5000; port < next; port++) outside.send(A, port, "late");
    assert.equal(await echo("one"), "one");
    assert.ok(!isTracked());
  });
});
