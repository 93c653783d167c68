import type { StringMap } from "./object.ts";

/** `80`, `"8000:8999"`, or the name of a port. */
export type PortSpec = number | string;

/** A Service of Kubernetes; its endpoints count, not its cluster address. `namespace` defaults to the policy's. */
export interface ServiceMatch {
  readonly name?: string;
  readonly namespace?: string;
}

/** Where both are set, both must hold. */
export interface ServiceAccountMatch {
  readonly names?: readonly string[];
  readonly selector?: string;
}

/** One side of a rule. All fields must hold. */
export interface EntityRule {
  readonly nets?: readonly string[];
  readonly notNets?: readonly string[];
  readonly selector?: string;
  readonly notSelector?: string;
  /**
   * "global()" alone: what has no namespace. Default for a selector: the policy's own namespace, or all of them for a
   * global policy.
   */
  readonly namespaceSelector?: string;
  readonly services?: ServiceMatch;
  readonly ports?: readonly PortSpec[];
  readonly notPorts?: readonly PortSpec[];
  readonly serviceAccounts?: ServiceAccountMatch;
}

/** Type 0 to 254, code 0 to 255; a code needs a type. */
export interface IcmpFields {
  readonly type?: number;
  readonly code?: number;
}

/** Exactly one field is set. */
export interface HttpPathMatch {
  readonly exact?: string;
  readonly prefix?: string;
}

/** Handed on to those that see HTTP. No methods or no paths: all of them. */
export interface HttpRuleMatch {
  readonly methods?: readonly string[];
  readonly paths?: readonly HttpPathMatch[];
}

/** A rule of a Calico policy or profile. */
export interface RuleSpec {
  readonly action?: "Allow" | "Deny" | "Log" | "Pass";
  readonly ipVersion?: 4 | 6;
  readonly protocol?: string | number;
  readonly notProtocol?: string | number;
  readonly icmp?: IcmpFields;
  readonly notICMP?: IcmpFields;
  readonly source?: EntityRule;
  readonly destination?: EntityRule;
  readonly http?: HttpRuleMatch;
  readonly metadata?: { readonly annotations?: StringMap };
}
