import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, beforeEach, it } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import type { ToDataplane } from "@bulrush/proto";
import { type KernelDataplane, startKernelDataplane, until } from "../testing/kernel-dataplane.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { hostEndpoint, IN_SYNC, ipSet, profile, rule, workload, workloadRemove } from "../testing/messages.ts";

const A = "10.65.0.2";
const B = "10.65.0.3";
const EXT = "192.168.7.2";

const BURST_BYTES = 100_000;
const SENT_BYTES = 2_000_000;
/** 10 Mbit/s: what is over the burst takes this long at least, whatever else the machine does. */
const BYTES_A_SECOND = 1_250_000;
const LEAST_MS = ((SENT_BYTES - BURST_BYTES) / BYTES_A_SECOND) * 1000;

/** Sends so many bytes to an echo server, and prints how many milliseconds passed until all were back. */
const ECHOED = `
const [address, port, count] = process.argv.slice(1);
let left = Number(count);
const startMs = performance.now();
const socket = require("node:net").connect(Number(port), address, () => socket.write(Buffer.alloc(left)));
socket.on("data", (data) => {
  left -= data.length;
  if (left > 0) return;
  console.log(performance.now() - startMs);
  socket.destroy();
});
`;

kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let dataplane: KernelDataplane;

  const pod = (fields: Parameters<typeof workload>[1] = {}): ToDataplane =>
    workload("a", { ipv4_nets: [`${A}/32`], mac: lab.macOf("a"), profile_ids: ["open"], ...fields });
  /** UDP packets to the pod ahead of our rules at the forward hook and behind them. */
  const counts = (): { ahead: number; behind: number } => {
    const chains = dataplane.kernel.nft.readTable("ip", "probe")?.chains;
    const packets = (chain: string): number => Number(chains?.get(chain)?.rules[0]?.counter?.packets ?? 0n);
    return { ahead: packets("ahead"), behind: packets("behind") };
  };

  before(async () => {
    lab = new KernelLab();
    lab.addPod("a", A);
    lab.addPod("b", B);
    dataplane = startKernelDataplane();
    await lab.serve("a", 80);
    await dataplane.send(profile("open", [rule("allow")], [rule("allow")]), pod(), IN_SYNC);
    await until("the pod has its route", () => lab.run("ip route").includes(`${A} dev calia`));
  });
  beforeEach(() => {
    lab.nft(`add table ip probe; delete table ip probe;
      table ip probe {
        chain ahead { type filter hook forward priority -10; ip daddr ${A} meta l4proto udp counter; }
        chain behind { type filter hook forward priority 10; ip daddr ${A} meta l4proto udp counter; }
      }`);
  });
  after(async () => {
    await dataplane.stop();
    lab.close();
  });

  it("P37: refuses one connection more than the limit, and takes it when another has ended", async () => {
    await dataplane.send(pod({ qos_controls: { ingressMaxConnections: 4 } }));
    for (let i = 0; i < 4; i++) await lab.openConnection("ext", A, 80);
    assert.equal(await lab.connect("ext", A, 80), "refused");
    assert.equal(await lab.connect(undefined, A, 80), "connected", "the host's own connections are not forwarded");
    lab.endPrograms("ext");
    let outcome = "refused";
    for (let tries = 0; tries < 50 && outcome !== "connected"; tries++) outcome = await lab.connect("ext", A, 80);
    assert.equal(outcome, "connected");
  });

  it("P37: knows the connections that there are when policy changes", async () => {
    await dataplane.send(profile("more", [rule("allow")], [rule("allow")]));
    await dataplane.send(pod({ qos_controls: { ingressMaxConnections: 2 } }));
    for (let i = 0; i < 2; i++) await lab.openConnection("ext", A, 80);
    assert.equal(await lab.connect("ext", A, 80), "refused");
    await dataplane.send(pod({ qos_controls: { ingressMaxConnections: 2 }, profile_ids: ["more", "open"] }));
    assert.equal(await lab.connect("ext", A, 80), "refused");
    lab.endPrograms("ext");
    await dataplane.send(pod());
  });

  it("defect e: counts UDP flows too", async () => {
    await dataplane.send(pod(), pod({ qos_controls: { ingressMaxConnections: 3 } }));
    const sockets = [];
    for (let i = 0; i < 6; i++) sockets.push(await lab.openDatagrams("ext", EXT, 6000 + i));
    for (const socket of sockets) socket.send(A, 9, "x");
    await until("all packets have come by", () => counts().ahead >= 6);
    assert.deepEqual(counts(), { ahead: 6, behind: 3 });
  });

  it("lets through no more packets than the rate and its burst", async () => {
    await dataplane.send(pod({ qos_controls: { ingressPacketRate: 1, ingressPacketBurst: 5 } }));
    const socket = await lab.openDatagrams("ext", EXT, 7000);
    const startMs = performance.now();
    for (let i = 0; i < 200; i++) socket.send(A, 9, "x");
    await until("all packets have come by", () => counts().ahead >= 200);
    const most = 5 + 1 + Math.ceil((performance.now() - startMs) / 1000);
    const { behind } = counts();
    assert.ok(behind >= 5 && behind <= most, `${behind} of 200 packets, at most ${most}`);
  });

  for (const [from, address, port] of [
    ["ext", EXT, 9100],
    ["b", B, 9101],
  ] as const)
    it(`holds what is established to the packet rate too, though the host endpoint or the pod that it comes by lets it through: from ${from}`, async () => {
      lab.nft(`table ip probe { chain known { type filter hook forward priority -9;
        ip daddr ${A} udp dport ${port} ct state established counter; }; }`);
      const known = (): bigint =>
        dataplane.kernel.nft.readTable("ip", "probe")?.chains.get("known")?.rules[0]?.counter?.packets ?? 0n;
      const other = workload("b", { ipv4_nets: [`${B}/32`], mac: lab.macOf("b"), profile_ids: ["open"] });
      await dataplane.send(pod(), other, hostEndpoint("eth0", { name: "eth0", profile_ids: ["open"] }));
      await until("the other pod has its route", () => lab.run("ip route").includes(`${B} dev calib`));
      const near = await lab.openDatagrams("a", A, port);
      const far = await lab.openDatagrams(from, address, port);
      await until("packets of the flow have come both ways", () => {
        far.send(A, port, "x");
        near.send(address, port, "x");
        return known() > 0n;
      });
      await dataplane.send(pod({ qos_controls: { ingressPacketRate: 1, ingressPacketBurst: 5 } }));
      const before = counts();
      const startMs = performance.now();
      for (let i = 0; i < 200; i++) far.send(A, port, "x");
      await until("all packets have come by", () => counts().ahead >= before.ahead + 200);
      const most = 5 + 1 + Math.ceil((performance.now() - startMs) / 1000);
      const passed = counts().behind - before.behind;
      assert.ok(passed <= most, `${passed} of 200 packets, at most ${most}`);
      await dataplane.send(pod(), workloadRemove("b"), { msg: "HostEndpointRemove", id: "eth0" });
    });

  for (const direction of ["ingress", "egress"] as const)
    it(`P38: holds ${direction} to its bandwidth, by a token bucket that goes with the limit`, async () => {
      const limits = { [`${direction}Bandwidth`]: BYTES_A_SECOND * 8, [`${direction}Burst`]: BURST_BYTES * 8 };
      await lab.serve("ext", direction === "ingress" ? 9001 : 9002);
      await dataplane.send(pod({ qos_controls: limits }));
      const queues = lab.run("tc qdisc show");
      assert.match(queues, direction === "ingress" ? /tbf .* dev calia root/ : /tbf .* dev bwcali[0-9a-f]{9} root/);
      const port = direction === "ingress" ? "9001" : "9002";
      const tookMs = Number(
        execFileSync("ip", ["netns", "exec", "a", process.execPath, "-e", ECHOED, EXT, port, String(SENT_BYTES)]),
      );
      assert.ok(tookMs >= LEAST_MS * 0.9, `${tookMs} ms for what takes ${LEAST_MS} ms`);
      await dataplane.send(pod());
      assert.doesNotMatch(lab.run("tc qdisc show"), /tbf|ingress/);
      assert.doesNotMatch(lab.run("ip link show"), /bwcali/);
    });

  it("P38: a peak rate bounds the burst itself", async () => {
    const peakMs = ((SENT_BYTES - BURST_BYTES) / (BYTES_A_SECOND * 2)) * 1000;
    await lab.serve("ext", 9003);
    await dataplane.send(
      pod({
        qos_controls: {
          egressBandwidth: BYTES_A_SECOND * 8,
          egressBurst: SENT_BYTES * 2 * 8,
          egressPeakrate: BYTES_A_SECOND * 2 * 8,
          egressMinburst: BURST_BYTES,
        },
      }),
    );
    const words = ["netns", "exec", "a", process.execPath, "-e", ECHOED, EXT, "9003", String(SENT_BYTES)];
    const tookMs = Number(execFileSync("ip", words));
    assert.ok(tookMs >= peakMs * 0.9, `${tookMs} ms for what takes ${peakMs} ms`);
    await dataplane.send(pod());
  });

  it("marks the first packet of a connection between two pods of an ambient mesh, and nothing else", async () => {
    lab.run(
      "ip netns exec a nft -f -",
      `table ip probe { chain c { type filter hook input priority 0;
        ip saddr ${B} tcp dport 80 tcp flags & (syn|ack) == syn ip dscp 23 counter;
        ip saddr ${B} tcp dport 80 tcp flags & (syn|ack) != syn ip dscp 23 counter;
        ip saddr ${EXT} tcp dport 80 ip dscp 23 counter;
      }; }`,
    );
    const other = workload("b", { ipv4_nets: [`${B}/32`], mac: lab.macOf("b"), profile_ids: ["open"] });
    await dataplane.send(pod(), other, ipSet("all-istio-weps", "IP", A, B));
    await until("the other pod has its route", () => lab.run("ip route").includes(`${B} dev calib`));
    assert.equal(await lab.connect("b", A, 80), "connected");
    assert.equal(await lab.connect("ext", A, 80), "connected");
    const marked = [...lab.run("ip netns exec a nft list table ip probe").matchAll(/packets (\d+)/g)].map(([, n]) =>
      Number(n),
    );
    assert.ok((marked[0] ?? 0) >= 1);
    assert.deepEqual(marked.slice(1), [0, 0]);
    lab.run("ip netns exec a nft delete table ip probe");
    await dataplane.send({ msg: "IPSetRemove", id: "all-istio-weps" }, workloadRemove("b"));
  });

  it("P35, defect d: marks what leaves the cluster, of each address of the endpoint, and nothing else", async () => {
    const more = "10.65.0.9";
    lab.run(`ip -n a addr add ${more}/32 dev eth0`);
    lab.run(
      "ip netns exec ext nft -f -",
      "table ip probe { chain c { type filter hook input priority 0; ip dscp ef counter; ip dscp != ef counter; }; }",
    );
    const marked = (): number[] =>
      [...lab.run("ip netns exec ext nft list table ip probe").matchAll(/packets (\d+)/g)].map(([, n]) => Number(n));
    await dataplane.send(pod({ ipv4_nets: [`${A}/32`, `${more}/32`], qos_policies: [{ destination: "", dscp: 46 }] }));
    const sockets = [await lab.openDatagrams("a", A, 8000), await lab.openDatagrams("a", more, 8000)];
    await until("the second address has its route", () => lab.run("ip route").includes(`${more} dev calia`));
    for (const socket of sockets) socket.send(EXT, 9, "x");
    await until("both have come", () => marked()[0] === 2);
    await dataplane.send(pod({ ipv4_nets: [`${A}/32`, `${more}/32`] }));
    const [, before = 0] = marked();
    for (const socket of sockets) socket.send(EXT, 9, "x");
    await until("both have come unmarked", () => (marked()[1] ?? 0) >= before + 2);
    assert.equal(marked()[0], 2);
  });
});
