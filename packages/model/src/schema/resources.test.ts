import assert from "node:assert/strict";
import { test } from "node:test";
import { checkShape } from "../validation/shape.ts";
import { IssueList } from "../validation/issue.ts";
import { RESOURCE_DEFINITIONS } from "./resources.ts";
import type { Shape } from "./shape.ts";

/** Kind, plural, whether it has a namespace; * for a status subresource. */
const KINDS = `
BGPConfiguration bgpconfigurations | BGPFilter bgpfilters | BGPPeer bgppeers | ClusterInformation clusterinformations
FelixConfiguration felixconfigurations | HostEndpoint hostendpoints | IPPool* ippools | IPReservation ipreservations
GlobalNetworkSet globalnetworksets | KubeControllersConfiguration* kubecontrollersconfigurations | Tier* tiers
GlobalNetworkPolicy globalnetworkpolicies | StagedGlobalNetworkPolicy stagedglobalnetworkpolicies
CalicoNodeStatus* caliconodestatuses | BlockAffinity blockaffinities | IPAMBlock ipamblocks | IPAMHandle ipamhandles
NetworkPolicy networkpolicies namespaced | StagedNetworkPolicy stagednetworkpolicies namespaced
StagedKubernetesNetworkPolicy stagedkubernetesnetworkpolicies namespaced | NetworkSet networksets namespaced`
  .trim()
  .split(/\s*[|\n]\s*/);

function described(version: string): string[] {
  return RESOURCE_DEFINITIONS.filter(({ apiVersion }) => apiVersion === version)
    .map(
      ({ kind, plural, namespaced, status }) =>
        `${kind}${status === undefined ? "" : "*"} ${plural}${namespaced ? " namespaced" : ""}`,
    )
    .sort();
}

test("RESOURCE_DEFINITIONS has every kind that is stored, in both groups", () => {
  assert.deepEqual(described("crd.projectcalico.org/v1"), [...KINDS, "IPAMConfig ipamconfigs"].sort());
  assert.deepEqual(described("projectcalico.org/v3"), [...KINDS, "IPAMConfiguration ipamconfigurations"].sort());
  assert.deepEqual(described("policy.networking.k8s.io/v1alpha2"), ["ClusterNetworkPolicy* clusternetworkpolicies"]);
});

test("short names are not taken twice in a group", () => {
  for (const version of new Set(RESOURCE_DEFINITIONS.map(({ apiVersion }) => apiVersion))) {
    const own = RESOURCE_DEFINITIONS.filter(({ apiVersion }) => apiVersion === version);
    const names = own.flatMap(({ kind, plural, shortNames }) => [plural, kind.toLowerCase(), ...shortNames]);
    assert.deepEqual(
      names.filter((name, i) => names.indexOf(name) !== i),
      [],
    );
  }
});

function* shapesOf(shape: Shape, path: string): Iterable<readonly [path: string, Shape]> {
  yield [path, shape];
  if (shape.type === "list") yield* shapesOf(shape.items, `${path}[]`);
  if (shape.type === "map") yield* shapesOf(shape.values, `${path}{}`);
  if (shape.type === "object")
    for (const [name, field] of Object.entries(shape.fields)) yield* shapesOf(field, `${path}.${name}`);
}

test("a default is what its own shape asks for, and a required field is one that the shape has", () => {
  for (const { kind, spec } of RESOURCE_DEFINITIONS) {
    for (const [path, shape] of shapesOf(spec, kind)) {
      const issues = new IssueList();
      checkShape(issues, path, shape.default, shape);
      assert.deepEqual(issues.issues, []);
      if (shape.type === "object")
        for (const name of shape.required ?? []) assert.ok(name in shape.fields, `${path}.${name}`);
    }
  }
});
