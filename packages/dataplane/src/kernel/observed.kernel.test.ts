import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { readRuleCounters } from "../counters/rule-counters.ts";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const P = policyId("np/default/web");

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    dataplane = startKernelDataplane();
    await lab.serve("a", 80);
    const web = { protocol: { name: "tcp" }, dst_ports: [{ first: 80, last: 80 }] } as const;
    await dataplane.send(
      policy(P, [rule("allow", web)], [rule("allow")]),
      workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), tiers: [tier("security", [P], [P])] }),
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("a route that somebody else deletes or replaces is back at once", async () => {
    const route = `${A} dev calia scope link metric 1024`;
    const isBack = (): boolean => lab.run("ip route").includes(route);
    lab.run(`ip route del ${A}/32 dev calia`);
    await until("the deleted route is back", isBack);
    lab.run(`ip route replace ${A}/32 dev eth0 metric 1024`);
    await until("the replaced route is back", isBack);
    assert.ok(!lab.run("ip route").includes(`${A} dev eth0`));
  });

  it("readRuleCounters() tells which rule let a packet in, and which one dropped it", async () => {
    assert.equal(await lab.connect("ext", A, 80), "connected");
    assert.equal(await lab.connect("ext", A, 81), "silence");
    const seen = new Map(
      readRuleCounters(dataplane.kernel.nft).map((counter) => [
        `${counter.tier} ${counter.policy} ${counter.direction} ${counter.rule}`,
        counter.packets,
      ]),
    );
    assert.equal(seen.get("security np/default/web ingress rule 0"), 1n);
    assert.ok((seen.get("security  ingress End of tier security") ?? 0n) >= 1n);
    assert.equal(seen.get("security np/default/web egress rule 0"), 0n);
  });
});
