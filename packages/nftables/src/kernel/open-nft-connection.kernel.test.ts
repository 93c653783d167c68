import { kernelTests } from "@bulrush/netlink/testing";
import { Transaction } from "../transaction.ts";
import { connectionCompliance } from "../testing/connection-compliance.ts";
import { openNftConnection } from "./open-nft-connection.ts";

kernelTests(import.meta.filename, () => {
  connectionCompliance(() => {
    const nft = openNftConnection();
    const names = ["t"].filter((name) => nft.readTable("ip", name) !== undefined);
    const transaction = new Transaction();
    for (const name of names) transaction.deleteTable({ family: "ip", name });
    nft.run(transaction);
    return nft;
  });
});
