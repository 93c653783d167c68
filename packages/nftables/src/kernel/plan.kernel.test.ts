import { kernelTests } from "@bulrush/netlink/testing";
import { planCompliance } from "../testing/plan-compliance.ts";
import { Transaction } from "../transaction.ts";
import { openNftConnection } from "./open-nft-connection.ts";

kernelTests(import.meta.filename, () => {
  planCompliance(
    () => {
      const nft = openNftConnection();
      if (nft.readTable("ip", "t") !== undefined) nft.run(new Transaction().deleteTable({ family: "ip", name: "t" }));
      return nft;
    },
    10,
    20,
  );
});
