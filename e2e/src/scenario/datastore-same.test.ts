import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "@bulrush/base";
import { type Resource, validateResource } from "@bulrush/model";
import { Choices } from "../random/choices.ts";
import { DIFFERENCES, expectedIn, withoutOwn } from "./datastore-same-modes.ts";
import { type Change, SameScript } from "./datastore-same-script.ts";

function play(seed: number, steps: number): { script: SameScript; changes: readonly (readonly Change[])[] } {
  const script = new SameScript(new Choices(seededRandom(seed)));
  return { script, changes: [script.begin(), ...Array.from({ length: steps }, () => script.next(4))] };
}

function idOf({ apiVersion, kind, metadata }: Resource): string {
  return `${apiVersion} ${kind} ${metadata.namespace ?? ""}/${metadata.name}`;
}

test("the same seed gives the same script, another one another", () => {
  assert.deepEqual(play(5, 50).changes, play(5, 50).changes);
  assert.notDeepEqual(play(5, 50).changes, play(6, 50).changes);
});

test("a script holds what its changes say, each of which knows what was there, and none of a step meet", () => {
  const { script, changes } = play(1, 300);
  const held = new Map<string, Resource>();
  for (const [step, batch] of changes.entries()) {
    const ids = batch.map(({ now, before }) => idOf((now ?? before) as Resource));
    if (step > 0) assert.equal(new Set(ids).size, ids.length, `Step ${step} changes something twice`);
    for (const [i, { now, before }] of batch.entries()) {
      const id = ids[i] as string;
      assert.deepEqual(held.get(id), before);
      if (now === undefined) held.delete(id);
      else held.set(id, now);
    }
  }
  assert.deepEqual(new Map(script.resources.map((resource) => [idOf(resource), resource])), held);
});

test("everything in a script is valid", () => {
  for (const { now } of play(2, 500).changes.flat()) {
    if (now === undefined) continue;
    assert.deepEqual(validateResource(now), [], JSON.stringify(now));
  }
});

const policy = "/calico/v1/policy/KubernetesNetworkPolicy/red/web";
const FILE = new Map<string, unknown>([
  [policy, { tier: "default" }],
  ["/calico/v1/policy/KubernetesClusterNetworkPolicy//guard", { tier: "kube-admin" }],
  ["/calico/resources/v3/projectcalico.org/kubernetesservices/red/shop", {}],
  ["/calico/v1/policy/profile/hand-1/rules", {}],
  ["/calico/v1/policy/profile/kns.red/rules", {}],
  ["/calico/v1/host/a/workload/stack/red%2fvm/endpoint/eth0", {}],
  ["/calico/v1/config/ClusterType", "lab"],
]);

test("each mode holds what a directory does, but for the differences that are listed", () => {
  const used = new Set<(typeof DIFFERENCES)[number]>();
  assert.deepEqual(expectedIn("file", FILE, used), FILE);
  const inEtcd = new Map([...FILE].filter(([path]) => !/Cluster|kubernetesservices/.test(path) || /config/.test(path)));
  inEtcd.delete(policy);
  inEtcd.set("/calico/v1/policy/NetworkPolicy/red/knp.default.web", { tier: "default" });
  assert.deepEqual(expectedIn("etcdv3", FILE, used), inEtcd);
  const inKubernetes = new Map([...FILE].filter(([path]) => !/hand-1|workload/.test(path)));
  inKubernetes.set("/calico/v1/config/ClusterType", "lab,kdd");
  assert.deepEqual(expectedIn("kubernetes", FILE, used), inKubernetes);
  assert.equal(used.size, DIFFERENCES.length);
  const own = new Map([...inKubernetes, ["/calico/v1/policy/profile/kns.kube-system/rules", {}]]);
  assert.deepEqual(withoutOwn("kubernetes", own), inKubernetes);
  assert.deepEqual(withoutOwn("etcdv3", own), own);
});
