import assert from "node:assert/strict";
import { after, afterEach, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, policy, policyId, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const B = "10.65.0.3";
const SERVICE = "10.96.0.10";
const DENY = policyId("np/default/default-deny");

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let running: KernelDataplane | undefined;
  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    lab.addPod("b", B);
    await lab.serve("a", 80);
    // As kube-proxy does: the backend for the service, and the host's address as the source of what comes back to its sender.
    lab.run(
      "nft -f -",
      `table ip kube {
        chain pre { type nat hook prerouting priority -110; ip daddr ${SERVICE} tcp dport 80 dnat to ${A}:80; };
        chain post { type nat hook postrouting priority 110; ip saddr ${A} ip daddr ${A} masquerade; }; }`,
    );
  });
  afterEach(() => running?.stop());
  after(() => lab.close());

  for (const action of ["ACCEPT", "RETURN"])
    it(`a pod that nothing may reach reaches itself by its own service, and nobody else does: ${action}`, async () => {
      running = startKernelDataplane({ NftablesFilterAllowAction: action });
      const isolated = (name: string, address: string) =>
        workload(name, {
          ipv4_nets: [`${address}/32`],
          mac: lab.macOf(name),
          tiers: [tier("default", [DENY], [DENY])],
        });
      await running.send(policy(DENY, []), isolated("a", A), isolated("b", B), IN_SYNC);
      await until("the pods have their routes", () => {
        const routes = lab.run("ip route");
        return routes.includes(`${A} dev calia`) && routes.includes(`${B} dev calib`);
      });
      assert.equal(await lab.connect("a", SERVICE, 80), "connected");
      assert.equal(await lab.connect("a", A, 80), "connected");
      for (const [from, to] of [
        ["b", SERVICE],
        ["b", A],
        ["ext", A],
      ] as const)
        assert.equal(await lab.connect(from, to, 80), "silence", `${from} to ${to}`);
    });
});
