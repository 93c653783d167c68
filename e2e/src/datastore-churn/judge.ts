import type { SyncStatus, UpdateType } from "@bulrush/model";

/** What a syncer told of a key, as it reaches the judge. */
export interface ToldUpdate {
  readonly path: string;
  readonly type: UpdateType;
  /** Of the contents; undefined for a delete. */
  readonly hash: string | undefined;
  /** The mark in the contents, which says which write they are of. Undefined where the value has no place for one. */
  readonly mark: number | undefined;
}

/** One state that a key was brought into, or was about to be: the mark of the write, or that it went. */
type Step = number | "gone";

interface Known {
  readonly hash: string;
}

/** One syncer as the judge sees it. */
interface Syncer {
  readonly name: string;
  readonly known: Map<string, Known>;
  /** For each key with a history, the step that was told last at the earliest; -1 before the first. */
  readonly places: Map<string, number>;
  status: SyncStatus | undefined;
  told: number;
}

const MAX_FAULTS = 50;

/**
 * Knows what was done to a store, in order, and judges what syncers tell of it.
 *
 *     writes of a key:   7      9      gone    12     gone
 *     told:              new 7         deleted new 12          deleted        well: steps may be left out
 *     told:              new 7  updated 9   new 12 ...                        well
 *     told:              new 7  deleted ("gone" is yet to be begun)           a spurious delete
 *     told:              new 9  updated 7                                     back in time
 *
 * A step counts from the moment at which its write is begun: its answer may come after the syncer has told it, or never.
 * That the last step was told at all is for {@link Judge.differences}, once everything has come to rest.
 *
 * Invariant: a syncer's place in the history of a key never goes back.
 */
export class Judge {
  /** What was wrong, in words; the first 50. */
  readonly faults: string[] = [];
  readonly #steps = new Map<string, Step[]>();
  readonly #syncers: readonly Syncer[];

  constructor(names: readonly string[]) {
    this.#syncers = names.map((name) => ({
      name,
      known: new Map(),
      places: new Map(),
      status: undefined,
      told: 0,
    }));
  }

  /** The write with this mark is about to begin: these keys may be told with it from now on. */
  willBe(paths: readonly string[], mark: number): void {
    for (const path of paths) this.#stepsOf(path).push(mark);
  }

  /** They are about to be deleted. */
  willGo(paths: readonly string[]): void {
    for (const path of paths) this.#stepsOf(path).push("gone");
  }

  /** Updates that a syncer told, deletes included. */
  told(syncer: number): number {
    return this.#syncers[syncer]?.told ?? 0;
  }

  statusOf(syncer: number): SyncStatus | undefined {
    return this.#syncers[syncer]?.status;
  }

  takeStatus(index: number, status: SyncStatus): void {
    const syncer = this.#syncer(index);
    if (syncer.status === undefined && status !== "wait-for-ready") this.#fault(syncer, `began with ${status}`);
    if (syncer.status === status) this.#fault(syncer, `told the status ${status} twice`);
    syncer.status = status;
  }

  takeUpdate(index: number, update: ToldUpdate): void {
    const syncer = this.#syncer(index);
    const { path, type, hash } = update;
    syncer.told++;
    if (syncer.status === undefined || syncer.status === "wait-for-ready")
      this.#fault(syncer, `told ${path} while its status was ${syncer.status ?? "none"}`);
    const expected = hash === undefined ? "deleted" : syncer.known.has(path) ? "updated" : "new";
    if (type !== expected) this.#fault(syncer, `told ${path} as ${type}, which is ${expected}`);
    if (hash === undefined) {
      if (!syncer.known.delete(path)) this.#fault(syncer, `deleted ${path}, of which it had told nothing`);
      this.#takeDelete(syncer, path);
    } else {
      syncer.known.set(path, { hash });
      this.#takeValue(syncer, update);
    }
  }

  /** What a syncer has told and what it should have: keys to hashes. At most ten lines. */
  differences(index: number, wanted: ReadonlyMap<string, string>): string[] {
    const { known } = this.#syncer(index);
    const out: string[] = [];
    for (const [path, hash] of wanted) {
      const told = known.get(path);
      if (told === undefined) out.push(`missing: ${path}`);
      else if (told.hash !== hash) out.push(`not the newest: ${path}`);
    }
    for (const path of known.keys()) if (!wanted.has(path)) out.push(`left over: ${path}`);
    return out.slice(0, 10);
  }

  #takeValue(syncer: Syncer, { path, mark }: ToldUpdate): void {
    const steps = this.#steps.get(path);
    if (steps === undefined) return; // of the server's own
    const place = syncer.places.get(path) ?? -1;
    // Without a mark it may be any state from there on: the earliest leaves the most room.
    const isIt = (step: Step): boolean => (mark === undefined ? step !== "gone" : step === mark);
    const next = steps.findIndex((step, i) => i >= place && isIt(step));
    if (next >= 0) {
      syncer.places.set(path, next);
      return;
    }
    const isOld = steps.some(isIt);
    this.#fault(syncer, isOld ? `went back in time: ${path} ${mark}` : `told what nobody wrote: ${path} ${mark}`);
  }

  #takeDelete(syncer: Syncer, path: string): void {
    const place = syncer.places.get(path) ?? -1;
    const next = (this.#steps.get(path) ?? []).findIndex((step, i) => i > place && step === "gone");
    if (next < 0) this.#fault(syncer, `deleted ${path}, which was there`);
    else syncer.places.set(path, next);
  }

  #syncer(index: number): Syncer {
    const syncer = this.#syncers[index];
    if (syncer === undefined) throw new Error(`There is no syncer ${index}`);
    return syncer;
  }

  #stepsOf(path: string): Step[] {
    let steps = this.#steps.get(path);
    if (steps === undefined) this.#steps.set(path, (steps = []));
    return steps;
  }

  #fault({ name }: Syncer, text: string): void {
    if (this.faults.length < MAX_FAULTS) this.faults.push(`${name} ${text}`);
  }
}
