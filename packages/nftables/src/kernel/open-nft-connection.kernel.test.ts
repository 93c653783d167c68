import { spawnSync } from "node:child_process";
import { kernelTests } from "@bulrush/netlink/testing";
import { Transaction } from "../transaction.ts";
import { connectionCompliance } from "../testing/connection-compliance.ts";
import { openNftConnection } from "./open-nft-connection.ts";

/** Whether this kernel has flow tables (CONFIG_NF_FLOW_TABLE): nft itself finds out by making one. */
function hasFlowtables(): boolean {
  const input =
    "table ip probe { flowtable f { hook ingress priority 0; }; chain c { flow add @f; }; }\ndelete table ip probe";
  return spawnSync("nft", ["-f", "-"], { input }).status === 0;
}

kernelTests(import.meta.filename, () => {
  connectionCompliance(() => {
    const nft = openNftConnection();
    const names = ["t"].filter((name) => nft.readTable("ip", name) !== undefined);
    const transaction = new Transaction();
    for (const name of names) transaction.deleteTable({ family: "ip", name });
    nft.run(transaction);
    return nft;
  }, hasFlowtables());
});
