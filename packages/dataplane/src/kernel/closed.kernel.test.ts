import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { hostEndpoint, IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const HOST6 = "fd07::1";
const EXT = "192.168.7.2";
const EXT6 = "fd07::2";
const Q = policyId("gnp/q");
const TCP = { name: "tcp" } as const;

/** What stays open on a closed host, and what does not stay open on a closed pod. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  const pod = (state: string): ToDataplane =>
    workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"], state });

  before(async () => {
    lab = new KernelLab();
    lab.addIpv6(HOST6, EXT6, "fd65::/64");
    lab.addPod("a", A);
    dataplane = startKernelDataplane();
    await Promise.all([lab.serve("a", 80), lab.serve("ext", 81), lab.serve(undefined, 7000)]);
    await dataplane.send(profile("open", [rule("allow")], [rule("allow")]), pod("active"), IN_SYNC);
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("neighbour discovery works on a host endpoint that allows but one port, both ways", async () => {
    const ports = (port: number) => ({ protocol: TCP, dst_ports: [{ first: port, last: port }] });
    await dataplane.send(
      policy(Q, [rule("allow", ports(7000))], [rule("allow", ports(81))]),
      hostEndpoint("eth0", { name: "eth0", tiers: [tier("default", [Q], [Q])] }),
    );
    const forget = (): void => {
      lab.run("ip -6 neigh flush dev eth0");
      lab.run("ip -n ext -6 neigh flush dev eth0");
    };
    forget();
    assert.equal(await lab.connect("ext", HOST6, 7000), "connected");
    forget();
    assert.equal(await lab.connect(undefined, EXT6, 81), "connected");
    assert.equal(await lab.connect(undefined, EXT6, 82), "silence");
    await dataplane.send({ msg: "HostEndpointRemove", id: "eth0" });
  });

  for (const guarded of [false, true])
    it(`a workload that is set down loses its open flows, ${guarded ? "also beside a host endpoint" : "both ways"}`, async () => {
      if (guarded)
        await dataplane.send(hostEndpoint("eth0", { name: "eth0", forward_tiers: [tier("default", [Q], [Q])] }));
      await dataplane.send(policy(Q, [rule("allow")], [rule("allow")]), pod("active"));
      const coming = await lab.openConnection("ext", A, 80);
      const going = await lab.openConnection("a", EXT, 81);
      assert.deepEqual([await coming("one"), await going("one")], ["one", "one"]);
      await dataplane.send(pod("inactive"));
      assert.deepEqual([await coming("two"), await going("two")], ["", ""]);
      await dataplane.send(pod("active"));
    });
});
