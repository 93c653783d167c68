import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { readRuleCounters } from "../counters/rule-counters.ts";
import { startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { icmpPacket } from "../testing/raw-packets.ts";
import { encapsulation, IN_SYNC, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const A = "10.65.0.2";
const HOST = "192.168.7.1";
const HOST6 = "fd07::1";
const EXT = "192.168.7.2";
const P = policyId("np/default/p");

/** Sends a datagram, and prints what came of it: an answer of ICMP, or nothing in a while. */
const KNOCK = `
const [address, port] = process.argv.slice(1);
const socket = require("node:dgram").createSocket(address.includes(":") ? "udp6" : "udp4");
const end = (word) => { console.log(word); process.exit(0); };
socket.on("error", (error) => end(error.code === "ECONNREFUSED" ? "refused" : error.code));
socket.connect(Number(port), address, () => {
  socket.send("x");
  // Some kernels tell of the answer at the next send only.
  setTimeout(() => { try { socket.send("x"); } catch {} }, 200);
  setTimeout(() => end("silence"), 1000);
});
`;

/** What the reference system is known to get wrong, on the kernel. Others are beside the features that they belong to. */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;

  before(() => {
    lab = new KernelLab();
    lab.addIpv6(HOST6, "fd07::2", "fd65::/64");
    lab.addPod("a", A);
  });
  after(() => lab.close());

  it("defect c: type and code of ICMP are matched together, also where they are negated", async () => {
    const dataplane = startKernelDataplane();
    const icmp = { ip_version: 4, protocol: { name: "icmp" } } as const;
    await dataplane.send(
      policy(P, [
        rule("deny", { ...icmp, icmp: { type: 8, code: 1 } }),
        rule("deny", { ...icmp, not_icmp: { type: 8, code: 0 } }),
        rule("allow", icmp),
      ]),
      profile("open", [rule("allow")], [rule("allow")]),
      workload("a", {
        ipv4_nets: [`${A}/32`],
        mac: lab.macOf("a"),
        profile_ids: ["open"],
        tiers: [tier("default", [P])],
      }),
      IN_SYNC,
    );
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
    // Echo request with three codes, and a timestamp request: conntrack takes each for the start of a flow.
    for (const [i, [type, code]] of (
      [
        [8, 0],
        [8, 1],
        [8, 2],
        [13, 0],
      ] as const
    ).entries())
      lab.sendIpv4("ext", icmpPacket(EXT, A, type, code, 100 + i));
    const counts = (): string =>
      readRuleCounters(dataplane.kernel.nft)
        .filter(({ policy: name, packets }) => name === "np/default/p" && packets > 0n)
        .map(({ packets, rule: which }) => `${which}: ${packets}`)
        .join(", ");
    await until("all four have been judged", () => /0: 1, .*1: 2, .*2: 1$/.test(counts()));
    await dataplane.stop();
  });

  const knock = (address: string): Promise<string> =>
    new Promise((resolve) => {
      const child = spawn("ip", ["netns", "exec", "ext", process.execPath, "-e", KNOCK, address, "4789"]);
      let out = "";
      child.stdout.setEncoding("utf8").on("data", (piece: string) => (out += piece));
      child.on("close", () => resolve(out.trim()));
    });

  for (const [action, outcome] of [
    ["DROP", "silence"],
    ["REJECT", "refused"],
  ] as const)
    it(`defect f: VXLAN packets of unknown hosts meet the one deny action, ${action}, in both families`, async () => {
      const dataplane = startKernelDataplane({ NftablesFilterDenyAction: action });
      await dataplane.send(encapsulation({ vxlan_enabled: true, vxlan_enabled_v6: true }), IN_SYNC);
      for (const address of [HOST, HOST6]) {
        let seen = await knock(address);
        // The kernel limits how many such answers it gives.
        for (let tries = 0; tries < 30 && seen !== outcome; tries++) seen = await knock(address);
        assert.equal(seen, outcome, address);
      }
      await dataplane.stop();
    });
});
