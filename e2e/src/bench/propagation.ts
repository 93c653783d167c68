import { benchPropagation } from "@bulrush/typha/bench";
import type { Bench } from "./row.ts";

export const propagationBench: Bench = {
  name: "propagation",
  summary: "from a change to the last of 1,000 clients of one Typha, at 10 to 100 changes a second",
  async run({ quick, progress }, print) {
    progress("1,000 clients, one changed KV at a time; server on one core, clients on the other");
    for await (const row of benchPropagation({ quick })) print(row);
  },
};
