import assert from "node:assert/strict";
import { test } from "node:test";
import { isLikelyOurs } from "./kind.ts";

const ROWS: readonly (readonly [apiVersion: string, kind: string, isOurs: boolean])[] = [
  ["projectcalico.org/v3", "NetworkPolicies", true],
  ["projectcalico.org/v4", "Tier", true],
  ["networking.k8s.io/v1beta1", "NetworkPolicy", true],
  ["project-calico.org/v3", "NetworkPolicy", true],
  ["projectcalico.orgg/v3", "Tier", true],
  ["netwrking.k8s.io/v1", "NetworkPolicy", true],
  ["calico/v3", "GlobalNetworkPolicy", true],
  ["v3", "NetworkPolicy", true],
  ["v2", "Pod", true],
  ["v1", "ConfigMap", false],
  ["v1", "Secret", false],
  ["apps/v1", "Deployment", false],
  ["crd.antrea.io/v1beta1", "NetworkPolicy", false],
  ["crd.antrea.io/v1beta1", "Tier", false],
  ["serving.knative.dev/v1", "Service", false],
  ["cilium.io/v2", "CiliumNetworkPolicy", false],
  ["policy/v1", "PodDisruptionBudget", false],
];

for (const [apiVersion, kind, isOurs] of ROWS)
  test(`isLikelyOurs() takes ${kind} of ${apiVersion} for ${isOurs ? "a slip" : "somebody else's"}`, () =>
    assert.equal(isLikelyOurs(apiVersion, kind), isOurs));
