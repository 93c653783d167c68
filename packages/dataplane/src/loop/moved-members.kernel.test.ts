import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { systemClock } from "@bulrush/base";
import { kernelTests } from "@bulrush/netlink/testing";
import { type NftConnection, openNftConnection } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import { Interfaces } from "../manager/interfaces.ts";
import { RulesetManagers } from "../manager/ruleset-managers.ts";
import { WorkloadEndpoints } from "../manager/workload-endpoints.ts";
import { KernelLab } from "../testing/kernel-lab.ts";
import { ipSet, ipSetDelta, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";
import { RulesetProgrammer } from "./ruleset-programmer.ts";
import { planQuietly, planTakeover, standbyOf } from "./table-swap.ts";

const SOURCE = "10.65.0.2";
const TARGET = "10.65.0.3";
const P = policyId("np/default/p");
/** Without care for what moves, some packets slip through in so many batches of so much time. */
const LEAST = { batches: 300, ms: 2000 } as const;
const LONGEST_MS = 20_000;

/**
 * Packets as fast as they come, from an address that is denied at all times, while the kernel's sets that say so change.
 */
kernelTests(import.meta.filename, () => {
  let lab: KernelLab;
  let nft: NftConnection;
  let managers: RulesetManagers;
  let programmer: RulesetProgrammer;
  const endpoints = new WorkloadEndpoints();

  const program = async (...messages: readonly ToDataplane[]): Promise<void> => {
    for (const message of messages) {
      endpoints.onUpdate(message);
      managers.onUpdate(message);
    }
    do {
      managers.completeDeferredWork();
      await programmer.apply();
    } while (managers.hasLeftovers);
  };
  /** Packets of the flood before and behind our rules. Of a table of its own, since rules that change count anew. */
  const counts = (): { came: bigint; passed: bigint } => {
    const chains = nft.readTable("ip", "probe")?.chains;
    const packets = (chain: string): bigint => chains?.get(chain)?.rules[0]?.counter?.packets ?? 0n;
    return { came: packets("ahead"), passed: packets("behind") };
  };

  before(() => {
    lab = new KernelLab();
    lab.addPod("a", SOURCE);
    lab.addPod("b", TARGET);
    lab.run("sysctl -qw net.ipv4.ip_forward=1");
    for (const [name, address] of [
      ["a", SOURCE],
      ["b", TARGET],
    ]) {
      lab.run(`ip route add ${address}/32 dev cali${name}`);
      lab.run(`ip neigh replace ${address} lladdr ${lab.macOf(name ?? "")} dev cali${name} nud permanent`);
    }
    nft = openNftConnection();
    const { config } = parseDataplaneConfig(new Map());
    const interfaces = new Interfaces();
    managers = new RulesetManagers({ config, endpoints, interfaces, onBadMember: () => assert.fail("bad member") });
    programmer = new RulesetProgrammer({
      nft,
      clock: systemClock({ keepAlive: true }),
      tables: [...managers.tables.values()],
      signal: new AbortController().signal,
      onWarning: (message, fields) => assert.fail(`${message} ${JSON.stringify(fields)}`),
    });
    const match = `ip saddr ${SOURCE} udp dport 9 counter`;
    lab.nft(`table ip probe {
      chain ahead { type filter hook forward priority -10; ${match}; }
      chain behind { type filter hook forward priority 10; ${match}; }
    }`);
    lab.flood("a", TARGET, 9);
  });
  after(() => {
    lab.close();
    nft.close();
  });

  const deny = (set: string): ToDataplane => policy(P, [rule("deny", { src_ip_set_ids: [set] }), rule("allow")]);
  const world = (...members: readonly string[]): ToDataplane[] => [
    ipSet("s:spies", "NET", ...members),
    deny("s:spies"),
    profile("open", [rule("allow")], [rule("allow")]),
    workload("a", { name: "calia", profile_ids: ["open"] }),
    workload("b", { name: "calib", profile_ids: ["open"], tiers: [tier("default", [P])] }),
  ];

  /** Goes to and fro between two states, and says what got through. */
  const toAndFro = async (there: readonly ToDataplane[], back: readonly ToDataplane[]): Promise<void> => {
    const before = counts();
    const startMs = performance.now();
    let batches = 0;
    for (let ms = 0; ms < LONGEST_MS && (ms < LEAST.ms || batches < LEAST.batches); batches++) {
      ms = performance.now() - startMs;
      await program(...(batches % 2 === 0 ? there : back));
      if (batches % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    if (batches % 2 === 1) await program(...back);
    const after = counts();
    assert.ok(after.came > before.came + 1000n, "too few packets to prove anything");
    assert.equal(after.passed - before.passed, 0n, `packets got through in ${batches} batches`);
  };

  it("nothing passes while an address moves between single addresses and networks", async () => {
    await program(...world(`${SOURCE}/32`));
    const wide = ["10.65.0.0/30"];
    await toAndFro([ipSetDelta("s:spies", wide, [`${SOURCE}/32`])], [ipSetDelta("s:spies", [`${SOURCE}/32`], wide)]);
  });

  it("nothing passes while an address moves between parts that both have other members", async () => {
    await program(ipSet("s:spies", "NET", `${SOURCE}/32`, "10.99.0.1/32", "10.98.0.0/16"));
    const wide = ["10.65.0.0/30"];
    await toAndFro([ipSetDelta("s:spies", wide, [`${SOURCE}/32`])], [ipSetDelta("s:spies", [`${SOURCE}/32`], wide)]);
  });

  it("nothing passes while a policy changes over to another set of networks", async () => {
    await program(ipSet("s:spies", "NET", "10.65.0.0/30"));
    await toAndFro(
      [ipSet("s:others", "NET", "10.65.0.0/29"), deny("s:others"), { msg: "IPSetRemove", id: "s:spies" }],
      [ipSet("s:spies", "NET", "10.65.0.0/30"), deny("s:spies"), { msg: "IPSetRemove", id: "s:others" }],
    );
  });

  it("nothing passes while the whole table is made anew, again and again", async () => {
    const others = Array.from({ length: 2000 }, (_, i) => `10.70.${i >> 5}.${(i & 31) * 8}/30`);
    await program(ipSet("s:spies", "NET", "10.65.0.0/30", ...others), deny("s:spies"));
    const wanted = [...managers.tables.values()].map((table) => table.state());
    const standby = wanted.map(standbyOf);
    const before = counts();
    const startMs = performance.now();
    // One batch that deletes and adds the table lets some through in so many tries.
    for (let rounds = 0; rounds < 60 && performance.now() - startMs < LONGEST_MS; rounds++) {
      nft.run(planQuietly(standby));
      nft.run(planTakeover(standby, wanted));
      nft.run(planQuietly(wanted));
      nft.run(planTakeover(wanted, standby));
      await new Promise((resolve) => setImmediate(resolve));
    }
    const after = counts();
    assert.ok(after.came > before.came + 1000n, "too few packets to prove anything");
    assert.equal(after.passed - before.passed, 0n, "packets got through");
  });
});
