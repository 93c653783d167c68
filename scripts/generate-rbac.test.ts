import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { resourcesRead, TYPHA_ROLE_FILE, typhaRole } from "./typha-role.ts";

const text = readFileSync(join(import.meta.dirname, "..", TYPHA_ROLE_FILE), "utf8");

test("the role of Typha is what the datastore package reads", () => {
  assert.equal(text, typhaRole(), "run scripts/generate-rbac.ts");
});

test("the role of Typha only reads, and names everything that it reads", () => {
  const verbs = [...text.matchAll(/^ {4}verbs:\n((?: {6}- .*\n)+)/gm)].map(([, list = ""]) => list.match(/[a-z*]+/g));
  assert.equal(verbs.length, resourcesRead().size);
  for (const list of verbs) assert.deepEqual(list, ["get", "list", "watch"]);
  assert.doesNotMatch(text, /[*]/);
});

test("resourcesRead() has Kubernetes' own resources, and none beside them", () => {
  const resources = resourcesRead();
  assert.deepEqual(resources.get(""), ["namespaces", "nodes", "pods", "serviceaccounts", "services"]);
  assert.deepEqual(resources.get("networking.k8s.io"), ["networkpolicies"]);
  assert.deepEqual(resources.get("discovery.k8s.io"), ["endpointslices"]);
  assert.deepEqual(resources.get("policy.networking.k8s.io"), ["clusternetworkpolicies"]);
  assert.deepEqual(resources.get("kubevirt.io"), ["virtualmachineinstancemigrations"]);
  // And where v1 data would be told from an empty datastore.
  assert.deepEqual(
    resources.get("crd.projectcalico.org"),
    [...(resources.get("projectcalico.org") ?? []), "globalconfigs"].sort(),
  );
  assert.deepEqual([...resources.keys()].sort(), [
    "",
    "crd.projectcalico.org",
    "discovery.k8s.io",
    "kubevirt.io",
    "networking.k8s.io",
    "policy.networking.k8s.io",
    "projectcalico.org",
  ]);
});
