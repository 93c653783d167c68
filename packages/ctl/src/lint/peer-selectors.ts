import { convertResources } from "@bulrush/datastore";
import { isObject, type JsonObject, type Policy, type Resource } from "@bulrush/model";
import { ruleProbe } from "../input/rule-probe.ts";
import type { Direction, PolicyView } from "./policy-view.ts";

/** A selector of a rule's far or near side, and where it was written. */
export interface PeerSelector {
  readonly policy: PolicyView;
  readonly direction: Direction;
  /** `spec.ingress[0].source.selector`, `spec.ingress[0].from[1]`. */
  readonly field: string;
  /** As the graph has it. */
  readonly selector: string;
}

/** Every positive selector of the rules of all policies. */
export function peerSelectors(policies: readonly PolicyView[]): readonly PeerSelector[] {
  const calico = policies.filter(({ isCalico }) => isCalico).flatMap(calicoSelectors);
  return [...calico, ...kubernetesSelectors(policies.filter(({ isCalico }) => !isCalico))];
}

const SELECTING_FIELDS = ["selector", "namespaceSelector", "serviceAccounts"] as const;

function calicoSelectors(policy: PolicyView): readonly PeerSelector[] {
  const found: PeerSelector[] = [];
  for (const { direction, rules } of policy.directions) {
    for (const { field, written, v1 } of rules) {
      const [rule] = v1;
      if (rule === undefined) continue;
      for (const [side, selector] of [
        ["source", rule.src_selector],
        ["destination", rule.dst_selector],
      ] as const) {
        const entity = written[side];
        if (selector === undefined || selector === "" || !isObject(entity)) continue;
        const name = SELECTING_FIELDS.find((one) => entity[one] !== undefined && entity[one] !== "");
        if (name !== undefined) found.push({ policy, direction, field: `${field}.${side}.${name}`, selector });
      }
    }
  }
  return found;
}

/**
 * One rule of Kubernetes becomes many, so each peer is converted by itself: in a policy of its own with one rule and one
 * peer, all of them in one go.
 */
function kubernetesSelectors(policies: readonly PolicyView[]): readonly PeerSelector[] {
  const places = new Map<string, Omit<PeerSelector, "selector">>();
  const probes: Resource[] = [];
  for (const policy of policies) {
    for (const { direction, rules } of policy.directions) {
      const peersField = direction === "ingress" ? "from" : "to";
      for (const { field, written } of rules) {
        const peers = Array.isArray(written[peersField]) ? (written[peersField] as unknown[]) : [];
        for (const [i, peer] of peers.entries()) {
          if (!isObject(peer) || !selects(peer)) continue;
          const name = `probe-${probes.length}`;
          places.set(name, { policy, direction, field: `${field}.${peersField}[${i}]` });
          probes.push(ruleProbe(policy.entry.resource, name, direction, { ...written, [peersField]: [peer] }));
        }
      }
    }
  }
  const found: PeerSelector[] = [];
  for (const { key, value } of convertResources(probes).updates) {
    const place = key.type === "Policy" ? places.get(key.name) : undefined;
    if (place === undefined) continue;
    const { inbound_rules, outbound_rules } = value as Policy;
    const [rule] = place.direction === "ingress" ? inbound_rules : outbound_rules;
    const selector = place.direction === "ingress" ? rule?.src_selector : rule?.dst_selector;
    if (selector !== undefined && selector !== "") found.push({ ...place, selector });
  }
  return found;
}

function selects(peer: JsonObject): boolean {
  return ["podSelector", "namespaceSelector", "namespaces", "pods"].some((name) => peer[name] !== undefined);
}
