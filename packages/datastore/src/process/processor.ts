import { AssertionError, messageOf } from "@bulrush/base";
import { type Key, type Resource, validateV1, type Value } from "@bulrush/model";
import type { ItemKey } from "../driver/driver.ts";
import type { ItemIssue } from "../driver/item-issue.ts";

/** What happened to one stored thing. `value` undefined: it is gone, or (with `issues`) cannot be converted. */
export interface ProcessorInput {
  readonly item: ItemKey;
  readonly value: Resource | undefined;
  readonly revision: string;
  readonly issues?: readonly ItemIssue[];
}

/** The new state of one v1 key. */
export interface ProcessedKV {
  readonly key: Key;
  readonly value: Value | undefined;
  /** Where it is not of the item that was processed: of which item, and its revision. */
  readonly origin?: { readonly name: string; readonly revision: string };
  /** What stands there cannot be read: whoever has sent a value keeps to it. `value` is undefined. */
  readonly isUnreadable?: boolean;
}

export interface Processed {
  /** In the order to send. A key of which nothing is known and whose value is undefined may be among them. */
  readonly outputs: readonly ProcessedKV[];
  readonly issues: readonly ItemIssue[];
  /**
   * The outputs stand in for what could not be read in full: closed forms of a policy or tier, a network set of the nets
   * that are readable. Whoever has sent a well-read value keeps to that one.
   */
  readonly isClosedForm: boolean;
  /** What was done about it where there is no well-read value, in words. Default "closed". */
  readonly effect?: string;
}

/**
 * Turns stored things of one kind into v1 KVs. Belongs to one watcher cache. Never throws on data: what it cannot read
 * it names in `issues`.
 */
export interface UpdateProcessor {
  process(input: ProcessorInput): Processed;
  /** A full list begins: forget everything remembered of earlier items. */
  onSyncerStarting(): void;
}

/** A processor without memory. */
export function simpleProcessor(process: (input: ProcessorInput) => Processed): UpdateProcessor {
  return { process, onSyncerStarting: () => undefined };
}

/** Outputs and nothing to complain about. */
export function processed(outputs: readonly ProcessedKV[], issues: readonly ItemIssue[] = []): Processed {
  return { outputs, issues, isClosedForm: false };
}

/** Their absence could open something or end an agent: what is invalid leaves the last good value in force. */
const KEPT: ReadonlySet<string> = new Set([
  "NetworkSet",
  "ProfileRules",
  "ProfileLabels",
  "IPPool",
  "HostEndpoint",
  "GlobalConfig",
  "HostConfig",
  "ReadyFlag",
]);

function isKept(key: Key): boolean {
  if (key.type === "Resource") return key.kind === "Profile" || key.kind === "FelixConfiguration";
  return KEPT.has(key.type);
}

/** True for issues that say that the item is there and cannot be read; without them it is gone. */
export function isUnreadable(issues: readonly ItemIssue[]): boolean {
  return issues.some(({ severity }) => severity === "error");
}

/**
 * Runs a processor on data of any shape. Where it trips over something that no check foresaw, the item counts as one
 * that cannot be converted. What goes out is valid: another value is undefined (of what must not vanish, the last good
 * one stays), and its faults are named.
 */
export function processSafely(processor: UpdateProcessor, input: ProcessorInput): Processed {
  let result: Processed;
  try {
    result = processor.process(input);
  } catch (error) {
    if (error instanceof AssertionError) throw error;
    const issue: ItemIssue = { severity: "error", field: "", message: `Cannot be converted: ${messageOf(error)}` };
    result = processor.process({ ...input, value: undefined, issues: [...(input.issues ?? []), issue] });
  }
  return withoutInvalid(result);
}

function withoutInvalid(result: Processed): Processed {
  const issues: ItemIssue[] = [];
  const outputs = result.outputs.map((output) => {
    const { key, value } = output;
    // The policy processor has asked itself.
    if (value === undefined || key.type === "Policy") return output;
    const found = validateV1(key, value);
    if (found.length === 0) return output;
    for (const { path, message } of found)
      issues.push({ severity: "error", field: "", message: `${key.type}${path === "" ? "" : ` ${path}`}: ${message}` });
    return { ...output, value: undefined, ...(isKept(key) && { isUnreadable: true }) };
  });
  return issues.length === 0 ? result : { ...result, outputs, issues: [...result.issues, ...issues] };
}
