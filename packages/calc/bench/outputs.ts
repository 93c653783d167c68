import type { CalcMessage } from "../src/graph/message.ts";

/** What came out, counted from the messages: to be compared with the reference before a time is believed. */
export interface Outputs {
  ipSets: number;
  members: number;
  policies: number;
  rules: number;
  endpoints: number;
  ingressEntries: number;
  egressEntries: number;
  profiles: number;
  namespaces: number;
  deltas: number;
  /** Members added or removed by deltas. */
  deltaMembers: number;
  ipSetRemoves: number;
  policyRemoves: number;
  profileRemoves: number;
  endpointRemoves: number;
}

export function noOutputs(): Outputs {
  return {
    ipSets: 0,
    members: 0,
    policies: 0,
    rules: 0,
    endpoints: 0,
    ingressEntries: 0,
    egressEntries: 0,
    profiles: 0,
    namespaces: 0,
    deltas: 0,
    deltaMembers: 0,
    ipSetRemoves: 0,
    policyRemoves: 0,
    profileRemoves: 0,
    endpointRemoves: 0,
  };
}

export function countMessage(outputs: Outputs, message: CalcMessage): void {
  switch (message.msg) {
    case "IPSetUpdate":
      outputs.ipSets++;
      outputs.members += message.members.length;
      return;
    case "IPSetDeltaUpdate":
      outputs.deltas++;
      outputs.deltaMembers += message.added_members.length + message.removed_members.length;
      return;
    case "IPSetRemove":
      outputs.ipSetRemoves++;
      return;
    case "ActivePolicyUpdate":
      outputs.policies++;
      outputs.rules += message.policy.inbound_rules.length + message.policy.outbound_rules.length;
      return;
    case "ActivePolicyRemove":
      outputs.policyRemoves++;
      return;
    case "ActiveProfileUpdate":
      outputs.profiles++;
      return;
    case "ActiveProfileRemove":
      outputs.profileRemoves++;
      return;
    case "NamespaceUpdate":
      outputs.namespaces++;
      return;
    case "WorkloadEndpointUpdate":
      outputs.endpoints++;
      for (const tier of message.endpoint.tiers) {
        outputs.ingressEntries += tier.ingress_policies.length;
        outputs.egressEntries += tier.egress_policies.length;
      }
      return;
    case "WorkloadEndpointRemove":
      outputs.endpointRemoves++;
      return;
    default:
  }
}

/** Throws when an output that is expected is not what came out; what is not named is not looked at. */
export function checkOutputs(what: string, outputs: Outputs, expected: Partial<Outputs>): void {
  for (const [field, value] of Object.entries(expected)) {
    const actual = outputs[field as keyof Outputs];
    if (actual !== value) throw new Error(`${what}: ${field} is ${actual}, the reference gives ${value}`);
  }
}
