import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { release } from "node:os";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { IN_SYNC, profile, rule, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const ON = { NFTablesFlowTableOffload: "All" } as const;

const FLOWTABLE = `table ip probe {
  flowtable f { hook ingress priority 0; }
  chain c { type filter hook forward priority 0; meta l4proto tcp flow add @f; }
}`;

/**
 * Why flow tables cannot be used here, by the words of nft(8) and of the kernel's release; `undefined`: they can. Before
 * 6.4, a flow that is deleted stays in its flow table.
 */
function whyNoFlowtables(): string | undefined {
  const [major = 0, minor = 0] = release().split(/[.-]/).map(Number);
  if (major < 6 || (major === 6 && minor < 4)) return "no deletion of flows that are in a flow table";
  const { status, stderr } = spawnSync("nft", ["-c", "-f", "-"], { encoding: "utf8", input: FLOWTABLE });
  if (status === 0) return undefined;
  assert.match(stderr, /No such file or directory|not supported/);
  return "no flow tables";
}

kernelTests(import.meta.filename, () => {
  const why = whyNoFlowtables();
  let lab: KernelLab;
  let dataplane: KernelDataplane;
  let send: (word: string) => Promise<string>;

  const pod = (fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"], ...fields });
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

  if (why !== undefined) {
    it(`[kernel] ${why}: the dataplane does without, and is in sync`, async () => {
      await until("the dataplane has done what it can", () => dataplane.status()?.phase === "in-sync");
      assert.deepEqual(dataplane.kernel.nft.flowtables("ip", "calico"), []);
    });
    return;
  }

  it("N20: a flow goes past the rules where they can; a bound brings it back, unbroken, and it goes past them again after", async () => {
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
