import { ClusterWorld } from "../cluster/cluster-world.ts";
import { OracleWorld } from "../oracle/world.ts";
import type { Scenario } from "./scenario.ts";

export const cluster: Scenario = {
  name: "cluster",
  summary: "two Typhas and three agents from the shipped manifests on a real API server",
  needsKube: true,
  async run({ progress }) {
    const t0 = performance.now();
    const world = await ClusterWorld.create({ nodes: ["host-a", "host-b", "host-c"], typhas: 2 });
    try {
      progress(`created ${performance.now() - t0}`);
      await world.startAll();
      progress(`ready ${performance.now() - t0}`);
      await world.sync(new OracleWorld().resources().filter(({ kind }) => kind !== "Node"));
      progress(`synced ${performance.now() - t0}`);
      await world.sync(new OracleWorld().resources().filter(({ kind }) => kind !== "Node"));
      progress(`synced ${performance.now() - t0}`);
    } finally {
      await world.stop();
    }
    return {};
  },
};
