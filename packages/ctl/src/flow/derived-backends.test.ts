import assert from "node:assert/strict";
import { test } from "node:test";
import type { EndpointSliceResource, Resource } from "@bulrush/model";
import { derivedBackends } from "./derived-backends.ts";

const SERVICE = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "front", namespace: "shop" },
  spec: { selector: { app: "front" }, ports: [{ name: "dns", port: 53, targetPort: "dns", protocol: "UDP" }] },
};
const PORTS = [
  { name: "dns", containerPort: 5353 },
  { name: "dns", containerPort: 1053, protocol: "UDP" },
];

function pod(status: object, metadata: object = {}, spec: object = { containers: [{ ports: PORTS }] }): Resource {
  const own = { name: "a", namespace: "shop", labels: { app: "front" }, ...metadata };
  return { apiVersion: "v1", kind: "Pod", metadata: own, spec, status } as Resource;
}

/** Addresses and ports of each slice. */
function slicesOf(...resources: readonly object[]): unknown {
  return derivedBackends(resources as readonly Resource[]).updates.map(({ value }) => {
    const { endpoints, ports } = value as EndpointSliceResource;
    return [endpoints?.[0]?.addresses, ports?.map(({ port }) => port)];
  });
}

test("derivedBackends() takes the pods that a service selects, with the port of the name and protocol", () => {
  assert.deepEqual(slicesOf(SERVICE, pod({ podIP: "10.0.0.1" })), [[["10.0.0.1"], [1053]]]);
  const both = { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] };
  assert.deepEqual(slicesOf(SERVICE, pod(both)), [[["10.0.0.1", "fd00::1"], [1053]]]);
});

test("derivedBackends() leaves out who is not there, is not selected, or has slices", () => {
  const there = { podIP: "10.0.0.1" };
  const rows: readonly (readonly object[])[] = [
    [SERVICE, pod({})],
    [SERVICE, pod({ ...there, phase: "Succeeded" })],
    [SERVICE, pod(there, { namespace: "other" })],
    [SERVICE, pod(there, { labels: { app: "back" } })],
    [{ ...SERVICE, spec: { ...SERVICE.spec, selector: {} } }, pod(there)],
    [
      SERVICE,
      pod(there),
      {
        kind: "EndpointSlice",
        metadata: { namespace: "shop", name: "s", labels: { "kubernetes.io/service-name": "front" } },
      },
    ],
  ];
  for (const resources of rows) assert.deepEqual(slicesOf(...resources), [], JSON.stringify(resources));
});

test("derivedBackends() does not stumble over what is no service and no pod", () => {
  for (const bad of [null, 7, "x", [null], { a: 1 }]) {
    const odd = [
      { ...SERVICE, spec: bad },
      { ...SERVICE, spec: { selector: bad, ports: bad } },
      { ...SERVICE, spec: { ...SERVICE.spec, ports: bad } },
      pod(bad as object),
      pod({ podIP: "10.0.0.1", podIPs: bad }),
      pod({ podIP: "10.0.0.1" }, {}, { containers: bad }),
      pod({ podIP: "10.0.0.1" }, {}, { containers: [{ ports: bad }] }),
      pod({ podIP: "10.0.0.1" }, { labels: bad }),
    ];
    assert.doesNotThrow(() => slicesOf(...odd), JSON.stringify(bad));
  }
});
