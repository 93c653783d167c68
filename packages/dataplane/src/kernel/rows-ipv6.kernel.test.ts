import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const A6 = "fd65::2";
/** A second address of each family. */
const [MORE, MORE6] = ["10.65.0.12", "fd65::12"] as const;
const EXT = "192.168.7.2";
const EXT6 = "fd07::2";
const FORGED6 = "fd65::99";
const P = policyId("np/default/p");

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  const pod = (fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload("a", {
      ipv4_nets: [`${A}/32`, `${MORE}/32`],
      ipv6_nets: [`${A6}/128`, `${MORE6}/128`],
      mac: lab.macOf("a"),
      profile_ids: ["open"],
      ...fields,
    });
  const start = async (...messages: readonly ToDataplane[]): Promise<void> => {
    dataplane = startKernelDataplane();
    await dataplane.send(profile("open", [rule("allow")], [rule("allow")]), ...messages, IN_SYNC);
    await until("the pod has its routes", () => lab.run("ip -6 route").includes(`${A6} dev calia`));
  };

  before(async () => {
    lab = new KernelLab();
    lab.addIpv6("fd07::1", EXT6, "fd65::/64");
    lab.addPod("a", A, A6);
    lab.run(`ip -n a addr add ${MORE}/32 dev eth0`);
    lab.run(`ip -n a addr add ${MORE6}/128 dev eth0 nodad`);
    await Promise.all([lab.serve("a", 80), lab.serve("ext", 80)]);
  });
  afterEach(() => dataplane.stop());
  after(() => lab.close());

  it("P16: drops what a workload sends by IPv6 with another source than its own", async () => {
    await start(pod());
    lab.run(`ip -n a addr add ${FORGED6}/128 dev lo nodad`);
    const route = (source: string): string =>
      lab.run(`ip -n a -6 route replace ${EXT6}/128 via fe80::ecee:eeff:feee:eeee dev eth0 src ${source}`);
    route(A6);
    assert.equal(await lab.connect("a", EXT6, 80), "connected");
    route(FORGED6);
    assert.equal(await lab.connect("a", EXT6, 80), "silence");
    route(A6);
    assert.equal(await lab.connect("a", EXT6, 80), "connected");
    lab.run(`ip -n a -6 route del ${EXT6}/128`);
  });

  it("each address of a workload of both families is reached as its policy says, and no more when it is taken away", async () => {
    const web = rule("allow", { protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 80 }] });
    await start(policy(P, [web]), pod({ tiers: [tier("default", [P])] }));
    for (const address of [A, MORE, A6, MORE6]) {
      assert.equal(await lab.connect("ext", address, 80), "connected", address);
      assert.equal(await lab.connect("ext", address, 81), "silence", address);
    }
    await dataplane.send(pod({ ipv4_nets: [`${A}/32`], ipv6_nets: [], tiers: [tier("default", [P])] }));
    const routes = (): string => lab.run("ip route show dev calia") + lab.run("ip -6 route show dev calia");
    await until("the others have no routes", () => !/10\.65\.0\.12|fd65::2 |fd65::12/.test(routes()));
    assert.equal(await lab.connect("ext", A, 80), "connected");
  });

  it("P35: packets that leave the cluster have their DSCP in both families, also behind a translated source", async () => {
    lab.run(
      "ip netns exec ext nft -f -",
      `table ip probe { chain c { type filter hook input priority 0;
        ip dscp af41 ip saddr 192.168.7.1 udp dport 9 counter; }; }
      table ip6 probe { chain c { type filter hook input priority 0; ip6 dscp af41 udp dport 9 counter; }; }`,
    );
    const pool: ToDataplane = {
      msg: "IPAMPoolUpdate",
      id: "pool",
      pool: { cidr: "10.65.0.0/16", masquerade: true, ipip_mode: "", vxlan_mode: "", allowed_uses: [] },
    };
    await start(pool, pod({ qos_policies: [{ destination: "", dscp: 34 }] }));
    const marked = (family: string): boolean =>
      !/counter packets 0 /.test(lab.run(`ip netns exec ext nft list table ${family} probe`));
    const sockets = [
      [await lab.openDatagrams("a", A, 7000), EXT, "ip"],
      [await lab.openDatagrams("a", A6, 7000), EXT6, "ip6"],
    ] as const;
    for (const [socket, address, family] of sockets)
      await until(`a marked packet of ${family} has come`, () => {
        socket.send(address, 9, "x");
        return marked(family);
      });
  });
});
