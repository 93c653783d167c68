import type { ManifestResource } from "@bulrush/datastore";

/** Every warning about what is legal and surely not meant. A code keeps its meaning; the README has the same list. */
export const WARNING_CODES = [
  /** All rules of a direction only log. */
  "only-log-rules",
  /** Rules deny something, none allows or passes: the end of the tier denies the rest too. */
  "tier-end-denies-rest",
  /** A selector picks nothing that is there. */
  "selector-matches-nothing",
  /** A selector picks pods on the host's network only, which policy does not see. */
  "selector-matches-host-network-only",
  /** A network with host bits. */
  "unmasked-network",
  /** 0.0.0.0 with a prefix length that makes it next to nothing. */
  "zero-address-network",
  /** What is excepted is not in what it is excepted from. */
  "except-outside",
  /** A rule asks for something of the policy's own side, as if it were the other one. */
  "selector-on-own-side",
  /** A policy before it decides everything. */
  "shadowed-policy",
  /** A rule before it, in the same policy, decides everything. */
  "unreachable-rule",
  /** A port name that no pod has. */
  "unknown-port-name",
  /** A direction without rules beside one with rules: it is denied altogether. */
  "type-without-rules",
  /** Rules of a direction that is not among the types: they do nothing. */
  "rules-without-type",
  /** A tier that is not there: the policy does nothing. */
  "missing-tier",
  /** Two pools share addresses. */
  "overlapping-pools",
  /** An action or a type in another case than Calico's API has it. */
  "word-in-other-case",
  /** A policy in a namespace that is not there. */
  "missing-namespace",
  /** A rule has the port of a Service whose pods listen on another one. */
  "service-port",
  /** A host endpoint of which nothing is open but the failsafe ports. */
  "closed-host-endpoint",
  /** The failsafe ports leave out what is needed to mend a policy. */
  "failsafe-port-missing",
  /** A field of FelixConfiguration that nobody knows. */
  "unknown-setting",
  /** A setting that asks for what is not there. */
  "setting-without-effect",
] as const;

export type WarningCode = (typeof WARNING_CODES)[number];

/** One thing that is surely not meant. */
export interface Warning {
  readonly code: WarningCode;
  readonly entry: ManifestResource;
  /** Dotted path with indexes. */
  readonly field: string;
  readonly message: string;
}
