import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@bulrush/model";
import { convertMigration } from "./live-migration.ts";

function migration(
  phase: string,
  fields: { readonly vmiName?: string; readonly uid?: string; readonly state?: object } = {},
): Resource {
  const { vmiName = "db", uid = "u-1", state } = fields;
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachineInstanceMigration",
    metadata: { name: "m", namespace: "vms", uid, resourceVersion: "5" },
    spec: { vmiName },
    status: { phase, ...(state !== undefined && { migrationState: state }) },
  };
}

for (const phase of ["Scheduling", "Scheduled", "PreparingTarget", "TargetReady", "Running", "Failed"]) {
  test(`convertMigration() tells how the target is found in phase ${phase}`, () => {
    assert.deepEqual(convertMigration(migration(phase)), {
      apiVersion: "projectcalico.org/v3",
      kind: "LiveMigration",
      metadata: { name: "m", namespace: "vms", uid: "u-1", resourceVersion: "5" },
      spec: {
        Target: {
          Selector:
            "(vmi.kubevirt.io/id == 'db' || vm.kubevirt.io/name == 'db') && kubevirt.io/migrationJobUID == 'u-1'",
        },
      },
    });
  });
}

test("convertMigration() names the pod that is left", () => {
  const state = { sourcePod: "virt-launcher-db-x", sourceNode: "node-1" };
  const { Source } = (convertMigration(migration("Running", { state }))?.spec ?? {}) as { readonly Source?: unknown };
  assert.deepEqual(Source, {
    Workload: { Hostname: "node-1", OrchestratorID: "k8s", WorkloadID: "vms/virt-launcher-db-x" },
  });
});

for (const [what, resource] of [
  ["that has not begun", migration("Pending")],
  ["that is done", migration("Succeeded")],
  ["without a phase", migration("")],
  ["without the name of its machine", migration("Running", { vmiName: "" })],
  ["whose machine has a quote in its name", migration("Running", { vmiName: "a' || all() || 'b" })],
  ["without a UID", migration("Running", { uid: "" })],
] as const) {
  test(`convertMigration() makes nothing of one ${what}`, () => {
    assert.equal(convertMigration(resource), undefined);
  });
}
