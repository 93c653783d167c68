import assert from "node:assert/strict";
import { it } from "node:test";
import { validateResource } from "../validate-resource.ts";
import { describeRows } from "./describe-rows.ts";
import { made, named } from "./made.ts";

const long = (length: number): string => "a".repeat(length);

describeRows("names", [
  [named("GlobalNetworkPolicy", "thing")],
  [named("GlobalNetworkPolicy", "th.ing")],
  [named("StagedGlobalNetworkPolicy", "th.ing")],
  [named("GlobalNetworkPolicy", "knp.default.thing"), "metadata.name"],
  [named("GlobalNetworkPolicy", "t.h.i.ng"), "metadata.name"],
  [named("GlobalNetworkPolicy", "tHiNg"), "metadata.name"],
  [named("GlobalNetworkPolicy", "-thing"), "metadata.name"],
  [named("GlobalNetworkPolicy", ""), "metadata.name"],
  [named("NetworkPolicy", "knp.default.thing")],
  [named("NetworkPolicy", "ossg.default.th.ing")],
  [named("StagedNetworkPolicy", "knp.default.thing")],
  [named("NetworkPolicy", "default.thing")],
  [named("NetworkPolicy", "t.h.ing"), "metadata.name"],
  [named("NetworkPolicy", long(253))],
  [named("NetworkPolicy", long(254)), "metadata.name"],
  [named("KubernetesNetworkPolicy", "t.h.i.ng")],
  [named("Tier", long(63))],
  [named("Tier", long(64)), "metadata.name"],
  [named("Tier", "a.b"), "metadata.name"],
  [named("Namespace", "a.b"), "metadata.name"],
  [named("ServiceAccount", "a.b")],
  [named("Service", "1a"), "metadata.name"],
  [named("Profile", "ksa.default.test.foo")],
  [named("NetworkSet", "Upper"), "metadata.name"],
]);

describeRows("namespaces", [
  [named("NetworkPolicy", "a", { namespace: "shop" })],
  [named("NetworkPolicy", "a")],
  [named("NetworkPolicy", "a", { namespace: "Shop" }), "metadata.namespace"],
  [named("GlobalNetworkPolicy", "a", { namespace: "shop" }), "metadata.namespace"],
]);

describeRows("labels and annotations", [
  [named("Namespace", "a", { labels: { "kubernetes.io/metadata.name": "a", b: "", C_1: "v.1-x" } })],
  [named("Namespace", "a", { labels: { [long(63)]: long(63) } })],
  [named("Namespace", "a", { labels: { [long(64)]: "v" } }), `metadata.labels[${long(64)}]`],
  [named("Namespace", "a", { labels: { a: long(64) } }), "metadata.labels[a]"],
  [named("Namespace", "a", { labels: { a: "-v" } }), "metadata.labels[a]"],
  [named("Namespace", "a", { labels: { a: 1 } }), "metadata.labels[a]"],
  [named("Namespace", "a", { labels: { "A.b/c": "v" } }), "metadata.labels[A.b/c]"],
  [named("Namespace", "a", { labels: ["a"] }), "metadata.labels"],
  [named("Namespace", "a", { annotations: { "Upper.example/Key": "any text\n" } })],
  [named("Namespace", "a", { annotations: { "not a key": "" } }), "metadata.annotations[not a key]"],
  [named("Namespace", "a", { annotations: { a: true } }), "metadata.annotations[a]"],
  [named("Namespace", "a", { annotations: { a: "x".repeat(262_143) } })],
  [named("Namespace", "a", { annotations: { a: "x".repeat(262_144) } }), "metadata.annotations"],
]);

describeRows("shapes", [
  [made("NetworkPolicy", undefined)],
  [made("NetworkPolicy", "all()"), "spec"],
  [made("NetworkPolicy", { selecter: "all()" }), "spec.selecter"],
  [made("NetworkPolicy", {}, { specs: {} }), "specs"],
  [made("ServiceAccount", undefined, { automountServiceAccountToken: false })],
  [made("NetworkPolicy", {}, { status: 1 }), "status"],
  [made("NetworkPolicy", {}, { apiVersion: "crd.projectcalico.org/v1" })],
]);

it("validateResource() names a kind that it does not know", () => {
  assert.deepEqual(validateResource(made("NetworkPolicies", {})), [
    { path: "kind", message: 'Unknown kind "NetworkPolicies" of apiVersion "projectcalico.org/v3"' },
  ]);
  assert.deepEqual(
    validateResource(made("NetworkPolicy", {}, { apiVersion: "projectcalico.org/v4" })).map((issue) => issue.path),
    ["kind"],
  );
});

it("validateResource() takes nothing for granted", () => {
  const pathsOf = (value: unknown): readonly string[] => validateResource(value as never).map((issue) => issue.path);
  assert.deepEqual(pathsOf(null), [""]);
  assert.deepEqual(pathsOf([]), [""]);
  assert.deepEqual(pathsOf({}), ["apiVersion", "kind"]);
  assert.deepEqual(pathsOf({ apiVersion: "v1", kind: "Pod" }), ["metadata"]);
  assert.deepEqual(pathsOf({ apiVersion: "v1", kind: "Pod", metadata: {} }), ["metadata.name"]);
  assert.deepEqual(pathsOf({ apiVersion: "v1", kind: "toString", metadata: {} }), ["kind"]);
});
