import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isObject, type JsonObject } from "@bulrush/model";
import { DATASTORE_KINDS } from "../../driver/kind.ts";
import { JsonFilter } from "../../json/json-filter.ts";
import { ALL, NOTHING, type Shape } from "../../json/shape.ts";
import { eventOf, listOf } from "./needed-fields.ts";
import { readObject } from "./read-object.ts";
import { type Source, sourcesOf } from "./source.ts";

const OPTIONS = { usePodCIDR: true };

const METADATA = {
  name: "web-1",
  namespace: "shop",
  uid: "2b9d2b6e-6a0b-4f3c-8d6e-0a1b2c3d4e5f",
  resourceVersion: "7",
  generation: 3,
  generateName: "web-",
  creationTimestamp: "2026-01-01T00:00:00Z",
  deletionTimestamp: "2026-01-02T00:00:00Z",
  labels: { app: "web", é: "日本" },
  finalizers: ["a/b"],
  ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "u", controller: true }],
  managedFields: [{ manager: "kubelet", fieldsV1: { "f:status": { 'k:{"type":"Ready"}': { ".": {} } } } }],
};

/** A pod with every field that a conversion has a use for, and many that none has. */
const POD: JsonObject = {
  metadata: {
    ...METADATA,
    annotations: {
      "cni.projectcalico.org/podIP": "10.0.0.1/32",
      "cni.projectcalico.org/podIPs": "10.0.0.1/32,fd00::1/128",
      "vpc.amazonaws.com/pod-ips": "10.0.0.9",
      "cni.projectcalico.org/containerID": "c0ffee",
      "cni.projectcalico.org/floatingIPs": '["1.1.1.1"]',
      "cni.projectcalico.org/allowedSourcePrefixes": '["10.9.0.0/16"]',
      "k8s.v1.cni.cncf.io/network-status": "[]",
      "qos.projectcalico.org/ingressBandwidth": "10M",
      "kubernetes.io/egress-bandwidth": "1M",
      "qos.projectcalico.org/dscp": "AF11",
      other: "x",
    },
  },
  spec: {
    nodeName: "node-1",
    hostNetwork: false,
    serviceAccountName: "sa",
    serviceAccount: "sa",
    volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } }],
    containers: [
      { name: "a", image: "i", ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }], env: [{ name: "X" }] },
      { name: "b", ports: [{ containerPort: 53, hostPort: 53, hostIP: "10.1.0.1", protocol: "UDP" }] },
      { name: "c" },
    ],
    initContainers: [{ name: "d", restartPolicy: "Always", ports: [{ name: "init", containerPort: 1 }] }],
    tolerations: [{ key: "k", operator: "Exists" }],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
    hostIP: "10.1.0.1",
    hostIPs: [{ ip: "10.1.0.1" }],
    conditions: [{ type: "Ready", status: "True", lastProbeTime: null }],
    containerStatuses: [{ name: "a", ready: true, image: "i" }],
  },
};

const KEY = "jlkVyQYooZYzI2wFfNhSZez5eWh44yfq1wKVjLvSXgY=";

const NODE: JsonObject = {
  metadata: {
    ...METADATA,
    annotations: {
      "projectcalico.org/IPv4Address": "10.1.0.1/24",
      "projectcalico.org/IPv6Address": "fd00:1::1/64",
      "projectcalico.org/ASNumber": "64512",
      "projectcalico.org/RouteReflectorClusterID": "1.0.0.1",
      "projectcalico.org/IPv4IPIPTunnelAddr": "10.2.0.1",
      "projectcalico.org/IPv4VXLANTunnelAddr": "10.2.0.2",
      "projectcalico.org/VXLANTunnelMACAddr": "66:00:00:00:00:01",
      "projectcalico.org/IPv4WireguardInterfaceAddr": "10.2.0.3",
      "projectcalico.org/WireguardPublicKey": KEY,
      "projectcalico.org/labels": '{"rack":"7"}',
      other: "x",
    },
  },
  spec: { podCIDR: "10.3.0.0/24", podCIDRs: ["10.3.0.0/24", "fd00:3::/64"], providerID: "aws:///x", taints: [] },
  status: {
    addresses: [
      { type: "InternalIP", address: "10.1.0.1" },
      { type: "ExternalIP", address: "1.2.3.4" },
      { type: "Hostname", address: "n" },
    ],
    capacity: { cpu: "8" },
    conditions: [{ type: "Ready", status: "True" }],
    images: [{ names: ["registry/x@sha256:1", "registry/x:1"], sizeBytes: 1 }],
    nodeInfo: { kernelVersion: "6.1" },
  },
};

function sourceOf(kind: string): Source {
  const found = SOURCES.find((source) => source.kind === kind);
  assert.ok(found);
  return found;
}

const SOURCES: readonly Source[] = DATASTORE_KINDS.flatMap((kind) => [
  ...sourcesOf(kind, "crd.projectcalico.org/v1"),
  ...sourcesOf(kind, "projectcalico.org/v3"),
]);

function through(value: unknown, shape: Shape, isLines: boolean): unknown {
  const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
  return JSON.parse(new JsonFilter({ shape, isLines }).push(bytes).toString()) as unknown;
}

/** An object with the fields at these places left out. */
function without(object: JsonObject, places: readonly string[]): JsonObject {
  const copy = structuredClone(object);
  for (const place of places) {
    const path = place.split("/");
    let at: unknown = copy;
    for (const part of path.slice(0, -1)) at = isObject(at) ? at[part] : undefined;
    if (isObject(at)) delete at[path.at(-1) ?? ""];
  }
  return copy;
}

/** The places of fields, those in objects of objects too. Labels and annotations of other names have slashes. */
function placesOf(object: JsonObject, place = ""): string[] {
  return Object.entries(object).flatMap(([name, value]) => {
    if (name.includes("/")) return [];
    const here = place === "" ? name : `${place}/${name}`;
    return isObject(value) ? [here, ...placesOf(value, here)] : [here];
  });
}

/** Tells `onRead` of each field that is read of the value and that is there. */
function observed(value: unknown, path: readonly string[], onRead: (path: readonly string[]) => void): unknown {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name);
      if (typeof name === "symbol" || !Object.hasOwn(target, name)) return found;
      if (Array.isArray(target)) return observed(found, path, onRead);
      onRead([...path, name]);
      return observed(found, [...path, name], onRead);
    },
  });
}

function isKept(shape: Shape, [name, ...rest]: readonly string[]): boolean {
  if (shape === NOTHING) return false;
  if (name === undefined || shape === ALL) return true;
  const field = shape.fields.find((one) => Buffer.from(one.name).toString() === name);
  return isKept(field?.shape ?? shape.rest, rest);
}

for (const [kind, object, deep] of [
  [
    "Pod",
    POD,
    ["spec/containers/ports/hostPort", "spec/initContainers/ports/name", "status/podIPs/ip", "metadata/labels/app"],
  ],
  ["Node", NODE, ["spec/podCIDRs", "status/addresses/type"]],
] as const) {
  describe(`Of a ${kind}`, () => {
    const source = sourceOf(kind);
    const parts = fc.subarray(placesOf(object)).map((places) => without(object, places));

    test("nothing is taken out that its conversion reads", () => {
      const seen = new Set<string>();
      const check = (part: JsonObject): void => {
        const onRead = (path: readonly string[]): void => {
          seen.add(path.join("/"));
          assert.ok(isKept(source.needs, path), `${path.join(".")} is read, but taken out`);
        };
        readObject(observed(structuredClone(part), [], onRead), source, OPTIONS);
      };
      check(object);
      fc.assert(fc.property(parts, check), { numRuns: 500 });
      // The reads far in are seen too.
      for (const path of deep) assert.ok(seen.has(path), path);
    });

    test("it becomes the same without the rest, in a list and in an event", () => {
      const check = (part: JsonObject): void => {
        const want = readObject(structuredClone(part), source, OPTIONS);
        const list = through({ items: [part], metadata: {} }, listOf(source.needs), false) as { items: unknown[] };
        assert.deepEqual(readObject(list.items[0], source, OPTIONS), want);
        const event = through({ type: "ADDED", object: part }, eventOf(source.needs), true) as { object: unknown };
        assert.deepEqual(readObject(event.object, source, OPTIONS), want);
      };
      assert.equal(readObject(structuredClone(object), source, OPTIONS).type, "item");
      check(object);
      fc.assert(fc.property(parts, check), { numRuns: 500 });
    });

    test("most is taken out", () => {
      const kept = JSON.stringify(through(object, source.needs, false));
      for (const text of ["managedFields", "conditions", "image"]) assert.ok(!kept.includes(`"${text}`), text);
    });
  });
}

test("Of every kind its managed fields are taken out, and nothing else that a conversion would show", () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue());
  fc.assert(
    fc.property(fc.constantFrom(...SOURCES), object, object, (source, spec, rest) => {
      const whole = { ...rest, metadata: METADATA, spec };
      const left = through(whole, source.needs, false) as { metadata: object };
      assert.ok(!("managedFields" in left.metadata));
      // The same objects, so that -0 and __proto__ mean the same.
      const parsed = JSON.parse(JSON.stringify(whole)) as unknown;
      assert.deepEqual(readObject(left, source, OPTIONS), readObject(parsed, source, OPTIONS));
    }),
    { numRuns: 1000 },
  );
});

for (const event of [
  { type: "ERROR", object: { kind: "Status", metadata: {}, status: "Failure", details: { causes: [{}] }, code: 410 } },
  {
    type: "BOOKMARK",
    object: { kind: "Pod", metadata: { resourceVersion: "9", annotations: { "k8s.io/initial-events-end": "true" } } },
  },
  { type: "ADDED", object: null },
]) {
  test(`All of an event that brings no object is kept: ${event.type} ${JSON.stringify(event.object).slice(0, 20)}`, () => {
    for (const source of SOURCES) assert.deepEqual(through(event, eventOf(source.needs), true), event, source.kind);
  });
}

test("All of a list is kept beside its objects", () => {
  const list = { kind: "PodList", metadata: { resourceVersion: "9", continue: "c" }, items: [] };
  for (const source of SOURCES) assert.deepEqual(through(list, listOf(source.needs), false), list, source.kind);
});
