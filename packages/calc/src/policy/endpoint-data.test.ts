import assert from "node:assert/strict";
import type { Resource, ResourceKind } from "@bulrush/model";
import { labelMap, networkSet, profileLabels, workload } from "../testing/fixtures.ts";
import { HOST, type KV } from "../testing/harness.ts";
import type { Normal } from "../testing/normal-state.ts";
import { sequence } from "../testing/sequence.ts";

function resource(kind: ResourceKind, name: string, fields: object): KV {
  const value: Resource = { apiVersion: "projectcalico.org/v3", kind, metadata: { name }, ...fields };
  return { key: { type: "Resource", kind, namespace: "", name }, value };
}

const pod = (name: string, address: string, labels: Record<string, string>, profiles: string[] = []): KV =>
  workload(name, {
    ipv4_nets: [`${address}/32`],
    profile_ids: profiles,
    labels: labelMap({ "projectcalico.org/orchestrator": "k8s", ...labels }),
  });
const MODE = "istio.io/dataplane-mode";
const ambientNamespace = profileLabels("kns.mesh", { [`pcns.${MODE}`]: "ambient" });

const field = (name: string, expected: Readonly<Record<string, unknown>>) => (actual: Normal) => {
  const found = Object.entries(actual.workloads).map(([id, endpoint]) => [
    id.split("/")[1],
    (endpoint as Readonly<Record<string, unknown>>)[name],
  ]);
  assert.deepEqual(Object.fromEntries(found), expected);
};

sequence(
  "pods of the ambient mesh are marked, and in a set",
  [
    {
      name: "by namespace, opted out, opted in",
      kvs: [
        ambientNamespace,
        pod("in", "10.0.0.1", {}, ["kns.mesh"]),
        pod("out", "10.0.0.2", { [MODE]: "none" }, ["kns.mesh"]),
        pod("own", "10.0.0.3", { [MODE]: "ambient" }),
        networkSet("net", ["11.0.0.0/8"], { [MODE]: "ambient" }),
      ],
      expect: {
        ipSets: { "all-istio-weps": ["10.0.0.1/32", "10.0.0.3/32"] },
        also: field("is_istio_ambient", { in: true, out: undefined, own: true }),
      },
    },
    {
      name: "the namespace has left",
      kvs: [pod("in", "10.0.0.1", {}, ["kns.mesh"])],
      expect: { ipSets: { "all-istio-weps": [] }, also: field("is_istio_ambient", { in: undefined }) },
    },
  ],
  { istioAmbient: true },
);

const peer = (name: string, spec: object): KV => resource("BGPPeer", name, { spec });
const named = (name: string): unknown => ({ bgp_peer_name: name });
const client = pod("client", "10.0.0.1", { app: "router" });
const node = resource("Node", HOST, { metadata: { name: HOST, labels: { rack: "1" } } });
const selecting = { localWorkloadSelector: "app == 'router'" };

sequence("a workload is a BGP peer when one selects it on this node, the first by name", [
  {
    name: "two that select every node",
    kvs: [client, pod("other", "10.0.0.2", {}), peer("p2", selecting), peer("p1", selecting)],
    expect: { also: field("local_bgp_peer", { client: named("p1"), other: undefined }) },
  },
  {
    name: "by node",
    kvs: [client, peer("p1", { ...selecting, node: "remote" }), peer("p2", { ...selecting, node: HOST })],
    expect: { also: field("local_bgp_peer", { client: named("p2") }) },
  },
  {
    name: "by the node's labels",
    kvs: [
      client,
      node,
      peer("p1", { ...selecting, nodeSelector: "rack == '2'" }),
      peer("p2", { ...selecting, nodeSelector: "rack == '1'" }),
    ],
    expect: { also: field("local_bgp_peer", { client: named("p2") }) },
  },
  {
    name: "an empty selector is none",
    kvs: [client, peer("p1", { localWorkloadSelector: "" }), peer("p2", {})],
    expect: { also: field("local_bgp_peer", { client: undefined }) },
  },
]);

const limited = (qosControls: Readonly<Record<string, number>>): KV => workload("client", { qosControls });

sequence("the DSCP of a workload is a policy of its own, not one of its limits", [
  {
    name: "a limit and a DSCP",
    kvs: [limited({ ingressMaxConnections: 4, dscp: 46 })],
    expect: {
      also: (actual) => {
        field("qos_controls", { client: { ingressMaxConnections: 4 } })(actual);
        field("qos_policies", { client: [{ destination: "", dscp: 46 }] })(actual);
      },
    },
  },
  {
    name: "only a DSCP",
    kvs: [limited({ dscp: 0 })],
    expect: {
      also: (actual) => {
        field("qos_controls", { client: undefined })(actual);
        field("qos_policies", { client: [{ destination: "", dscp: 0 }] })(actual);
      },
    },
  },
]);
