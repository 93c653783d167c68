export { explainFlow, type ExplainDetails } from "./explain/explain-flow.ts";
export type { ExplainStep, Flow, FlowEnd, FlowVerdict, SideVerdict, StepOutcome } from "./explain/flow.ts";
export { CalcGraph, type CalcGraphOptions, type CalcMessage, type IpSetDescription } from "./graph/calc-graph.ts";
export { type CalcGraphConfig, DEFAULT_CALC_CONFIG } from "./graph/config.ts";
export { FlushBucket, MAX_SAVED_FLUSHES, TICK_MS } from "./graph/flush-bucket.ts";
export { DataplaneState, type StatePolicy, type StateWorkload } from "./state/dataplane-state.ts";
export { isStaged, policyIdText, workloadIdText } from "./state/id-text.ts";
export { IpSetMembers } from "./state/ip-set-members.ts";
