import assert from "node:assert/strict";
import { test } from "node:test";
import { createMetrics } from "@bulrush/service";
import { createServerMetrics } from "../server/server-metrics.ts";
import { createBalancerMetrics } from "./balancer-metrics.ts";

test("what is shed counts as dropped under upstream's name, and ours say why", async () => {
  const registry = createMetrics();
  const metrics = createBalancerMetrics(registry, createServerMetrics(registry).dropped);
  metrics.counted(804, 7, 1000);
  for (const why of ["limit", "levelling", "levelling"] as const) metrics.shed(why);
  metrics.stuck(true);
  metrics.cameBack(3);
  const lines = new Set((await registry.text()).split("\n"));
  for (const line of [
    "typha_connections_dropped 3",
    'bulrush_typha_connections_shed{why="limit"} 1',
    'bulrush_typha_connections_shed{why="levelling"} 2',
    "bulrush_typha_connection_limit 804",
    "bulrush_typha_ready_servers 7",
    "bulrush_typha_nodes 1000",
    "bulrush_typha_over_limit_without_room 1",
    "bulrush_typha_shed_came_back 3",
  ])
    assert.ok(lines.has(line), line);
  metrics.counted(10_000, undefined, undefined);
  metrics.stuck(false);
  const later = new Set((await registry.text()).split("\n"));
  for (const line of [
    "bulrush_typha_ready_servers -1",
    "bulrush_typha_nodes -1",
    "bulrush_typha_over_limit_without_room 0",
  ])
    assert.ok(later.has(line), line);
});
