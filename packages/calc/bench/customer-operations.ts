import type { Update, WorkloadEndpoint } from "@bulrush/model";
import type { CustomerCluster } from "./customer-cluster.ts";
import type { Operation } from "./steady-state.ts";
import { fresh } from "./workload.ts";

const OTHER_PORT = 9090;

function gone(update: Update): Update {
  return { ...update, value: undefined, type: "deleted" };
}

/** The changes of the reference's steady state, on a cluster of customers. */
export function customerOperations(cluster: CustomerCluster): Operation[] {
  const remote = cluster.remotePodsOfActive();
  const local = cluster.localPods();
  const remotePod = (target: number): Update => cluster.pod(remote[target] as number);
  const localPod = (target: number): Update => cluster.pod(local[target] as number);
  const customer = (target: number): number => cluster.customerOf(local[target] as number);
  const flipped = (target: number): Update => {
    const update = remotePod(target);
    const value = update.value as WorkloadEndpoint;
    const enabled = value.labels?.get("enabled") === "1" ? "0" : "1";
    return { ...update, value: { ...value, labels: new Map(value.labels).set(fresh("enabled"), fresh(enabled)) } };
  };
  const label = { targets: remote.length, set: flipped, revert: remotePod };
  const pod = { targets: remote.length, set: (target: number) => gone(remotePod(target)), revert: remotePod };
  // Every pod is in its namespace's set, and 5 of the 9 in the set of the enabled ones too.
  return [
    { ...label, name: "i-label", rounds: 2, repeats: 5, expected: { deltas: 1, deltaMembers: 1 } },
    { ...pod, name: "ii-pod", rounds: 2, repeats: 5, expected: { deltas: 1.556, deltaMembers: 1.556 } },
    {
      name: "iii-a-rule",
      targets: 200,
      rounds: 5,
      repeats: 5,
      set: (target) => cluster.policy(customer(target), OTHER_PORT),
      revert: (target) => cluster.policy(customer(target)),
      expected: { policies: 1, rules: 3, endpoints: 0, ipSets: 0 },
    },
    { ...label, name: "i-label-100-a-flush", rounds: 2, repeats: 5, perFlush: 100, expected: { deltaMembers: 1 } },
    { ...pod, name: "ii-pod-100-a-flush", rounds: 2, repeats: 5, perFlush: 100, expected: { deltaMembers: 1.556 } },
    {
      name: "v-local-pod-add",
      targets: 200,
      rounds: 5,
      repeats: 5,
      phases: "revert",
      set: (target) => gone(localPod(target)),
      revert: localPod,
      expected: { endpoints: 1, policies: 1, profiles: 1, ipSets: 2, members: 15 },
    },
  ];
}
