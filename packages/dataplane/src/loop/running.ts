import type { ToDataplane } from "@bulrush/proto";
import type { DataplaneConfig } from "../config/dataplane-config.ts";
import type { DriftReport } from "../drift/drift-report.ts";
import type { DriftWatch } from "../drift/drift-watch.ts";
import type { FlowLog } from "../flow-log/flow-log.ts";
import type { KernelSupport } from "../input/kernel-support.ts";
import type { InterfaceMonitor } from "../interface/interface-monitor.ts";
import type { LeftoverCleaner } from "../leftover/leftover-cleaner.ts";
import type { FlowRecheck } from "../recheck/flow-recheck.ts";
import type { HostState } from "./host-state.ts";
import type { RulesetProgrammer } from "./ruleset-programmer.ts";

/** What waits in the loop's queue. */
export type Item =
  | { readonly kind: "messages"; readonly messages: readonly ToDataplane[]; readonly taken: () => void }
  | { readonly kind: "mark"; readonly sequence: number }
  | { readonly kind: "inspect"; readonly report: (report: DriftReport) => void };

/** What exists once the configuration is known: with the first message. */
export interface Running {
  readonly config: DataplaneConfig;
  /** Asked of each message before {@link state} gets it. */
  readonly support: KernelSupport;
  readonly state: HostState;
  readonly programmer: RulesetProgrammer;
  readonly recheck: FlowRecheck;
  readonly monitor: InterfaceMonitor;
  readonly drift: DriftWatch;
  readonly flows: FlowLog;
  readonly leftovers: LeftoverCleaner;
}
