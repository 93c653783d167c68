/** The rows of testdata/acceptance: what this package must make of what. A row may have several entries. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  CALICO_V3,
  formatKey,
  type KubernetesNodeResource,
  type LabelSelector,
  type NetworkSet,
  parseKey,
  plainValue,
  type PodResource,
  type Policy,
  type Resource,
} from "@bulrush/model";
import type { DatastoreKind } from "../driver/kind.ts";
import { convertClusterNetworkPolicy } from "../kubernetes/cluster-network-policy.ts";
import { hostnameHash } from "../kubernetes/hostname-hash.ts";
import { namespaceSelectorText, podSelectorText } from "../kubernetes/label-selector.ts";
import { type KubernetesPort, mergePorts } from "../kubernetes/merge-ports.ts";
import { convertKubernetesPolicy } from "../kubernetes/network-policy.ts";
import { convertKubernetesNode } from "../kubernetes/node.ts";
import { convertPod, isVisiblePod, podEndpointName } from "../kubernetes/pod.ts";
import { parseProfileName } from "../kubernetes/profile.ts";
import { translateUid } from "../kubernetes/uid.ts";
import {
  formatWorkloadName,
  formatWorkloadPrefix,
  parseWorkloadName,
  type WorkloadName,
  workloadInterfaceName,
} from "../kubernetes/workload-name.ts";
import { type Processed, processSafely, type UpdateProcessor } from "../process/processor.ts";
import { processorOf } from "../process/table.ts";

interface Row {
  readonly row: string;
  readonly call: string;
  readonly input: unknown;
  /** Null: undefined. An object: its fields at least, each of them exactly. */
  readonly want?: unknown;
  /** What the error says, instead of a result. */
  readonly error?: string;
}

type Call = (input: never) => unknown;

function rowsOf(file: string): readonly Row[] {
  const path = join(import.meta.dirname, "..", "..", "testdata", "acceptance", file);
  return JSON.parse(readFileSync(path, "utf8")) as readonly Row[];
}

function processor(kind: DatastoreKind, usePodCIDR = false): UpdateProcessor {
  return processorOf(kind, { usePodCIDR, nodeName: "" });
}

/** `parts` undefined: deleted. */
function run(
  on: UpdateProcessor,
  kind: DatastoreKind,
  name: string,
  parts: { readonly namespace?: string; readonly metadata?: object; readonly [part: string]: unknown } | undefined,
): Processed {
  const { namespace = "", metadata, ...rest } = parts ?? {};
  const resource: Resource = { apiVersion: CALICO_V3, kind, metadata: { name, ...metadata }, ...rest };
  const value = parts === undefined ? undefined : resource;
  return processSafely(on, { item: { kind, namespace, name }, value, revision: "1" });
}

function kvsOf(result: Processed): Record<string, unknown> {
  return Object.fromEntries(
    result.outputs.map(({ key, value }) => [formatKey(key), value === undefined ? null : plainValue(value)]),
  );
}

const NAMES: Readonly<Record<string, Call>> = {
  interfaceName: ([namespace, pod, prefixes]: readonly [string, string, string?]) =>
    workloadInterfaceName(namespace, pod, prefixes),
  translateUid,
  hostnameHash,
  formatWorkloadName: (input: WorkloadName) => formatWorkloadName(input),
  formatWorkloadPrefix: (input: Partial<WorkloadName>) => formatWorkloadPrefix(input),
  parseWorkloadName,
  parseProfileName,
  parseKey,
};

interface PodInput {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly metadata?: object;
  readonly status?: object;
  readonly ports?: readonly object[];
  readonly account?: string;
}

function podOf({ annotations = {}, metadata = {}, status = {}, ports = [], account = "sa" }: PodInput): PodResource {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "podA", namespace: "default", annotations, ...metadata },
    spec: { nodeName: "node-1", serviceAccountName: account, containers: [{ ports }] },
    status,
  };
}

/** The v3 endpoint of a pod. Throws what makes it none. */
function endpointOf(input: PodInput) {
  const { resource, issues } = convertPod(podOf(input));
  if (resource?.spec === undefined) throw new Error(JSON.stringify(issues));
  return { metadata: resource.metadata, spec: resource.spec };
}

/** The v1 endpoint of a pod, null where there is none. */
function v1Of(input: PodInput): Record<string, unknown> | null {
  const pod = podOf(input);
  const { resource, issues } = convertPod(pod);
  const item = { kind: "WorkloadEndpoint", namespace: "default", name: podEndpointName(pod) } as const;
  const result = processSafely(processor("WorkloadEndpoint"), { item, value: resource, revision: "1", issues });
  return Object.values(kvsOf(result))[0] as Record<string, unknown> | null;
}

const ADDRESS = { status: { podIP: "192.168.0.1" } };
const ACCOUNT = "projectcalico.org/serviceaccount";

const PODS: Readonly<Record<string, Call>> = {
  networks: (input: PodInput) => endpointOf(input).spec.ipNetworks,
  isVisible: (input: PodInput) => isVisiblePod(podOf(input)),
  isInV1: (input: PodInput) => v1Of(input) !== null,
  ports: (input: PodInput) => ({
    v3: endpointOf(input).spec.ports ?? null,
    v1: v1Of({ ...ADDRESS, ...input })?.["ports"] ?? null,
  }),
  nats: (input: PodInput) => endpointOf(input).spec.ipNATs,
  spoofed: (input: PodInput) => endpointOf(input).spec.allowSpoofedSourcePrefixes,
  accountLabel: (input: PodInput) => ({
    v3: endpointOf(input).metadata.labels?.[ACCOUNT] ?? null,
    v1: (v1Of({ ...ADDRESS, ...input })?.["labels"] as Record<string, string> | undefined)?.[ACCOUNT],
  }),
  qos: (input: Readonly<Record<string, string>>) => {
    const annotations = Object.fromEntries(
      Object.entries(input).map(([name, text]) => [`qos.projectcalico.org/${name}`, text]),
    );
    return endpointOf({ annotations }).spec.qosControls;
  },
};

/** Without the sides that say nothing. */
function rulesOf(rules: unknown): unknown {
  if (!Array.isArray(rules)) return rules;
  return rules.map((rule: object) =>
    Object.fromEntries(Object.entries(rule).filter(([, side]) => JSON.stringify(side) !== "{}")),
  );
}

/** A converted policy in the words of the rows. */
function described(resource: Resource | undefined, issues: readonly { readonly severity: string }[]): unknown {
  if (resource === undefined) return undefined;
  const errors = issues.filter(({ severity }) => severity === "error").length;
  const spec = resource.spec as Readonly<Record<string, unknown>>;
  const rules = { ingress: rulesOf(spec["ingress"]), egress: rulesOf(spec["egress"]) };
  return { name: resource.metadata.name, errors, ...spec, ...rules };
}

const KUBERNETES_POLICIES: Readonly<Record<string, Call>> = {
  podSelector: (input: LabelSelector | null) => podSelectorText(input),
  namespaceSelector: (input: LabelSelector | null) => namespaceSelectorText(input),
  mergePorts: (input: readonly KubernetesPort[]) => mergePorts(input),
  policy: (spec: object) => {
    const metadata = { name: "test.policy", namespace: "default" };
    const { resource, issues } = convertKubernetesPolicy({
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata,
      spec,
    });
    return described(resource, issues);
  },
  clusterPolicy: (spec: object) => {
    const { resource, issues } = convertClusterNetworkPolicy({
      apiVersion: "policy.networking.k8s.io/v1alpha2",
      kind: "ClusterNetworkPolicy",
      metadata: { name: "cnp" },
      spec: { tier: "Admin", priority: 10, subject: { namespaces: {} }, ...spec },
    });
    return described(resource, issues);
  },
};

function policyOf(namespace: string, spec: object): Policy {
  const kind = namespace === "" ? "GlobalNetworkPolicy" : "NetworkPolicy";
  const [output] = run(processor(kind), kind, "p", { namespace, spec }).outputs;
  assert.ok(output?.value);
  return output.value as Policy;
}

const SELECTORS: Readonly<Record<string, Call>> = {
  appliesTo: ({ namespace = "", ...spec }: { readonly namespace?: string }) => policyOf(namespace, spec).selector,
  source: ({ namespace = "", source }: { readonly namespace?: string; readonly source: object }) =>
    policyOf(namespace, { ingress: [{ action: "Allow", source }] }).inbound_rules[0]?.src_selector ?? "",
  nets: (nets: readonly string[]) => {
    const [output] = run(processor("GlobalNetworkSet"), "GlobalNetworkSet", "s", { spec: { nets } }).outputs;
    return (output?.value as NetworkSet | undefined)?.nets;
  },
};

const CLUSTER = { clusterGUID: "g", clusterType: "k8s", calicoVersion: "v", variant: "x", datastoreReady: true };
const POOL = { cidr: "10.0.0.0/16", node: "n", interfaceName: "eth0" };

const PROCESSORS: Readonly<Record<string, Call>> = {
  parameter: ([field, value]: readonly [string, unknown]) => {
    const result = run(processor("FelixConfiguration"), "FelixConfiguration", "default", { spec: { [field]: value } });
    return Object.values(kvsOf(result))[0];
  },
  clusterInformation: (name: string) =>
    Object.keys(kvsOf(run(processor("ClusterInformation"), "ClusterInformation", name, { spec: CLUSTER }))).sort(),
  annotations: (steps: readonly Readonly<Record<string, string>>[]) => {
    const on = processor("FelixConfiguration");
    return steps.map((annotations) =>
      kvsOf(run(on, "FelixConfiguration", "default", { metadata: { annotations }, spec: {} })),
    );
  },
  podNetworks: (steps: readonly (readonly string[])[]) => {
    const on = processor("Node", true);
    return steps.map((podCIDRs) => {
      const blocks = run(on, "Node", "n", { spec: {}, status: { podCIDRs } }).outputs.flatMap(({ key, value }) =>
        key.type === "Block" ? [[key.cidr, (value as { affinity: string } | undefined)?.affinity ?? null]] : [],
      );
      return Object.fromEntries(blocks) as unknown;
    });
  },
  deleteAfterResync: (kind: "IPPool" | "HostEndpoint") => {
    const on = processor(kind);
    run(on, kind, "a", { spec: POOL });
    on.onSyncerStarting();
    const { outputs, issues } = run(on, kind, "a", undefined);
    return { sent: outputs.length, errors: issues.filter(({ severity }) => severity === "error").length };
  },
  pools: (steps: readonly string[]) => {
    const on = processor("IPPool");
    return steps.map((step) => {
      const result = run(on, "IPPool", step.slice(1), step.startsWith("+") ? { spec: POOL } : undefined);
      return result.outputs.map(({ origin }) => origin?.name);
    });
  },
  tunnelAddress: (podCIDR: string) => {
    const node: KubernetesNodeResource = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec: { podCIDR } };
    return convertKubernetesNode(node, { usePodCIDR: true }).resource.spec?.bgp?.ipv4IPIPTunnelAddr;
  },
};

const FILES: readonly (readonly [
  file: string,
  section: string,
  rows: number,
  calls: Readonly<Record<string, Call>>,
])[] = [
  ["names.json", "A", 11, NAMES],
  ["pods.json", "B", 15, PODS],
  ["kubernetes-policies.json", "C", 16, KUBERNETES_POLICIES],
  ["selectors.json", "D", 11, SELECTORS],
  ["processors.json", "E", 10, PROCESSORS],
];

/** Of an object the fields that are wanted. */
function only(found: unknown, wanted: unknown): unknown {
  const isPlain = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isPlain(found) || !isPlain(wanted)) return found;
  return Object.fromEntries(Object.keys(wanted).map((name) => [name, found[name]]));
}

for (const [file, section, count, calls] of FILES) {
  const rows = rowsOf(file);
  test(`${file} has the rows ${section}1 to ${section}${count}`, () => {
    const wanted = Array.from({ length: count }, (_, i) => `${section}${i + 1}`);
    assert.deepEqual([...new Set(rows.map(({ row }) => row))], wanted);
  });
  for (const { row, call, input, want, error } of rows) {
    test(`${row}: ${call} of ${JSON.stringify(input).slice(0, 100)}`, () => {
      const evaluate = calls[call];
      assert.ok(evaluate !== undefined, `${call} is no call`);
      if (error !== undefined) {
        assert.throws(
          () => evaluate(input as never),
          (thrown: Error) => thrown.message.includes(error),
        );
        return;
      }
      const found = evaluate(input as never) ?? null;
      assert.deepEqual(only(found, want), want);
    });
  }
}
