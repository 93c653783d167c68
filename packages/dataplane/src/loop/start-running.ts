import { type CancelTimer, messageOf } from "@bulrush/base";
import { overlay } from "../config/overlay.ts";
import { parseDataplaneConfig } from "../config/parse-config.ts";
import type { DriftItem } from "../drift/drift-report.ts";
import { DriftWatch } from "../drift/drift-watch.ts";
import { DataplaneError } from "../errors.ts";
import { FlowLog } from "../flow-log/flow-log.ts";
import { KernelSupport } from "../input/kernel-support.ts";
import { InterfaceMonitor } from "../interface/interface-monitor.ts";
import { LeftoverCleaner } from "../leftover/leftover-cleaner.ts";
import type { Interfaces } from "../manager/interfaces.ts";
import { withSupportedOffload } from "../offload/flow-offload-support.ts";
import { FlowRecheck } from "../recheck/flow-recheck.ts";
import { layered } from "../render/layer.ts";
import { isWorkloadInterface } from "../route/route-ownership.ts";
import { IPIP_DEVICE } from "../tunnel/ipip-device.ts";
import { VXLAN_DEVICE } from "../tunnel/vxlan-device.ts";
import type { DataplaneOptions } from "./dataplane.ts";
import { createHostState } from "./host-state.ts";
import { withSupportedIpv6 } from "./ipv6-support.ts";
import { startRefreshTimer } from "./refresh-timer.ts";
import { RulesetProgrammer } from "./ruleset-programmer.ts";
import type { Running } from "./running.ts";

/** What the parts of a running dataplane ask of its loop. */
export interface LoopHooks {
  readonly options: DataplaneOptions;
  /** Filled by the monitor from before this returns. */
  readonly interfaces: Interfaces;
  /** Aborts when the loop stops. */
  readonly signal: AbortSignal;
  /** There is something to apply, now or in `delayMs` (a later call of the same name takes the place of an earlier). */
  readonly setDirty: () => void;
  readonly wakeIn: (name: string, delayMs: number) => void;
  /** The loop cancels it when it stops. */
  readonly keepTimer: (name: string, cancel: CancelTimer) => void;
  readonly onFatal: (error: Error) => void;
}

/**
 * Makes all that works for a dataplane once its configuration is known, and lists the interfaces.
 *
 *     monitor ── interfaces ──> state (managers, routes, devices, settings of the kernel)
 *     drift <── what others change ──> programmer ── what was missing ──> recheck ── flows to end
 *     flows (log), leftovers (of an earlier Felix), refresh timers ──> whatever they look at anew
 *
 * @throws DataplaneError DATAPLANE_MONITOR when interfaces cannot be listed or followed.
 */
export function startRunning(
  config: ReadonlyMap<string, string>,
  { options, interfaces, signal, setDirty, wakeIn, keepTimer, onFatal }: LoopHooks,
): Running {
  const { clock, events, kernel, random, settings } = options;
  const { config: asked, problems } = parseDataplaneConfig(overlay(settings, config));
  for (const { message, name } of problems) events.onLog?.("warn", message, { setting: name });
  const onWarning = (message: string, fields: Readonly<Record<string, unknown>>): void =>
    events.onLog?.("warn", message, fields);
  const parsed = withSupportedOffload(withSupportedIpv6(asked, kernel, onWarning), kernel, onWarning);
  const state = createHostState(parsed, interfaces, {
    clock,
    onBadMember: (set, member) => events.onLog?.("error", "Leave out what is no member of an IP set", { set, member }),
    wakeIn: (delayMs) => wakeIn("neighbours", delayMs),
  });
  // Where interfaces were only touched, what their routes lack would be taken for what went with them.
  const queueResync = (): void => {
    state.routes.queueResync();
    for (const device of [state.peerAddresses, ...state.devices]) device.queueResync();
  };
  const monitor = new InterfaceMonitor({
    kernel,
    clock,
    interfaces,
    isExcluded: (name) =>
      parsed.interfaceExclude.some((entry) => (typeof entry === "string" ? entry === name : entry.test(name))),
    onTouched: (name) => {
      state.touchInterface(name);
      setDirty();
    },
    onMissed: () => {
      queueResync();
      setDirty();
    },
    onAddressGone: ({ address }) => {
      if (state.routes.noticeAddressGone(address)) setDirty();
    },
    onRoute: (event) => {
      if (state.routes.noticeRoute(event)) setDirty();
    },
    onFatal: (error) => onFatal(monitorError(error)),
  });
  interfaces.onChange.add((name) => {
    state.routes.touchInterface(name);
    setDirty();
  });
  try {
    monitor.start();
  } catch (error) {
    throw monitorError(error);
  }
  const tables = state.ruleset.allTables;
  const drift = new DriftWatch({
    kernel,
    clock,
    tables: new Set(tables.map(({ family, name }) => `${family} ${name}`)),
    onDue: () => {
      programmer.queueRefresh();
      setDirty();
    },
    onWarning,
  });
  // Other hosts' packets come by a tunnel or as they are, whichever way leads back: WireGuard's is in a table of its own.
  const tunnels = new Set<string>([IPIP_DEVICE, VXLAN_DEVICE[4], VXLAN_DEVICE[6]]);
  for (const family of [4, 6] as const) if (parsed.wireguard[family]) tunnels.add(parsed.wireguardDevice[family]);
  const recheck = new FlowRecheck({
    kernel,
    clock,
    interfaces,
    tables: state.ruleset.tables,
    isUplink: (name) => parsed.mtuInterfacePattern.test(name) || tunnels.has(name),
    isWorkload: (name) => isWorkloadInterface(name, parsed.interfacePrefixes),
    generation: () => programmer.counters.transactions,
    onWarning,
    wakeIn: (delayMs) => wakeIn("recheck", delayMs),
  });
  const filtering = new Set<string>([...state.ruleset.tables.values()].map(({ family }) => family));
  // What is unknown to us is led to by nothing, unless a chain of ours was changed too. A chain of nat denies nothing.
  const isHole = ({ name, what }: DriftItem): boolean => {
    const [family = "", object = ""] = name.split(" ");
    return what !== "unknown" && filtering.has(family) && !object.startsWith(layered("nat", ""));
  };
  const programmer = new RulesetProgrammer({
    nft: kernel.nft,
    clock,
    signal,
    tables,
    watch: drift,
    onForeignChange: () => drift.noteForeignChange(""),
    onReadBack: (startMs, endMs) => drift.noteReadBack(startMs, endMs),
    leavesHoles: (items) => items.some(isHole),
    onHoles: () => recheck.note(),
    onDrift: (items) => drift.repaired(items),
    isFilter: ({ family }) => filtering.has(family),
    onWarning,
  });
  drift.start();
  const flows = new FlowLog({
    kernel,
    clock,
    interfaces,
    endpoints: state.endpoints,
    onFlows: (batch) => events.onFlows?.(batch),
    onWarning,
  });
  if (parsed.flowLog) flows.start();
  const leftovers = new LeftoverCleaner({
    nft: kernel.nft,
    clock,
    onInfo: (message, fields) => events.onLog?.("info", message, fields),
    onWarning,
    wakeIn: (delayMs) => wakeIn("leftovers", delayMs),
  });
  const refresh = (name: string, periodMs: number, callback: () => void): void => {
    const cancel = startRefreshTimer(clock, random, periodMs, () => {
      callback();
      setDirty();
    });
    keepTimer(name, cancel);
  };
  // One dump reads chains and sets: the shorter of the two periods serves both.
  const periods = [parsed.nftablesRefreshMs, parsed.ipsetsRefreshMs].filter((periodMs) => periodMs > 0);
  refresh("nft-refresh", periods.length === 0 ? 0 : Math.min(...periods), () => programmer.queueRefresh());
  refresh("route-refresh", parsed.routeRefreshMs, queueResync);
  refresh("interface-refresh", parsed.interfaceRefreshMs, () => {
    for (const part of [state.hostSysctls, state.sysctls]) part.queueResync();
    try {
      monitor.resync();
    } catch (error) {
      onFatal(monitorError(error));
    }
  });
  const support = new KernelSupport(kernel.nft, (message) => onWarning(message, {}));
  return { config: parsed, support, state, programmer, recheck, monitor, drift, flows, leftovers };
}

function monitorError(cause: unknown): DataplaneError {
  const op = "Follow interfaces";
  return new DataplaneError(`${op}: ${messageOf(cause)}`, { code: "DATAPLANE_MONITOR", op, cause });
}
