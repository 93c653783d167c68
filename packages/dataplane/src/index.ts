export type { DataplaneConfig, FailsafePort, LogRateLimit, MarkBits } from "./config/dataplane-config.ts";
export { type ParsedConfig, parseDataplaneConfig, type SettingProblem } from "./config/parse-config.ts";
export { busiest, readRuleCounters, type RuleCounter } from "./counters/rule-counters.ts";
export type { DriftItem, DriftRepair, DriftReport } from "./drift/drift-report.ts";
export { DATAPLANE_ERROR_CODES, DataplaneError, type DataplaneErrorCode } from "./errors.ts";
export type { FlowBatch, FlowRecord } from "./flow-log/flow-record.ts";
export type { EndpointReport, HostReport, StagedChange, StagedConnections, TierReport } from "./host-report.ts";
export type { DataplaneEvents, DataplaneHandle, DataplaneWorkerOptions, InspectableDataplane } from "./handle.ts";
export type { Kernel, RouteAccess, Sysctls } from "./kernel/kernel.ts";
export { createDataplane, type DataplaneOptions } from "./loop/dataplane.ts";
export { PacketJudge } from "./recheck/judge-packet.ts";
export type { JudgedPacket } from "./recheck/judged-packet.ts";
export { renderRuleset } from "./render/render-ruleset.ts";
export type {
  DataplaneCounters,
  DataplaneStatus,
  DriftKind,
  EndpointStatus,
  FromDataplane,
} from "./status.ts";
export { readWireguardDevices } from "./wireguard/read-wireguard.ts";
export { startDataplaneWorker } from "./worker/start-worker.ts";
export { readTrackedFlows, type TrackedFlow } from "./recheck/tracked-flows.ts";
