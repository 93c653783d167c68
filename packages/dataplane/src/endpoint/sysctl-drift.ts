import type { DriftItem } from "../drift/drift-report.ts";
import type { Sysctls } from "../kernel/kernel.ts";

/** What one round of settings did. */
export interface SysctlsResult {
  /** In words. What they are about is tried again at the next call. */
  readonly failures: readonly string[];
  /** What somebody had changed since. */
  readonly drift: readonly DriftItem[];
}

/** Settings that have another value than meant. One that does not exist is none: its interface or family is not there. */
export function sysctlDrift(
  sysctls: Sysctls,
  settings: readonly { readonly path: string; readonly value: string }[],
): DriftItem[] {
  return settings.flatMap(({ path, value }): DriftItem[] => {
    const current = sysctls.read(path);
    if (current === undefined || current === value) return [];
    return [{ kind: "sysctl", name: path, what: "changed", detail: `${current} in place of ${value}` }];
  });
}
