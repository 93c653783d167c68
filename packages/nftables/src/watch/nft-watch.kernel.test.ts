import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { kernelTests } from "@bulrush/netlink/testing";
import { openNftConnection } from "../kernel/open-nft-connection.ts";
import { Transaction } from "../transaction.ts";
import type { NftChange } from "./nft-watch.ts";
import { openNftWatch } from "./open-nft-watch.ts";

const OURS = { family: "ip", name: "ours" } as const;

kernelTests(import.meta.filename, () => {
  const nft = (rules: string): void => void execFileSync("nft", ["-f", "-"], { input: rules });

  test("openNftWatch() tells what others change and who they are, and nothing of what is done while it is paused", async () => {
    const changes: NftChange[] = [];
    let check = (): void => {};
    const watch = openNftWatch({
      onChange: (change) => {
        changes.push(change);
        check();
      },
      onLost: () => assert.fail("lost"),
      onError: (error) => assert.fail(error),
    });
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        check = () => {
          if (changes.length >= count) resolve();
        };
        check();
      });
    nft(
      "table ip a { set s { type ipv4_addr; elements = { 10.0.0.1 } }; chain c { ip saddr @s drop; }; }; table ip6 b {}",
    );
    await until(1);
    assert.deepEqual([...(changes[0]?.tables ?? [])].sort(), ["ip a", "ip6 b"]);
    assert.match(changes[0]?.by ?? "", /^nft \(\d+\)$/);

    const connection = openNftConnection();
    watch.pause();
    connection.run(new Transaction().addTable(OURS).addChain(OURS, "c"));
    watch.resume();
    connection.run(new Transaction().addChain(OURS, "d"));
    nft("delete table ip a");
    await until(3);
    assert.deepEqual(
      changes.slice(1).map(({ tables }) => [...tables]),
      [["ip ours"], ["ip a"]],
    );
    connection.close();
    await watch.close();
  });
});
