import { CALICO_V3, isObject, type JsonObject, type Resource } from "@bulrush/model";

/** The phases of a KubeVirt migration in which its target pod takes over; a failed one must be taken back. */
const PHASES: ReadonlySet<string> = new Set([
  "Scheduling",
  "Scheduled",
  "PreparingTarget",
  "TargetReady",
  "WaitingForSync",
  "Synchronizing",
  "Running",
  "Failed",
]);

function objectAt(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isObject(value) ? value : {};
}

function textAt(object: JsonObject, field: string): string {
  const value = object[field];
  return typeof value === "string" ? value : "";
}

/**
 * A kubevirt.io VirtualMachineInstanceMigration as a v3 LiveMigration: which pod its virtual machine leaves and how the
 * pod is found that it moves to. Undefined while there is nothing to prepare for (not begun, done), and for one without
 * the name of its machine or without UID. The field names of the spec are those of Calico's Go type, which has no others.
 */
export function convertMigration(migration: Resource): Resource | undefined {
  const { namespace = "", name, uid = "", resourceVersion, creationTimestamp } = migration.metadata;
  const spec = isObject(migration.spec) ? migration.spec : {};
  const status = isObject(migration.status) ? migration.status : {};
  const machine = textAt(spec, "vmiName");
  // A name with a quote would end the text in the selector below.
  if (!PHASES.has(textAt(status, "phase")) || !/^[a-z0-9][-.a-z0-9]*$/.test(machine) || uid === "") return undefined;
  const state = objectAt(status, "migrationState");
  const sourcePod = textAt(state, "sourcePod");
  return {
    apiVersion: CALICO_V3,
    kind: "LiveMigration",
    metadata: {
      name,
      namespace,
      uid,
      ...(resourceVersion !== undefined && { resourceVersion }),
      ...(creationTimestamp !== undefined && { creationTimestamp }),
    },
    spec: {
      ...(sourcePod !== "" && {
        Source: {
          Workload: {
            Hostname: textAt(state, "sourceNode"),
            OrchestratorID: "k8s",
            WorkloadID: `${namespace}/${sourcePod}`,
          },
        },
      }),
      Target: { Selector: targetSelector(machine, uid) },
    },
  };
}

/** The pod of the machine that this migration has made. KubeVirt's labels differ between its versions. */
function targetSelector(machine: string, uid: string): string {
  const ofMachine = ["vmi.kubevirt.io/id", "vm.kubevirt.io/name"].map((label) => `${label} == '${machine}'`);
  return `(${ofMachine.join(" || ")}) && kubevirt.io/migrationJobUID == '${uid}'`;
}
