import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { NFT_ERROR_CODES, NftError } from "@bulrush/nftables";
import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneHandle } from "../handle.ts";
import { FakeHost } from "../testing/fake-host.ts";
import { IN_SYNC, ipSet, policy, policyId, profile, rule, tier, workload } from "../testing/messages.ts";

const P = policyId("np/default/p");
const CALICO = { family: "ip", name: "calico" } as const;
const WORLD: readonly ToDataplane[] = [
  ipSet("s:web", "NET", "10.65.0.2/32", "10.66.0.0/16"),
  policy(P, [rule("allow", { src_ip_set_ids: ["s:web"] })]),
  profile("kns.default", [rule("allow")], [rule("allow")]),
  workload("a", { ipv4_nets: ["10.65.0.7/32"], profile_ids: ["kns.default"], tiers: [tier("default", [P])] }),
  IN_SYNC,
];
const FAMILIES = ["ip", "ip6"] as const;
const refusal = (): NftError =>
  new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction" });

describe("a table that is made anew", () => {
  let host: FakeHost;
  let dataplane: DataplaneHandle;
  /** What is in force, by table, after each transaction. */
  let history: string[];

  const inForce = (): string =>
    FAMILIES.map((family) => {
      const live = ["calico", "calico-standby"].filter((name) =>
        [...(host.nft.readTable(family, name)?.chains.values() ?? [])].some(({ base }) => base !== undefined),
      );
      return `${family} ${live.join("+")}`;
    }).join(", ");
  /** The wrong type of an interval set: it has to take the place of one of its name. */
  const spoil = (): void =>
    host.nft.edit((transaction) =>
      transaction
        .flushChain(CALICO, "filter-cali-pi-np/default/p")
        .deleteSet(CALICO, "cali40s-web-net")
        .addSet(CALICO, { name: "cali40s-web-net", key: ["inet_service"], interval: false }),
    );
  const isWhole = (): void => {
    assert.equal(host.missing(WORLD), "");
    for (const family of FAMILIES) assert.equal(host.nft.readTable(family, "calico-standby"), undefined);
  };

  beforeEach(async () => {
    host = new FakeHost();
    host.routes.setLink(5, "calia");
    dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    await host.advance(1000);
    history = [];
    const run = host.nft.run.bind(host.nft);
    host.nft.run = (transaction, options) => {
      run(transaction, options);
      // Which flows are to be judged after it stands in a table of its own, without rules.
      if (transaction.operations.some(({ table }) => table.name !== "calico-ended")) history.push(inForce());
    };
  });

  it("has one full set of rules in force after each step, and no stand-in at the end", async () => {
    spoil();
    await host.advance(90_000);
    assert.deepEqual(history, [
      "ip calico, ip6 calico",
      "ip calico-standby, ip6 calico-standby",
      "ip calico-standby, ip6 calico-standby",
      "ip calico, ip6 calico",
    ]);
    isWhole();
    assert.equal(host.status?.counters.drift.set, 1);
  });

  for (const steps of [1, 2, 3])
    it(`is brought to its end when step ${steps + 1} fails`, async () => {
      spoil();
      const run = host.nft.run.bind(host.nft);
      let done = 0;
      host.nft.run = (transaction, options) => {
        if (done++ === steps) throw refusal();
        run(transaction, options);
      };
      await host.advance(91_000);
      isWhole();
      for (const state of history) assert.match(state, /^ip (calico|calico-standby), ip6 (calico|calico-standby)$/);
    });

  for (const steps of [1, 2, 3])
    it(`is brought to its end by the next one when the process dies after step ${steps}`, async () => {
      spoil();
      const run = host.nft.run.bind(host.nft);
      let done = 0;
      host.nft.run = (transaction, options) => {
        if (done++ >= steps) throw refusal();
        run(transaction, options);
      };
      // Stopped in the pauses between its tries.
      await host.advance(90_000);
      await dataplane.stop();
      host.nft.run = run;
      dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      await host.advance(1000);
      isWhole();
      for (const state of history) assert.match(state, /^ip (calico|calico-standby), ip6 (calico|calico-standby)$/);
    });
});
