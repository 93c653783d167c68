import { benchFanOut } from "@bulrush/typha/bench";
import type { Bench } from "./row.ts";

export const fanoutBench: Bench = {
  name: "fanout",
  summary: "deltas from one Typha to many clients in lock-step: server CPU and bytes per client and message",
  async run({ quick, progress }, print) {
    progress("100 to 1,000 clients, 1 to 50 changed KVs a tick; server on one core, clients on the other");
    for await (const row of benchFanOut({ quick })) print(row);
  },
};
