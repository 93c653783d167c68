import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { NFT_ERROR_CODES, NftError, type NftFailure, type Transaction } from "@bulrush/nftables";
import { FakeHost } from "../testing/fake-host.ts";
import { WORLD } from "../testing/small-world.ts";

const FORWARDING_4 = "net/ipv4/ip_forward";
const FORWARDING_6 = "net/ipv6/conf/all/forwarding";
const WARNING = "warn IPv6 stays off: this kernel has none (CONFIG_IPV6)";

// projectcalico/felix#989, projectcalico/felix#1319, projectcalico/felix#1411, projectcalico/calicoctl#968
describe("a kernel without IPv6", () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    host.routes.setLink(2, "eth0");
    host.routes.setLink(5, "calia");
  });

  /** No chain of IPv6 can be hooked in: its type is not known. */
  const refuseIpv6 = (): void => {
    const run = host.nft.run.bind(host.nft);
    host.nft.run = (transaction: Transaction, options): void => {
      const failures = transaction.operations.flatMap(({ kind, table }, index): NftFailure[] =>
        table.family === "ip6" && kind === "add-chain"
          ? [{ index, operation: "add-chain ip6", errno: 2, errnoName: "ENOENT" }]
          : [],
      );
      if (failures.length > 0)
        throw new NftError("Transaction refused", { code: NFT_ERROR_CODES.refused, op: "Run transaction", failures });
      run(transaction, options);
    };
  };

  it("has the rules of IPv4, and is in sync", async () => {
    host.sysctls.missing.add(FORWARDING_6);
    refuseIpv6();
    const dataplane = host.start({ WireguardEnabledV6: "true" });
    await host.send(dataplane, ...WORLD);
    assert.equal(host.missing(WORLD, { Ipv6Support: "false" }), "");
    assert.equal(host.table("ip6"), undefined);
    assert.deepEqual(host.routes.listing(), ["10.65.0.7/32 dev calia proto 3 metric 1024"]);
    assert.deepEqual(
      [host.status?.ready, host.fatal, host.logs.filter((line) => line === WARNING)],
      [true, [], [WARNING]],
    );
    await dataplane.stop();
  });

  it("has the rules of IPv6 too where it takes them: IPv6 may be loaded later", async () => {
    host.sysctls.missing.add(FORWARDING_6);
    const dataplane = host.start();
    await host.send(dataplane, ...WORLD);
    assert.equal(host.missing(WORLD), "");
    assert.notEqual(host.table("ip6"), undefined);
    assert.equal(host.nft.readTable("ip6", "calico-probe"), undefined);
    assert.deepEqual([host.status?.ready, host.logs.includes(WARNING)], [true, false]);
    await dataplane.stop();
  });

  for (const [what, missing] of [
    ["that has IPv6 but no rules for it", []],
    ["whose settings cannot be seen", [FORWARDING_4, FORWARDING_6]],
  ] as const)
    it(`${what} is not ready: pods would not be guarded`, async () => {
      for (const path of missing) host.sysctls.missing.add(path);
      refuseIpv6();
      const dataplane = host.start();
      await host.send(dataplane, ...WORLD);
      await host.advance(30_000);
      assert.notEqual(host.status?.ready, true);
      assert.equal(host.logs.includes(WARNING), false);
      await dataplane.stop();
    });
});
