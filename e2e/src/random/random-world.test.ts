import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import { convertResources, loadManifests } from "@bulrush/datastore";
import { writeManifest } from "../lab/write-manifest.ts";
import { Choices } from "./choices.ts";
import { explainRandomFlow, freshJudge } from "./explain-flows.ts";
import { guardResources } from "./guard.ts";
import { FlowPicker } from "./random-flows.ts";
import { hostResources, RandomWorld } from "./random-world.ts";

const SEEDS = 60;

test("RandomWorld makes nothing but valid manifests, which the policy engine reads without a problem", async () => {
  const directory = mkdtempSync(join(tmpdir(), "bulrush-random-"));
  try {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const choices = new Choices(seededRandom(seed));
      const world = new RandomWorld(choices);
      for (let step = 0; step < 3; step++) {
        world.change();
        writeManifest(join(directory, "world.json"), [
          ...hostResources(),
          ...guardResources(choices),
          ...world.resources(),
        ]);
        const { problems, resources } = await loadManifests(directory);
        assert.deepEqual(problems, [], `seed ${seed}, step ${step}`);
        const converted = convertResources(resources.map(({ resource }) => resource));
        assert.deepEqual(converted.problems, [], `seed ${seed}, step ${step}`);
      }
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("RandomWorld repeats itself with its seed", () => {
  const make = (seed: number): unknown => {
    const world = new RandomWorld(new Choices(seededRandom(seed)));
    world.change();
    return world.resources();
  };
  assert.deepEqual(make(5), make(5));
  assert.notDeepEqual(make(5), make(6));
});

test("random flows meet all verdicts, decided by tiers, rules of every kind of policy, profiles and defaults", () => {
  const decidedBy = new Map<string, number>();
  const verdicts = new Map<string, number>();
  const count = (map: Map<string, number>, key: string): void => void map.set(key, (map.get(key) ?? 0) + 1);
  for (let seed = 1; seed <= SEEDS; seed++) {
    const choices = new Choices(seededRandom(seed));
    const world = new RandomWorld(choices);
    const judge = freshJudge(convertResources(world.resources()).updates);
    for (const flow of new FlowPicker().pick(choices, world.pods, 100)) {
      const { verdict, egress, ingress } = explainRandomFlow(judge, flow);
      count(verdicts, verdict);
      for (const side of [egress, ingress])
        if (side !== undefined) {
          const [kind = ""] = side.policy.split("/");
          count(decidedBy, `${kind} ${side.rule === null ? "end" : "rule"} ${side.verdict}`);
        }
    }
  }
  const total = (verdicts.get("allow") ?? 0) + (verdicts.get("deny") ?? 0);
  for (const verdict of ["allow", "deny"])
    assert.ok((verdicts.get(verdict) ?? 0) > total / 5, `${verdict}: ${verdicts.get(verdict)} of ${total}`);
  for (const kind of ["NetworkPolicy", "GlobalNetworkPolicy", "KubernetesClusterNetworkPolicy"])
    for (const verdict of ["allow", "deny"])
      assert.ok(
        (decidedBy.get(`${kind} rule ${verdict}`) ?? 0) > 20,
        `${kind} ${verdict}: ${JSON.stringify([...decidedBy])}`,
      );
  for (const key of ["KubernetesNetworkPolicy rule allow", "profile rule allow", " end deny"])
    assert.ok((decidedBy.get(key) ?? 0) > 20, `${key}: ${JSON.stringify([...decidedBy])}`);
});
