import type { StringMap } from "./object.ts";

/** `80`, `"8000:8999"`, or the name of a port. */
export type PortSpec = number | string;

export interface ServiceMatch {
  readonly name?: string;
  readonly namespace?: string;
}

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
  readonly namespaceSelector?: string;
  readonly services?: ServiceMatch;
  readonly ports?: readonly PortSpec[];
  readonly notPorts?: readonly PortSpec[];
  readonly serviceAccounts?: ServiceAccountMatch;
}

export interface IcmpFields {
  readonly type?: number;
  readonly code?: number;
}

export interface HttpPathMatch {
  readonly exact?: string;
  readonly prefix?: string;
}

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
