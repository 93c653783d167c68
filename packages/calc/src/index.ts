export { CALC_ERROR_CODES, CalcError, type CalcErrorCode } from "./errors.ts";
export { explainFlow, type ExplainDetails } from "./explain/explain-flow.ts";
export { type KnownEnds, knownEnds } from "./explain/known-ends.ts";
export { type FlowText, parseFlow } from "./explain/parse-flow.ts";
export { targetsOf } from "./explain/service-backends.ts";
export { Explainer, type ExplainerOptions } from "./explain/explainer.ts";
export type { FailsafePort, FailsafePorts } from "./explain/failsafe.ts";
export type {
  Decision,
  ExplainStep,
  Flow,
  FlowEnd,
  FlowVerdict,
  HostVerdict,
  Outcome,
  SideVerdict,
  StepOutcome,
  UnselectedPolicy,
} from "./explain/flow.ts";
export { CalcGraph, type CalcGraphOptions, type GraphActivity, type IpSetDescription } from "./graph/calc-graph.ts";
export type { CalcMessage } from "./graph/message.ts";
export { type CalcGraphConfig, DEFAULT_CALC_CONFIG } from "./graph/config.ts";
export { probeConfig, type ProbedConfig, type ProbeOptions, withEncapsulation } from "./graph/probe-config.ts";
export type { FoundEndpoint } from "./lookups/endpoint-lookup.ts";
export { LookupCaches, type LookupCounts } from "./lookups/lookup-caches.ts";
export type { FoundNetworkSet } from "./lookups/network-set-lookup.ts";
export { type HitAction, type HitDirection, type RuleHit, rulePrefix } from "./lookups/rule-prefix.ts";
export type { FoundService } from "./lookups/service-lookup.ts";
export type { ParametersOf } from "./passthrough/config-batcher.ts";
export type { GraphStats } from "./passthrough/stats.ts";
export { FlushBucket, MAX_SAVED_FLUSHES, TICK_MS } from "./graph/flush-bucket.ts";
export { compareOrders, compareTiers } from "./policy/tier-lists.ts";
export { DataplaneState, type StatePolicy, type StateWorkload } from "./state/dataplane-state.ts";
export { isStaged, policyIdText, workloadIdText } from "./state/id-text.ts";
export { IpSetMembers } from "./state/ip-set-members.ts";
