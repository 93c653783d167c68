import assert from "node:assert/strict";
import type { Resource } from "@bulrush/model";
import { labelMap, profileLabels, workload } from "../testing/fixtures.ts";
import { HOST, type KV } from "../testing/harness.ts";
import type { Normal } from "../testing/normal-state.ts";
import { sequence } from "../testing/sequence.ts";

function migration(name: string, uid: string, spec: object): KV {
  const value: Resource = {
    apiVersion: "projectcalico.org/v3",
    kind: "LiveMigration",
    metadata: { name, namespace: "vms", uid },
    spec,
  };
  return { key: { type: "Resource", kind: "LiveMigration", namespace: "vms", name }, value };
}

const pod = (name: string, labels: Record<string, string> = {}, profiles: readonly string[] = []): KV => {
  const { key, value } = workload(name, { labels: labelMap(labels), profile_ids: profiles });
  return { key: { ...key, orchestrator: "k8s" } as KV["key"], value };
};
const names = (workloadId: string, more: object = {}): object => ({
  Hostname: "elsewhere",
  OrchestratorID: "k8s",
  WorkloadID: workloadId,
  ...more,
});
const from = (workloadId: string): object => ({ Source: { Workload: names(workloadId) } });

/** Role, UID and machine of each endpoint, by `workload/endpoint`. */
const roles = (expected: Readonly<Record<string, string>>) => (actual: Normal) => {
  const found = Object.entries(actual.workloads).flatMap(([id, endpoint]) => {
    const { live_migration_role, live_migration_uid, live_migration_vmi_name } = endpoint as Readonly<
      Record<string, string | undefined>
    >;
    const words = [live_migration_role, live_migration_uid, live_migration_vmi_name].filter(
      (word) => word !== undefined,
    );
    return words.length === 0 ? [] : [[id.split("/").slice(1).join("/"), words.join(" ")]];
  });
  assert.deepEqual(Object.fromEntries(found), expected);
};

const MACHINE = { "vm.kubevirt.io/name": "vm" };

sequence("workloads are told what they are in a live migration", [
  {
    name: "a source by its workload, with all of its endpoints, whatever host is said of a pod",
    kvs: [pod("old"), pod("old/two"), pod("other"), migration("m", "u1", from("old"))],
    expect: { also: roles({ "old/ep": "source u1", "old/two": "source u1" }) },
  },
  {
    name: "a source by its endpoint",
    kvs: [
      pod("old"),
      pod("old/two"),
      migration("m", "u1", { Source: { WorkloadEndpoint: names("old", { EndpointID: "two" }) } }),
    ],
    expect: { also: roles({ "old/two": "source u1" }) },
  },
  {
    name: "a target by its selector, with the name of its machine, by inherited labels too",
    kvs: [
      profileLabels("p", { job: "u1" }),
      pod("new", MACHINE, ["p"]),
      pod("old", { "vmi.kubevirt.io/id": "vm-id", ...MACHINE }),
      migration("m", "u1", { ...from("old"), Target: { Selector: "job == 'u1'" } }),
    ],
    expect: { also: roles({ "new/ep": "target u1 vm", "old/ep": "source u1 vm-id" }) },
  },
  {
    name: "a target by its endpoint",
    kvs: [pod("new"), migration("m", "u1", { Target: { WorkloadEndpoint: names("new", { EndpointID: "ep" }) } })],
    expect: { also: roles({ "new/ep": "target u1" }) },
  },
  {
    name: "selected beats named, a target beats a source, then the greatest UID",
    kvs: [
      pod("a", { job: "x" }),
      pod("b"),
      pod("c"),
      migration("m1", "u3", { ...from("a"), Target: { WorkloadEndpoint: names("b", { EndpointID: "ep" }) } }),
      migration("m2", "u2", { ...from("b"), Target: { WorkloadEndpoint: names("a", { EndpointID: "ep" }) } }),
      migration("m3", "u1", { ...from("c"), Target: { Selector: "job == 'x'" } }),
      migration("m4", "u9", from("c")),
      migration("m5", "u4", from("c")),
    ],
    expect: { also: roles({ "a/ep": "target u1", "b/ep": "target u3", "c/ep": "source u9" }) },
  },
  {
    name: "another orchestrator's workload only on its own host",
    kvs: [
      workload("vm", {}),
      workload("away", {}),
      migration("m1", "u1", { Source: { Workload: { Hostname: HOST, OrchestratorID: "orch", WorkloadID: "vm" } } }),
      migration("m2", "u2", { Source: { Workload: names("away", { OrchestratorID: "orch" }) } }),
    ],
    expect: { also: roles({ "vm/ep": "source u1" }) },
  },
  {
    name: "what cannot be read picks nobody",
    kvs: [
      pod("a", { job: "x" }),
      migration("m1", "u1", { Target: { Selector: "job ==" } }),
      migration("m2", "u2", { Source: { Workload: "a" }, Target: [] }),
      migration("m3", "u3", {}),
    ],
    expect: { also: roles({}) },
  },
  { name: "it is over", kvs: [pod("old"), pod("a", { job: "x" })], expect: { also: roles({}) } },
]);
