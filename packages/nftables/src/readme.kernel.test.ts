import assert from "node:assert/strict";
import { test } from "node:test";
import { kernelTests, runReadme } from "@bulrush/netlink/testing";
import { openNftConnection } from "./kernel/open-nft-connection.ts";

kernelTests(import.meta.filename, () => {
  test("the code of the README runs", async () => {
    await runReadme(import.meta.dirname, "@bulrush/nftables");
    const nft = openNftConnection();
    assert.deepEqual([...(nft.readTable("ip", "example")?.sets.get("blocked")?.elements ?? [])], ["192.0.2.0/24"]);
    assert.equal(nft.readTable("ip", "example")?.chains.get("input")?.rules.length, 1);
    nft.close();
  });
});
