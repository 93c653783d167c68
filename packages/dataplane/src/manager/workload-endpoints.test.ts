import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { workload, workloadRemove } from "../testing/messages.ts";
import { WorkloadEndpoints } from "./workload-endpoints.ts";

describe("WorkloadEndpoints", () => {
  let endpoints: WorkloadEndpoints;
  let changes: string[];

  const owner = (name: string): string | undefined => endpoints.ownerOf(name)?.id.workload;

  beforeEach(() => {
    endpoints = new WorkloadEndpoints();
    changes = [];
    endpoints.onInterfaceChange.add((name) => changes.push(name));
  });

  it("gives an interface that two endpoints claim to the lower id, whatever the order", () => {
    endpoints.onUpdate(workload("b", { name: "cali9" }));
    assert.equal(owner("cali9"), "default/b");
    endpoints.onUpdate(workload("a", { name: "cali9" }));
    assert.equal(owner("cali9"), "default/a");
  });

  it("gives it to the next one, when the owner goes or moves to another interface", () => {
    endpoints.onUpdate(workload("a", { name: "cali9" }));
    endpoints.onUpdate(workload("b", { name: "cali9" }));
    endpoints.onUpdate(workload("a", { name: "cali8" }));
    assert.deepEqual([owner("cali8"), owner("cali9")], ["default/a", "default/b"]);
    endpoints.onUpdate(workloadRemove("b"));
    assert.equal(owner("cali9"), undefined);
    assert.deepEqual([...endpoints.interfaceNames()], ["cali8"]);
  });

  it("tells of every interface whose answer may have changed, and ignores unknown removes", () => {
    endpoints.onUpdate(workload("a", { name: "cali1" }));
    endpoints.onUpdate(workload("a", { name: "cali2" }));
    endpoints.onUpdate(workloadRemove("z"));
    assert.deepEqual(changes, ["cali1", "cali1", "cali2"]);
    assert.equal(endpoints.size, 1);
  });

  // projectcalico/felix#1280: one name that was too long kept all other rules out of the kernel.
  it("gives nobody a name that no interface can have, and the endpoint its next one", () => {
    endpoints.onUpdate(workload("a", { name: "cali890123456789" }));
    endpoints.onUpdate(workload("b", { name: "" }));
    endpoints.onUpdate(workload("c", { name: "caliéééééé" }));
    endpoints.onUpdate(workload("d", { name: "cali89012345678" }));
    assert.deepEqual([...endpoints.interfaceNames()], ["cali89012345678"]);
    assert.deepEqual([endpoints.size, changes], [4, ["cali89012345678"]]);
    endpoints.onUpdate(workload("a", { name: "cali1" }));
    endpoints.onUpdate(workload("d", { name: "cali890123456789" }));
    assert.deepEqual([owner("cali1"), owner("cali89012345678")], ["default/a", undefined]);
    for (const name of ["a", "b", "c", "d"]) endpoints.onUpdate(workloadRemove(name));
    assert.deepEqual([endpoints.size, [...endpoints.interfaceNames()]], [0, []]);
  });
});
