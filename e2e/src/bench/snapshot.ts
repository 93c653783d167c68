import { benchSnapshot } from "@bulrush/typha/bench";
import type { Bench } from "./row.ts";

export const snapshotBench: Bench = {
  name: "snapshot",
  summary: "snapshots from one Typha: to 200 clients at once, to the first after a change, and after each handshake",
  async run({ quick, progress }, print) {
    progress("100,000 keys to 200 clients and to one, 100 keys to 1,000; server on one core, clients on the other");
    for await (const row of benchSnapshot({ quick })) print(row);
  },
};
