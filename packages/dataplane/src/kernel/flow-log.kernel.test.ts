import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const P = policyId("np/default/p");

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", "10.65.0.2");
    lab.addPod("b", "10.65.0.3");
    dataplane = startKernelDataplane({ FlowLogsLocalReporter: "Enabled" });
    await dataplane.send(
      policy(P, [
        rule("log"),
        rule("deny", { protocol: { number: 6 }, dst_ports: [{ first: 80, last: 80 }] }),
        rule("allow"),
      ]),
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", { name: "calia", ipv4_nets: ["10.65.0.2/32"], profile_ids: ["open"] }),
      workload("b", {
        name: "calib",
        ipv4_nets: ["10.65.0.3/32"],
        profile_ids: ["open"],
        tiers: [tier("default", [P])],
      }),
      IN_SYNC,
    );
    await lab.serve("b", 80, 81);
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("the flow log names the rule that dropped a connection, and the one that logged one that was let through", async () => {
    assert.equal(await lab.connect("a", "10.65.0.3", 80), "silence");
    assert.equal(await lab.connect("a", "10.65.0.3", 81), "connected");
    const told = (verdict: string, port: number): unknown =>
      dataplane.flows.find((flow) => flow.verdict === verdict && flow.destinationPort === port);
    await until("all three are told", () =>
      [told("deny", 80), told("log", 80), told("log", 81)].every((found) => found !== undefined),
    );
    const { atMs, packets, sourcePort, ...rest } =
      dataplane.flows.find(({ verdict }) => verdict === "deny") ?? assert.fail();
    assert.ok(atMs > 0 && packets > 0 && (sourcePort ?? 0) > 0);
    assert.deepEqual(rest, {
      verdict: "deny",
      direction: "ingress",
      tier: "default",
      policy: "np/default/p",
      rule: "rule 1",
      endpoint: "default/b",
      interfaceName: "calib",
      source: "10.65.0.2",
      destination: "10.65.0.3",
      protocol: "tcp",
      destinationPort: 80,
    });
    assert.equal(told("deny", 81), undefined);
  });
});
