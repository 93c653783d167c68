import type { DriftReport } from "../drift/drift-report.ts";
import { inspectKernel } from "../drift/inspect-kernel.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Running } from "./running.ts";

/** How the kernel stands against what a running dataplane means. Writes nothing. `isDirty`: changes are on their way. */
export function inspectRunning(
  { drift, programmer, recheck, state }: Running,
  kernel: Kernel,
  nowMs: number,
  isDirty: boolean,
): DriftReport {
  return inspectKernel({
    pending: isDirty || recheck.isDue,
    repairs: drift.repairs(),
    parts: {
      nf_tables: () => programmer.inspect(),
      routes: () => state.routes.inspect(kernel.routes, nowMs),
      addresses: () => state.peerAddresses.inspect(kernel.routes),
      devices: () => state.devices.flatMap((device) => device.inspect?.(kernel.routes, kernel) ?? []),
      settings: () => [state.hostSysctls, state.sysctls].flatMap((part) => part.inspect(kernel.sysctls)),
    },
  });
}
