import { benchConnections } from "@bulrush/typha/bench";
import type { Bench } from "./row.ts";

export const connectionsBench: Bench = {
  name: "connections",
  summary: "a thousand idle clients of one Typha: resident memory of each, and the CPU of their pings",
  async run({ quick, progress }, print) {
    progress("100 keys, 1,000 clients that stay for 10 s; server on one core, clients on the other");
    for await (const row of benchConnections({ quick })) print(row);
  },
};
