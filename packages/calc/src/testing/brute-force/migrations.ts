import type { WorkloadEndpoint, WorkloadEndpointKey } from "@bulrush/model";
import type { DataplaneWorkloadEndpoint } from "@bulrush/proto";
import { resourcesOf, type View } from "./contents.ts";
import { naiveMatch } from "./naive-selector.ts";

interface Identifier {
  readonly Hostname: string;
  readonly OrchestratorID: string;
  readonly WorkloadID: string;
  readonly EndpointID?: string;
}

interface MigrationSpec {
  readonly Source?: { readonly Workload?: Identifier; readonly WorkloadEndpoint?: Identifier };
  readonly Target?: { readonly Selector?: string; readonly WorkloadEndpoint?: Identifier };
}

/**
 * What a workload is in a live migration: a target whose labels the target's selector wants; else one that is named as
 * the target; else one that is named as the source, alone or with all of its workload. Of several, the greatest UID.
 */
export function expectedMigration(
  view: View,
  key: WorkloadEndpointKey,
  value: WorkloadEndpoint,
  labels: ReadonlyMap<string, string>,
): Partial<DataplaneWorkloadEndpoint> {
  const migrations = resourcesOf(view.contents, "LiveMigration").map(([, { metadata, spec }]) => ({
    uid: metadata.uid ?? "",
    spec: (spec ?? {}) as MigrationSpec,
  }));
  const isThis = (id: Identifier | undefined): boolean =>
    id !== undefined &&
    id.OrchestratorID === key.orchestrator &&
    id.WorkloadID === key.workload &&
    (id.EndpointID === undefined || id.EndpointID === key.endpoint) &&
    // The names of pods are the same on every host.
    (key.orchestrator === "k8s" || id.Hostname === key.hostname);
  const ways: readonly (readonly ["target" | "source", (spec: MigrationSpec) => boolean])[] = [
    ["target", ({ Target }) => Target?.Selector !== undefined && naiveMatch(Target.Selector, labels)],
    ["target", ({ Target }) => isThis(Target?.WorkloadEndpoint)],
    ["source", ({ Source }) => isThis(Source?.Workload) || isThis(Source?.WorkloadEndpoint)],
  ];
  for (const [role, isIt] of ways) {
    const uid = migrations
      .filter(({ spec }) => isIt(spec))
      .map((one) => one.uid)
      .sort()
      .at(-1);
    if (uid === undefined) continue;
    const machine = value.labels.get("vmi.kubevirt.io/id") ?? value.labels.get("vm.kubevirt.io/name");
    return {
      live_migration_role: role,
      live_migration_uid: uid,
      ...(machine !== undefined && { live_migration_vmi_name: machine }),
    };
  }
  return {};
}
