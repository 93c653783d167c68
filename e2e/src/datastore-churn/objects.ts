import { CALICO_V3 } from "@bulrush/model";
import type { KubeObject } from "../kube/kube-admin.ts";
import type { Choices } from "../random/choices.ts";

/** Kinds that are churned, by a name of their own: two are called NetworkPolicy. */
export type ChurnKind = keyof Counts;

/** How many objects of each kind there may be. */
export interface Counts {
  readonly Namespace: number;
  readonly ServiceAccount: number;
  readonly Pod: number;
  readonly KubernetesNetworkPolicy: number;
  readonly NetworkPolicy: number;
  readonly GlobalNetworkPolicy: number;
  readonly StagedNetworkPolicy: number;
  readonly NetworkSet: number;
  readonly GlobalNetworkSet: number;
  readonly HostEndpoint: number;
  readonly Node: number;
  readonly Service: number;
  readonly EndpointSlice: number;
  readonly IPPool: number;
  readonly BGPPeer: number;
  readonly BGPFilter: number;
  readonly BlockAffinity: number;
  readonly IPAMBlock: number;
  readonly CalicoNodeStatus: number;
}

/** The kinds whose objects live in namespaces: they go with them. */
const NAMESPACED: ReadonlySet<ChurnKind> = new Set([
  "ServiceAccount",
  "Pod",
  "KubernetesNetworkPolicy",
  "NetworkPolicy",
  "StagedNetworkPolicy",
  "NetworkSet",
  "Service",
  "EndpointSlice",
]);

const NODES = 7;

export function isNamespaced(kind: ChurnKind): boolean {
  return NAMESPACED.has(kind);
}

/** The namespace with this number. */
export function namespaceName(number: number): string {
  return `namespace-${number}`;
}

/** How a write is to be found again in what a syncer tells of it. */
function markText(mark: number): string {
  return `mark-${mark}-`;
}

/** The mark in what a syncer told, if there is one. */
export function markIn(text: string): number | undefined {
  const found = /mark-(\d+)-/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

/**
 * The object of a kind with this number. Name, namespace, address and node follow from the number; the rest, which may
 * change while it lives, from the choices, and from the mark wherever the v1 value has a place for one.
 */
export function makeObject(
  kind: ChurnKind,
  number: number,
  { mark, namespaces, choices }: { readonly mark: number; readonly namespaces: number; readonly choices: Choices },
): KubeObject {
  const label = `${markText(mark)}x`;
  const labels = { app: `a${choices.below(5)}`, mark: label };
  const metadata = {
    name: kind === "Namespace" ? namespaceName(number) : `${kind.toLowerCase()}-${number}`,
    ...(isNamespaced(kind) && { namespace: namespaceName(number % namespaces) }),
    labels,
  };
  const node = `node-${number % NODES}`;
  const bytes = `${number >> 8}.${number & 255}`;
  const calico = (spec: object): KubeObject => ({ apiVersion: CALICO_V3, kind, metadata, spec });
  const policy = { selector: `mark != '${label}'`, types: ["Ingress", "Egress"] };
  const rules = Array.from({ length: choices.below(4) }, () => ({
    action: choices.pick(["Allow", "Deny"]),
    source: { selector: `app == 'a${choices.below(5)}'` },
  }));
  switch (kind) {
    case "Namespace":
      // What the server would add.
      return { apiVersion: "v1", kind, metadata: { ...metadata, labels: { ...labels, [NAME_LABEL]: metadata.name } } };
    case "ServiceAccount":
      return { apiVersion: "v1", kind, metadata };
    case "Pod": {
      const ip = `10.65.${bytes}`;
      return {
        apiVersion: "v1",
        kind,
        metadata,
        spec: { nodeName: node, containers: [{ name: "c", image: "registry.invalid/none" }] },
        status: { podIP: ip, podIPs: [{ ip }] },
      };
    }
    case "KubernetesNetworkPolicy": {
      const spec = { podSelector: { matchLabels: { app: labels.app, mark: label } }, policyTypes: ["Ingress"] };
      return { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata, spec };
    }
    case "NetworkPolicy":
    case "StagedNetworkPolicy":
    case "GlobalNetworkPolicy":
      return calico({ ...policy, order: choices.below(1000), ingress: rules });
    case "NetworkSet":
    case "GlobalNetworkSet":
      return calico({ nets: [`10.66.${bytes}/32`, `10.67.${choices.below(255)}.0/24`] });
    case "HostEndpoint":
      return calico({ node, interfaceName: `eth${number}`, expectedIPs: [`10.68.${bytes}`] });
    case "Node":
      return { apiVersion: "v1", kind, metadata };
    case "Service":
      return { apiVersion: "v1", kind, metadata, spec: { clusterIP: "None", ports: [{ name: "p", port: 80 }] } };
    case "EndpointSlice": {
      const endpoints = [{ addresses: [`10.69.${bytes}`] }];
      const ports = [{ name: "p", port: 1 + choices.below(60_000), protocol: "TCP" }];
      return { apiVersion: "discovery.k8s.io/v1", kind, metadata, addressType: "IPv4", endpoints, ports };
    }
    case "IPPool":
      return calico({ cidr: `10.${100 + number}.0.0/16`, natOutgoing: choices.chance(0.5), ipipMode: "Never" });
    case "BGPPeer":
      return calico({ peerIP: `10.70.${bytes}`, asNumber: 64_512 + choices.below(500) });
    case "BGPFilter":
      return calico({
        exportV4: [{ action: "Accept", matchOperator: "In", cidr: `10.71.${choices.below(255)}.0/24` }],
      });
    case "BlockAffinity":
      return calico({
        node,
        cidr: `10.72.${number}.0/26`,
        state: choices.pick(["pending", "confirmed"]),
        deleted: false,
      });
    case "IPAMBlock":
      return calico({
        cidr: `10.73.${number}.0/30`,
        affinity: `host:${node}`,
        allocations: [0, null, null, null],
        unallocated: [1, 2, 3],
        attributes: [{ handle_id: label }],
      });
    case "CalicoNodeStatus":
      return calico({ node, classes: ["Agent"], updatePeriodSeconds: choices.below(100) });
  }
}

const NAME_LABEL = "kubernetes.io/metadata.name";
