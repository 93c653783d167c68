import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { withSupportedOffload } from "../offload/flow-offload-support.ts";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, profile, rule, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const ON = { NFTablesFlowTableOffload: "All" } as const;

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  let send: (word: string) => Promise<string>;

  const pod = (fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"], ...fields });
  const isSupported = (): boolean => {
    const { config } = parseDataplaneConfig(new Map(Object.entries(ON)));
    return withSupportedOffload(config, dataplane.kernel, () => undefined).flowOffload;
  };
  /** Packets to the pod that came to the forward hook. */
  const atHook = (): number =>
    Number(dataplane.kernel.nft.readTable("ip", "probe")?.chains.get("ahead")?.rules[0]?.counter?.packets ?? 0n);
  /** Some words there and back, and how many packets to the pod met the hook meanwhile. */
  const exchange = async (): Promise<number> => {
    const before = atHook();
    for (let i = 0; i < 5; i++) assert.equal(await send("word"), "word");
    return atHook() - before;
  };
  /** Until a round of words meets the hook, or does not. A flow is handed over by a packet of its own. */
  const untilRiding = async (isRiding: boolean): Promise<void> => {
    for (let tries = 0; tries < 100; tries++) if (((await exchange()) === 0) === isRiding) return;
    assert.fail(isRiding ? "the flow meets the rules" : "the flow goes past the rules");
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    dataplane = startKernelDataplane(ON);
    await lab.serve("a", 80);
    await dataplane.send(profile("open", [rule("allow")], [rule("allow")]), pod(), IN_SYNC);
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
    lab.nft(`table ip probe {
      chain ahead { type filter hook forward priority -10; ip daddr ${A} meta l4proto tcp counter; }
    }`);
  });
  after(async () => {
    lab.close();
    await dataplane.stop();
  });

  it("[kernel] no flow tables that can be used: the dataplane does without, and is in sync", async () => {
    await until("the dataplane has done what it can", () => dataplane.status()?.phase === "in-sync");
    if (isSupported()) return;
    assert.deepEqual(dataplane.kernel.nft.flowtables("ip", "calico"), []);
  });

  it("N20: a flow goes past the rules where they can; a bound brings it back, unbroken, and it goes past them again after", async () => {
    if (!isSupported()) return;
    send = await lab.openConnection("ext", A, 80);
    assert.deepEqual(dataplane.kernel.nft.flowtables("ip", "calico")[0]?.devices.toSorted(), ["calia", "eth0"]);
    await untilRiding(true);
    for (const fields of [
      { qos_controls: { ingressMaxConnections: 9 } },
      { qos_controls: { egressPacketRate: 1_000_000 } },
      { qos_policies: [{ destination: "external", dscp: 46 }] },
    ]) {
      await dataplane.send(pod(fields));
      await untilRiding(false);
      await dataplane.send(pod());
      await untilRiding(true);
    }
    lab.run("nft delete table ip probe");
    await dataplane.send(pod({ state: "inactive" }));
    assert.equal(await send("word"), "", "a workload that is down by its owner's wish is cut off");
  });
});
