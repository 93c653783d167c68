import { compareStrings } from "@bulrush/base";
import { formatKey, type Key, type Value } from "@bulrush/model";
import type { ItemIssue } from "../driver/item-issue.ts";
import { errorAt, warningAt } from "./issue.ts";
import {
  isUnreadable,
  type Processed,
  type ProcessedKV,
  type ProcessorInput,
  processed,
  type UpdateProcessor,
} from "./processor.ts";
import { Remembered } from "./remembered.ts";

/** What one item becomes. */
export interface Mapped {
  readonly key: Key;
  readonly value: Value;
  readonly issues?: readonly ItemIssue[];
  /** See Processed. Only for a kind of which no two items have one key. Default: false. */
  readonly isClosedForm?: boolean;
}

interface Claim {
  readonly name: string;
  readonly revision: string;
  readonly path: string;
  readonly key: Key;
  readonly value: Value;
}

/**
 * For kinds where several items may map to one v1 key: the item with the lowest name has it, the next takes over when
 * that one goes. `map` returns the issues when an item cannot be converted; it then gives its key to the next, and where
 * there is none, keeps what it had: a pool or a host endpoint less may open what it closed.
 */
export function conflictCache(map: (input: ProcessorInput) => Mapped | readonly ItemIssue[]): UpdateProcessor {
  return new ConflictCache(map);
}

/** Of how many items the last key is remembered. */
const MAX_REMEMBERED = 50_000;

/** Invariant: each claim of `#byName` is in the list of its path in `#byPath`, which is sorted by name and not empty. */
class ConflictCache implements UpdateProcessor {
  readonly #map: (input: ProcessorInput) => Mapped | readonly ItemIssue[];
  readonly #byName = new Map<string, Claim>();
  readonly #byPath = new Map<string, Claim[]>();
  /** Outlasts a resync: of what cannot be read then, nothing else says which key it had. */
  readonly #lastKeys = new Remembered<Key>(MAX_REMEMBERED);

  constructor(map: (input: ProcessorInput) => Mapped | readonly ItemIssue[]) {
    this.#map = map;
  }

  onSyncerStarting(): void {
    this.#byName.clear();
    this.#byPath.clear();
  }

  process(input: ProcessorInput): Processed {
    const { name } = input.item;
    const known = this.#byName.get(name);
    if (input.value === undefined) {
      const issues = input.issues ?? [];
      if (isUnreadable(issues)) return processed(this.#handOver(name, known), issues);
      this.#lastKeys.delete(name);
      if (known !== undefined) return processed(this.#release(known), issues);
      return processed([], issues.length > 0 ? issues : [errorAt("", "Deleted, but nothing of this name was known")]);
    }
    const mapped = this.#map(input);
    if (!("key" in mapped)) return processed(this.#handOver(name, known), mapped);
    const path = formatKey(mapped.key);
    const outputs: ProcessedKV[] = [];
    if (known !== undefined && known.path !== path) outputs.push(...this.#release(known));
    const claim: Claim = { name, revision: input.revision, path, key: mapped.key, value: mapped.value };
    const issues = mapped.issues ?? [];
    const winner = this.#claim(claim);
    if (winner === claim) {
      const { isClosedForm = false } = mapped;
      return {
        ...processed([...outputs, outputOf(claim)], issues),
        isClosedForm,
        ...(isClosedForm && { effect: "left out" }),
      };
    }
    const lost = warningAt("", `Not in use: "${winner.name}" has the same ${claim.key.type} key`);
    return processed(outputs, [...issues, lost]);
  }

  /** Enters a claim and returns the one that has the key. */
  #claim(claim: Claim): Claim {
    this.#byName.set(claim.name, claim);
    this.#lastKeys.set(claim.name, claim.key);
    const others = (this.#byPath.get(claim.path) ?? []).filter((other) => other.name !== claim.name);
    const all = [...others, claim].sort((a, b) => compareStrings(a.name, b.name));
    this.#byPath.set(claim.path, all);
    return all[0] ?? claim;
  }

  /** The item of this name, and of this claim if it has one, cannot be read any more. */
  #handOver(name: string, claim: Claim | undefined): ProcessedKV[] {
    if (claim === undefined) {
      const last = this.#lastKeys.get(name);
      return last === undefined ? [] : [{ key: last, value: undefined, isUnreadable: true }];
    }
    if ((this.#byPath.get(claim.path) ?? []).length > 1) return this.#release(claim);
    return [{ key: claim.key, value: undefined, isUnreadable: true }];
  }

  #release(claim: Claim): ProcessedKV[] {
    this.#byName.delete(claim.name);
    const all = this.#byPath.get(claim.path) ?? [];
    const rest = all.filter((other) => other.name !== claim.name);
    if (rest.length > 0) this.#byPath.set(claim.path, rest);
    else this.#byPath.delete(claim.path);
    if (all[0]?.name !== claim.name) return [];
    const [next] = rest;
    return [next === undefined ? { key: claim.key, value: undefined } : outputOf(next)];
  }
}

function outputOf({ key, value, name, revision }: Claim): ProcessedKV {
  return { key, value, origin: { name, revision } };
}
