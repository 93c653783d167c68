import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

/** With the prefix, as long as a name may be (IFNAMSIZ of linux/if.h), and with what nobody expects in one. */
const NAMES = ["0123456.9ab", "-x_y", "1"] as const;
const P = policyId("np/default/p");

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const addressOf = (i: number): string => `10.65.0.${i + 2}`;
  const pod = (name: string, i: number, interfaceName = `cali${name}`) =>
    workload(name, {
      name: interfaceName,
      ipv4_nets: [`${addressOf(i)}/32`],
      mac: lab.macOf(name),
      profile_ids: ["open"],
      tiers: [tier("default", [P])],
    });

  before(async () => {
    lab = new KernelLab();
    for (const [i, name] of NAMES.entries()) {
      lab.addPod(name, addressOf(i));
      await lab.serve(name, 80, 81);
    }
    dataplane = startKernelDataplane();
    const web = rule("allow", { protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 80 }] });
    const pods = NAMES.map((name, i) => pod(name, i));
    await dataplane.send(policy(P, [web]), profile("open", [], [rule("allow")]), ...pods, IN_SYNC);
    const routes = (): string => lab.run("ip route");
    await until("pods have routes", () => NAMES.every((_, i) => routes().includes(`${addressOf(i)} dev cali`)));
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  for (const [i, name] of NAMES.entries())
    it(`a workload on cali${name} has its policy, its route and its settings`, async () => {
      assert.equal(await lab.connect("ext", addressOf(i), 80), "connected");
      assert.equal(await lab.connect("ext", addressOf(i), 81), "silence");
      assert.equal(lab.run(`cat /proc/sys/net/ipv4/conf/cali${name}/proxy_arp`), "1\n");
    });

  it("nft reads what it prints of such rules", () => {
    for (const family of ["ip", "ip6"]) lab.run("nft -c -f -", lab.run(`nft list table ${family} calico`));
  });

  it("an interface that is renamed together with its endpoint keeps its policy under the new name", async () => {
    const index = NAMES.length - 1;
    const name = NAMES[index] ?? assert.fail();
    lab.run(`ip link set cali${name} down`);
    lab.run(`ip link set cali${name} name calinew`);
    lab.run("ip link set calinew up");
    await dataplane.send(pod(name, index, "calinew"));
    await until("the route is by the new name", () => lab.run("ip route").includes(`${addressOf(index)} dev calinew`));
    let outcome = "";
    for (let tries = 0; tries < 20 && outcome !== "connected"; tries++)
      outcome = await lab.connect("ext", addressOf(index), 80);
    assert.equal(outcome, "connected");
    assert.equal(await lab.connect("ext", addressOf(index), 81), "silence");
  });
});
