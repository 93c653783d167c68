import type { Policy, Update, WorkloadEndpoint } from "@bulrush/model";
import { markerAt, tagPolicy } from "./snapshot.ts";
import type { Operation } from "./steady-state.ts";
import type { TagCluster } from "./tag-cluster.ts";
import { fresh } from "./workload.ts";

/** How far the other marker is from an endpoint's or a policy's own. */
const OTHER_MARKER = 5;

function gone(update: Update): Update {
  return { ...update, value: undefined, type: "deleted" };
}

/** The changes of the reference's steady state, on a cluster of tag policies. */
export function tagOperations(cluster: TagCluster): Operation[] {
  const remote = (target: number): number => target * Math.floor(cluster.remote / 2000);
  const local = cluster.localIndices();
  const withOtherMarker = (target: number): Update => {
    const i = remote(target);
    const update = cluster.endpoint(i);
    const value = update.value as WorkloadEndpoint;
    const labels = new Map(value.labels).set(fresh(markerAt(i + 1 + OTHER_MARKER)), fresh("true"));
    return { ...update, value: { ...value, labels } };
  };
  const withPort = (target: number): Update => {
    const update = tagPolicy(target);
    const value = update.value as Policy;
    const [first, ...rest] = value.inbound_rules ?? [];
    return {
      ...update,
      value: { ...value, inbound_rules: [{ ...first, protocol: "tcp", dst_ports: [8080] }, ...rest] } as Policy,
    };
  };
  const label = {
    targets: 2000,
    set: withOtherMarker,
    revert: (target: number) => cluster.endpoint(remote(target)),
  };
  const pod = {
    targets: 2000,
    set: (target: number) => gone(cluster.endpoint(remote(target))),
    revert: (target: number) => cluster.endpoint(remote(target)),
  };
  const single = { deltas: 1, deltaMembers: 1 };
  const shared = { deltaMembers: 1 };
  return [
    { ...label, name: "i-label", rounds: 2, repeats: 5, expected: single },
    { ...pod, name: "ii-pod", rounds: 2, repeats: 5, expected: single },
    {
      name: "iii-a-rule",
      targets: 200,
      rounds: 5,
      repeats: 5,
      set: withPort,
      revert: (target) => tagPolicy(target),
      expected: { policies: 1, rules: 5, endpoints: 0, ipSets: 0 },
    },
    { ...label, name: "i-label-100-a-flush", rounds: 2, repeats: 5, perFlush: 100, expected: shared },
    { ...pod, name: "ii-pod-100-a-flush", rounds: 2, repeats: 5, perFlush: 100, expected: shared },
    {
      name: "iv-a-selector",
      targets: 31,
      rounds: 1,
      repeats: 5,
      set: (target) => tagPolicy(target, `has(${markerAt(target + OTHER_MARKER)})`),
      revert: (target) => tagPolicy(target),
      expected: { policies: 1, endpoints: 14.6, ingressEntries: 14.6 * 400, egressEntries: 14.6 * 400 },
    },
    {
      name: "iv-b-selector",
      targets: 10,
      rounds: 1,
      repeats: 5,
      interleaved: true,
      set: (target) => tagPolicy(target, "all()"),
      revert: (target) => tagPolicy(target),
      expected: { policies: 1, endpoints: 193, ingressEntries: 193 * 368, egressEntries: 193 * 368 },
    },
    {
      name: "v-local-pod-add",
      targets: 200,
      rounds: 1,
      repeats: 5,
      phases: "revert",
      set: (target) => gone(cluster.endpoint(local[target] as number)),
      revert: (target) => cluster.endpoint(local[target] as number),
      expected: { endpoints: 1, policies: 50, ipSets: 0.145 },
    },
  ];
}
