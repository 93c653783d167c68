import type { DataplaneState } from "@bulrush/calc";
import type { ToDataplane } from "@bulrush/proto";

/** Everything that a dataplane was told, as messages for one that knows nothing: what is referred to comes first. */
export function* replay(state: DataplaneState): Generator<ToDataplane> {
  if (state.encapsulation !== undefined) yield state.encapsulation;
  if (state.globalBgpConfig !== undefined) yield state.globalBgpConfig;
  yield* state.hostMetadata.values();
  yield* state.ipamPools.values();
  yield* state.serviceAccounts.values();
  yield* state.namespaces.values();
  for (const { id, type, members } of state.ipSets.values())
    yield { msg: "IPSetUpdate", id, type, members: [...members] };
  for (const policy of state.policies.values()) yield { msg: "ActivePolicyUpdate", ...policy };
  for (const [id, profile] of state.profiles) yield { msg: "ActiveProfileUpdate", id, profile };
  for (const workload of state.workloadEndpoints.values()) yield { msg: "WorkloadEndpointUpdate", ...workload };
  for (const [id, endpoint] of state.hostEndpoints) yield { msg: "HostEndpointUpdate", id, endpoint };
  yield* state.routes.values();
  yield* state.vteps.values();
  yield* state.wireguard.values();
  yield* state.wireguardV6.values();
  yield* state.services.values();
  if (state.inSync) yield { msg: "InSync" };
}
