import { benchMemory } from "@bulrush/typha/bench";
import type { Bench } from "./row.ts";

export const memoryBench: Bench = {
  name: "memory",
  summary: "resident memory of one Typha: 100,000 keys, without clients and with 1,000; after 20 s of changes",
  async run({ quick, progress }, print) {
    progress("100,000 keys with 0 and 1,000 clients; 10,000 keys, 1,000 clients, 100 changes a second for 20 s");
    for await (const row of benchMemory({ quick })) print(row);
  },
};
