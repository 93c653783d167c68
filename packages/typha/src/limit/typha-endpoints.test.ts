import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointSliceResource } from "@bulrush/model";
import { typhaEndpoints } from "./typha-endpoints.ts";

const WANTED = { serviceName: "calico-typha", portName: "calico-typha" };

type Endpoint = NonNullable<EndpointSliceResource["endpoints"]>[number] & {
  readonly targetRef?: { readonly kind: string; readonly namespace: string; readonly name: string };
};

function pod(name: string, address: string, more: Partial<Endpoint> = {}): Endpoint {
  return {
    addresses: [address],
    conditions: { ready: true },
    targetRef: { kind: "Pod", namespace: "kube-system", name },
    ...more,
  };
}

function slice(endpoints: readonly Endpoint[], more: Partial<EndpointSliceResource> = {}): EndpointSliceResource {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "s", namespace: "kube-system", labels: { "kubernetes.io/service-name": "calico-typha" } },
    addressType: "IPv4",
    ports: [{ name: "calico-typha", protocol: "TCP", port: 5473 }],
    endpoints,
    ...more,
  };
}

const other = { metadata: { name: "o", labels: { "kubernetes.io/service-name": "other" } } };
const rows: readonly [title: string, slices: readonly EndpointSliceResource[], addresses: readonly string[]][] = [
  ["no slices", [], []],
  ["ready pods", [slice([pod("a", "10.0.0.1"), pod("b", "10.0.0.2")])], ["10.0.0.1:5473", "10.0.0.2:5473"]],
  ["a pod that is not ready", [slice([pod("a", "10.0.0.1", { conditions: { ready: false } })])], []],
  ["a pod that is ending", [slice([pod("a", "10.0.0.1", { conditions: { ready: true, terminating: true } })])], []],
  ["a pod of unknown readiness", [slice([pod("a", "10.0.0.1", { conditions: {} })])], ["10.0.0.1:5473"]],
  [
    "a dual-stack pod, once",
    [slice([pod("a", "fd00::1")], { addressType: "IPv6" }), slice([pod("a", "10.0.0.1")])],
    ["10.0.0.1:5473 [fd00::1]:5473"],
  ],
  [
    "a pod in two slices, once",
    [slice([pod("a", "10.0.0.1")]), slice([pod("a", "10.0.0.1"), pod("b", "10.0.0.2")])],
    ["10.0.0.1:5473", "10.0.0.2:5473"],
  ],
  [
    "endpoints without a pod, by their node",
    [
      slice([{ addresses: ["10.0.0.1"], nodeName: "n1" }]),
      slice([{ addresses: ["fd00::1"], nodeName: "n1" }], { addressType: "IPv6" }),
    ],
    ["10.0.0.1:5473 [fd00::1]:5473"],
  ],
  ["endpoints without either, by their address", [slice([{ addresses: ["10.0.0.1"] }])], ["10.0.0.1:5473"]],
  ["another Service", [slice([pod("a", "10.0.0.1")], other)], []],
  [
    "a slice without the port, beside one with it",
    [slice([pod("a", "10.0.0.1")]), slice([pod("b", "10.0.0.2")], { ports: [{ name: "metrics", port: 9093 }] })],
    ["10.0.0.1:5473"],
  ],
  ["a port without a name", [slice([pod("a", "10.0.0.1")], { ports: [{ port: 5473 }] })], []],
  ["slices without anything", [slice([], { ports: [] }), slice([{}])], []],
];
for (const [title, slices, addresses] of rows) {
  test(`typhaEndpoints() finds ${title}`, () => {
    const found = typhaEndpoints(slices, WANTED).map((endpoint) => endpoint.addresses.join(" "));
    assert.deepEqual(found, addresses);
  });
}
