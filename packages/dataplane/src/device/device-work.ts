import type { Transaction } from "@bulrush/nftables";
import type { DriftItem } from "../drift/drift-report.ts";
import type { Kernel, RouteAccess } from "../kernel/kernel.ts";

/** What one round of work on devices did. */
export interface DeviceResult {
  readonly writes: number;
  /** Differences found by a look that nothing had asked for. */
  readonly drift: number;
  /** What those were, for people. */
  readonly repaired?: readonly DriftItem[];
  /** In words, for the log. Empty: all is well. */
  readonly failures: readonly string[];
  /** What the operator should hear of once, though nothing can be done about it here. */
  readonly warnings?: readonly string[];
  /** When to call again although nothing changed. */
  readonly againAtMs?: number | undefined;
}

/** Writes to tables of ours, beside their contents. Throws an NftError. */
export type NftWriter = (transaction: Transaction) => void;

export const NO_DEVICE_WORK: DeviceResult = { writes: 0, drift: 0, failures: [] };

/**
 * Devices, queues and the like that are brought into the kernel by themselves, once rules and routes are there. `apply`
 * never throws: what fails is told, and tried again with the next call.
 */
export interface DeviceWork {
  apply(access: RouteAccess, nowMs: number, kernel: Kernel, write: NftWriter): DeviceResult;
  /** What is other than meant at the moment. Writes nothing; throws when a listing fails. */
  inspect?(access: RouteAccess, kernel: Kernel): readonly DriftItem[];
  /** The end: closes what it has open. What is in the kernel stays. */
  stop?(): void;
  /** Read everything back at the next call. */
  queueResync(): void;
}
