import type { SyncerCallbacks, SyncStatus, Update } from "../v1/update.ts";
import type { Value, WorkloadEndpoint } from "../v1/value.ts";
import { closedPolicyForm, closedTierForm } from "./closed-form.ts";
import type { Issue } from "./issue.ts";
import { validateV1 } from "./validate-v1.ts";

/** What the filter did with an update that it could not accept. */
export type FilterOutcome =
  /** The last good value stays: nothing was forwarded. */
  | "kept-last-good"
  /** The closed form was forwarded in its place. */
  | "closed"
  /** The key was forwarded as not existing. */
  | "removed";

/** Called once for each invalid update, before anything of its batch is forwarded. */
export type ReportInvalid = (update: Update, issues: readonly Issue[], outcome: FilterOutcome) => void;

/** What of a host's settings the filter goes by. */
export interface ValidationFilterOptions {
  /**
   * "Disabled": a workload endpoint that asks for spoofed source addresses is invalid. Default: not looked at, as a
   * server does, since the setting is each host's own.
   */
  readonly workloadSourceSpoofing?: "Disabled" | "Any";
}

/**
 * Lets only valid values through.
 *
 * What is unreadable closes, never opens. Of a policy or tier that was forwarded in good form before, an invalid
 * update is held back, so that the last good value stays. A policy or tier never read well is forwarded in its closed
 * form. Any other invalid value becomes undefined; key, revision, type, order and count stay.
 *
 * Invariant: `goodPaths` holds the paths of the policies and tiers whose last forwarded value is good. It is bounded
 * by the number of policies and tiers of the source.
 *
 * Batches without an invalid value are passed on as they are, without a copy; a batch of which nothing is left is not
 * passed on. Back-pressure is that of `next`.
 */
export function createValidationFilter(
  next: SyncerCallbacks,
  report: ReportInvalid,
  options: ValidationFilterOptions = {},
): SyncerCallbacks {
  const goodPaths = new Set<string>();
  const refuseSpoofing = options.workloadSourceSpoofing === "Disabled";

  const filter = (update: Update): Update | undefined => {
    const { key, path, value } = update;
    const closable = key.type === "Policy" || key.type === "Tier";
    if (value === undefined) {
      if (closable) goodPaths.delete(path);
      return update;
    }
    let issues = validateV1(key, value);
    if (refuseSpoofing && issues.length === 0 && key.type === "WorkloadEndpoint") issues = spoofingIssues(value);
    if (issues.length === 0) {
      if (closable) goodPaths.add(path);
      return update;
    }
    if (!closable) {
      report(update, issues, "removed");
      return { ...update, value: undefined };
    }
    if (goodPaths.has(path)) {
      report(update, issues, "kept-last-good");
      return undefined;
    }
    report(update, issues, "closed");
    const closed: Value = key.type === "Policy" ? closedPolicyForm(key, value) : closedTierForm(value);
    return { ...update, value: closed };
  };

  return {
    onStatusUpdated(status: SyncStatus): void | Promise<void> {
      return next.onStatusUpdated(status);
    },
    onUpdates(updates: readonly Update[]): void | Promise<void> {
      let out: Update[] | undefined;
      for (const [i, update] of updates.entries()) {
        const filtered = filter(update);
        if (filtered !== update) out ??= updates.slice(0, i);
        if (out !== undefined && filtered !== undefined) out.push(filtered);
      }
      if (out?.length === 0) return undefined;
      return next.onUpdates(out ?? updates);
    },
  };
}

function spoofingIssues(value: Value): readonly Issue[] {
  const prefixes = (value as WorkloadEndpoint).allow_spoofed_source_ips ?? [];
  if (prefixes.length === 0) return [];
  return [{ path: "allow_spoofed_source_ips", message: "Expected none while WorkloadSourceSpoofing is not Any" }];
}
