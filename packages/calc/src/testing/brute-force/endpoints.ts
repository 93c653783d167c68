import type { HostEndpoint, NodeResource, QoSControls, WorkloadEndpoint, WorkloadEndpointKey } from "@bulrush/model";
import type { DataplaneHostEndpoint, DataplaneWorkloadEndpoint } from "@bulrush/proto";
import { type Contents, resourcesOf, type View } from "./contents.ts";
import { labelsOf } from "./items.ts";
import { expectedMigration } from "./migrations.ts";
import { naiveMatch } from "./naive-selector.ts";
import { policiesFor, tierInfos } from "./policies.ts";
import { AMBIENT_SELECTOR } from "./sets.ts";

export function expectedWorkload(
  view: View,
  key: WorkloadEndpointKey,
  value: WorkloadEndpoint,
): DataplaneWorkloadEndpoint {
  const normal = policiesFor(view, value).filter(({ policy }) => !policy.untracked && !policy.pre_dnat);
  const labels = labelsOf(view.contents, value.labels, value.profile_ids);
  const peer = peerOf(view, labels);
  const qos = value.qosControls;
  const limited = (direction: "ingress" | "egress"): boolean =>
    (qos?.[`${direction}Bandwidth`] ?? 0) > 0 || (qos?.[`${direction}PacketRate`] ?? 0) > 0;
  const isVirtualMachine = value.labels.get("kubevirt.io") === "virt-launcher";
  const skip = { egress: limited("egress"), ingress: isVirtualMachine || limited("ingress") };
  return {
    state: value.state,
    name: value.name,
    mac: value.mac ?? "",
    profile_ids: value.profile_ids,
    ipv4_nets: value.ipv4_nets,
    ipv6_nets: value.ipv6_nets,
    tiers: tierInfos(view, normal),
    ipv4_nat: value.ipv4_nat ?? [],
    ipv6_nat: value.ipv6_nat ?? [],
    allow_spoofed_source_prefixes: value.allow_spoofed_source_ips ?? [],
    annotations: value.annotations ?? new Map(),
    ...controlsOf(qos),
    ...(peer !== undefined && { local_bgp_peer: { bgp_peer_name: peer } }),
    ...((skip.egress || skip.ingress) && { skip_redir: skip }),
    qos_policies: qosPolicies(qos),
    ...(view.config.istioAmbient && naiveMatch(AMBIENT_SELECTOR, labels) && { is_istio_ambient: true }),
    ...expectedMigration(view, key, value, labels),
  };
}

export function expectedHost(view: View, value: HostEndpoint): DataplaneHostEndpoint {
  const policies = policiesFor(view, value);
  const untracked = policies.filter(({ policy }) => policy.untracked);
  const preDnat = policies.filter(({ policy }) => policy.pre_dnat);
  const normal = policies.filter(({ policy }) => !policy.untracked && !policy.pre_dnat);
  return {
    name: value.name,
    profile_ids: value.profile_ids,
    tiers: tierInfos(view, normal),
    untracked_tiers: tierInfos(view, untracked, "Pass"),
    pre_dnat_tiers: tierInfos(view, preDnat, "Pass", ["ingress"]),
    forward_tiers: tierInfos(
      view,
      normal.filter(({ policy }) => policy.apply_on_forward),
    ),
    expected_ipv4_addrs: value.expected_ipv4_addrs,
    expected_ipv6_addrs: value.expected_ipv6_addrs,
    qos_policies: qosPolicies(value.qosControls),
  };
}

/** The controls but for the DSCP, which goes another way. */
function controlsOf(qos: QoSControls | undefined): { qos_controls?: Record<string, number | undefined> } {
  const { dscp: _, ...controls } = qos ?? {};
  return Object.values(controls).some((value) => value !== undefined) ? { qos_controls: controls } : {};
}

/** A DSCP counts for traffic to everywhere. */
function qosPolicies(qos: QoSControls | undefined): { destination: string; dscp: number }[] {
  const dscp = qos?.["dscp"];
  return dscp === undefined ? [] : [{ destination: "", dscp }];
}

/** The first peer by name that selects this node and the workload. */
function peerOf(view: View, labels: ReadonlyMap<string, string>): string | undefined {
  return resourcesOf(view.contents, "BGPPeer")
    .filter(([, { spec }]) => {
      const { localWorkloadSelector = "", ...rest } = (spec ?? {}) as PeerSpec;
      return selectsNode(view, rest) && localWorkloadSelector !== "" && naiveMatch(localWorkloadSelector, labels);
    })
    .map(([key]) => key.name)
    .sort()[0];
}

interface PeerSpec {
  readonly node?: string;
  readonly nodeSelector?: string;
  readonly localWorkloadSelector?: string;
}

/** A peer that names no node and selects none is for all of them. */
function selectsNode(view: View, { node = "", nodeSelector = "" }: PeerSpec): boolean {
  if (node !== "") return node === view.hostname;
  if (nodeSelector === "") return true;
  const own = nodeOf(view.contents, view.hostname);
  return own !== undefined && naiveMatch(nodeSelector, new Map(Object.entries(own.metadata.labels ?? {})));
}

function nodeOf(contents: Contents, name: string): NodeResource | undefined {
  return resourcesOf(contents, "Node").find(([key]) => key.name === name)?.[1] as NodeResource | undefined;
}
