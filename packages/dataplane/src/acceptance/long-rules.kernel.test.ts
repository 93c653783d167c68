import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { DataplaneRule } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const EXT = "192.168.7.2";
const P = policyId("np/default/p");

const others = (count: number): string[] => Array.from({ length: count }, (_, i) => `20.${i >> 8}.${i & 255}.0/28`);
const others6 = (count: number): string[] => Array.from({ length: count }, (_, i) => `fd99:${i.toString(16)}::/44`);
const evenPorts = Array.from({ length: 3000 }, (_, i) => ({ first: 2000 + 2 * i, last: 2000 + 2 * i }));

/** Rules that ask for more than the kernel takes in one rule (128 expressions), and whether one to port 80 passes. */
const cases: readonly (readonly [what: string, fields: Partial<DataplaneRule>, passes: boolean])[] = [
  ["300 networks that it is not from", { not_src_net: [...others(300), ...others6(300)] }, true],
  ["the same, and its own first", { not_src_net: [`${EXT}/32`, ...others(300)] }, false],
  ["the same, and its own last", { not_src_net: [...others(300), `${EXT}/32`] }, false],
  [
    "as many of both ends, beside a choice of networks",
    { src_net: ["192.168.0.0/16", "11.0.0.0/8"], not_src_net: others(100), not_dst_net: others(100) },
    true,
  ],
  ["3,000 ports that it does not go to", { not_dst_ports: evenPorts }, true],
  ["the same, and its own", { not_dst_ports: [{ first: 80, last: 80 }, ...evenPorts] }, false],
];

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let running: KernelDataplane | undefined;
  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    await lab.serve("a", 80);
  });
  afterEach(() => running?.stop());
  after(() => lab.close());

  it("a rule that excludes more than one rule of the kernel can hold means what it says", async () => {
    running = startKernelDataplane();
    const pod = workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), tiers: [tier("default", [P])] });
    await running.send(policy(P, []), pod, IN_SYNC);
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
    for (const [what, fields, passes] of cases) {
      await running.send(policy(P, [rule("log", fields), rule("allow", { protocol: { name: "tcp" }, ...fields })]));
      assert.equal(await lab.connect("ext", A, 80), passes ? "connected" : "silence", what);
    }
  });
});
