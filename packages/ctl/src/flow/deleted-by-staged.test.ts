import assert from "node:assert/strict";
import { test } from "node:test";
import { convertResources } from "@bulrush/datastore";
import { applyDefaults, CALICO_V3, type Resource } from "@bulrush/model";
import { deletedByStaged } from "./deleted-by-staged.ts";
import { explainerFor } from "./explain-input.ts";

function staged(kind: string, name: string, stagedAction: string, namespace?: string): Resource {
  const metadata = { name, ...(namespace !== undefined && { namespace }) };
  return { apiVersion: CALICO_V3, kind, metadata, spec: { stagedAction } };
}

test("deletedByStaged() names what staged policies delete, as explanations name it", () => {
  const ids = deletedByStaged([
    staged("StagedNetworkPolicy", "a", "Delete", "shop"),
    staged("StagedGlobalNetworkPolicy", "b", "Delete"),
    staged("StagedKubernetesNetworkPolicy", "c", "Delete", "shop"),
    staged("StagedGlobalNetworkPolicy", "stays", "Set"),
    { apiVersion: CALICO_V3, kind: "GlobalNetworkPolicy", metadata: { name: "x" }, spec: { stagedAction: "Delete" } },
  ]);
  assert.deepEqual([...ids].sort(), [
    "GlobalNetworkPolicy/b",
    "KubernetesNetworkPolicy/shop/c",
    "NetworkPolicy/shop/a",
  ]);
});

test("an explanation of manifests knows what a staged policy would delete", async () => {
  const closed = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: "closed", namespace: "shop" },
    spec: { podSelector: {} },
  };
  const web = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop" },
    spec: { nodeName: "n1", containers: [] },
    status: { podIP: "10.0.0.1" },
  };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } };
  const resources = [closed, web, namespace, staged("StagedKubernetesNetworkPolicy", "closed", "Delete", "shop")].map(
    (resource) => ({ resource: applyDefaults(resource), source: { file: "", document: 0, line: 0 } }),
  );
  const explainer = await explainerFor({ updates: convertResources(resources).updates, resources });
  const flow = { source: { address: "192.0.2.1" }, destination: { workload: "shop/web" }, protocol: "tcp", port: 80 };
  const { verdict, staged: then } = explainer.explain(flow, true);
  assert.deepEqual([verdict, then], ["deny", "allow"]);
});
